"""A comparison of judges from question to result file: known vices are found, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.study.comparison import RESULTS, compare_study
from calipers.study.comparison.figures import CellFigures, ComparisonFigures, figures_of
from calipers.study.comparison.recorded import read_evidence
from calipers.study.comparison.results import result_object
from calipers.study.comparison.study_file import read_study
from calipers.testing import SimulatedJudge
from compared_groups import comparison_folder

VICES = """
groups = "groups.jsonl"
rewrites = ["verbose", "sycophantic", "confident", "confident_wrong", "formatted"]

[judges.honest]

[judges.wordy]
vices = [{ kind = "LengthBias", per_doubling = 0.05 }]

[judges.vain]
vices = [{ kind = "Sycophancy", bonus = 0.05 }]

[judges.sure]
vices = [{ kind = "Preference", feature = "confidence", per_unit = 0.04 }]

[judges.marked]
vices = [{ kind = "Preference", feature = "markdown", per_unit = -0.04 }]

[judges.noisy]
vices = [{ kind = "Noise", sd = 0.08 }, { kind = "PositionBias", strength = 0.2 }]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="module")
def found(folder: Path) -> ComparisonFigures:
    return compare_study(read_study(comparison_folder(folder, VICES)), folder / "out")


def cell(found: ComparisonFigures, name: str) -> CellFigures:
    return next(one for one in found.cells if one.name == name)


def test_a_faultless_judge_shows_no_vice(found: ComparisonFigures) -> None:
    honest = cell(found, "honest")
    assert all(one.value == pytest.approx(0, abs=1e-9) for one in honest.preferences.rewrites.values())
    assert all(one.value == pytest.approx(0, abs=1e-9) for one in honest.preferences.per_unit.values())
    assert honest.profile is not None
    assert honest.profile.repeatability.noise.value == 0
    assert honest.profile.agreement.pearson.value == pytest.approx(1)
    assert honest.distribution.quantiles == (0.25, 0.25, 0.5, 0.75, 0.75)
    assert honest.drift is not None
    for name in ("length", "format", "flattery", "confidence"):
        drift = honest.drift.by_feature[name]
        assert drift.covers(0, slack=0.005)


@pytest.mark.parametrize(
    ("judge", "feature", "size", "rewrite", "drift"),
    [
        ("wordy", "length", 0.05, "verbose", "length"),
        ("vain", "flattery", 0.05, "sycophantic", "flattery"),
        ("sure", "confidence", 0.04, "confident", "confidence"),
        ("sure", "confidence", 0.04, "confident_wrong", "confidence"),
        ("marked", "markdown", -0.04, "formatted", "format"),
    ],
)
def test_a_vice_is_found_with_its_sign_and_its_size(
    found: ComparisonFigures, judge: str, feature: str, size: float, rewrite: str, drift: str
) -> None:
    one = cell(found, judge)
    for name, figure in one.preferences.per_unit.items():
        # Scores are whole hundredths.
        assert figure.value == pytest.approx(size if name == feature else 0, abs=0.004), name
    adds, change = one.preferences.rewrites[rewrite], one.preferences.changes[rewrite]
    assert adds.value == pytest.approx(size * change, abs=0.01)
    assert adds.low is not None
    assert adds.high is not None
    assert adds.low * size > 0
    assert adds.high * size > 0
    assert one.drift is not None
    predicted = one.drift.by_feature[drift]
    assert predicted.low is not None
    assert predicted.high is not None
    assert predicted.low * size > 0
    assert predicted.high * size > 0


def test_noise_and_position_bias_are_measured_and_make_no_vice(found: ComparisonFigures) -> None:
    noisy = cell(found, "noisy")
    assert noisy.profile is not None
    assert noisy.profile.repeatability.noise.covers(0.08, slack=0.005)
    assert noisy.profile.position.slope.covers(-0.2, slack=0.02)
    assert noisy.preferences.rewrites["verbose"].covers(0, slack=0.01)


def test_judges_agree_as_far_as_their_vices_allow(found: ComparisonFigures) -> None:
    pairs = {(one.first, one.second): one for one in found.pairs}
    assert len(pairs) == 15
    assert pairs["honest", "vain"].equal == 1
    assert pairs["honest", "vain"].tau_b.value == 1
    assert (pairs["honest", "noisy"].tau_b.value or 1) < 1
    assert found.alpha is not None
    assert 0.5 < found.alpha < 1


def test_the_cost_is_that_of_all_answers(found: ComparisonFigures) -> None:
    honest = cell(found, "honest")
    assert honest.cost.calls == 12 * 2 * 2
    assert honest.rewritten_cost.calls == 12 * 2 * 5 * 2
    assert honest.cost.input_tokens
    assert honest.rewritten_cost.input_tokens
    assert honest.cost.cost_usd is None


def test_the_result_file_holds_all_of_it(found: ComparisonFigures, folder: Path) -> None:
    written = json.loads((folder / "out" / RESULTS).read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(result_object(found), allow_nan=False))
    assert written["format"] == "calipers-comparison/1"
    wordy = next(one for one in written["cells"] if one["name"] == "wordy")
    assert wordy["rewrites"]["verbose"]["low"] > 0
    assert wordy["drift"]["judge"]["length"] == pytest.approx(0.05, abs=0.004)


def test_what_was_recorded_gives_the_same_figures_without_a_question(found: ComparisonFigures, folder: Path) -> None:
    out = folder / "out"
    again = figures_of(read_evidence([folder / "groups.jsonl", out / "judgments.jsonl", out / "rewritten.jsonl"]))
    for one, other in zip(found.cells, again.cells, strict=True):
        assert one.name == other.name
        assert one.distribution == other.distribution
        assert one.preferences == other.preferences
        assert one.cost == other.cost
    assert again.pairs == found.pairs


def test_a_comparison_goes_on_and_asks_nothing_twice(
    found: ComparisonFigures, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: SimulatedJudge, request: object) -> Any:
        raise AssertionError("asked a question that was answered")

    monkeypatch.setattr(SimulatedJudge, "complete", refuse)
    again = compare_study(read_study(folder / "compare.toml"), folder / "out")
    assert result_object(again) == result_object(found)


def test_an_interrupted_comparison_loses_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = comparison_folder(tmp_path, 'groups = "groups.jsonl"\nrewrites = ["verbose"]\nsamples = 1\n[judges.a]')
    answer, asked = SimulatedJudge.complete, [0]

    async def interrupted(self: SimulatedJudge, request: Any) -> Any:
        asked[0] += 1
        if asked[0] == 40:
            raise KeyboardInterrupt
        return await answer(self, request)

    monkeypatch.setattr(SimulatedJudge, "complete", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare_study(read_study(config), tmp_path / "out")
    before = asked[0]
    found = compare_study(read_study(config), tmp_path / "out")
    assert found.cells[0].failed is None
    assert found.cells[0].cost.calls + found.cells[0].rewritten_cost.calls == 72
    assert asked[0] - before <= 72 - 24


def test_a_cell_that_fails_leaves_the_others(tmp_path: Path) -> None:
    config = comparison_folder(
        tmp_path,
        'groups = "groups.jsonl"\nrewrites = ["verbose"]\nsamples = 1\n[judges.gone]\n'
        'vices = [{ kind = "Unread", rate = 1.0 }]\n[judges.refused]\nmodel = "openai/x@http://127.0.0.1:9/v1"\n'
        "options = { attempts = 1, timeout = 2 }\n[judges.well]\n",
    )
    told: list[str] = []
    found = compare_study(read_study(config), tmp_path / "out", tell=told.append)
    gone, refused, well = found.cells
    assert well.failed is None
    assert well.distribution.scores
    assert (gone.failed or "").startswith("nothing was answered: ")
    assert gone.distribution.mean is None
    assert gone.preferences.rewrites["verbose"].value is None
    assert gone.drift is None
    assert refused.failed
    assert any(one.startswith("refused: failed: ") for one in told)
    assert found.pairs == ()


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    config = comparison_folder(tmp_path, 'groups = "groups.jsonl"\n[judges.a]')
    with pytest.raises(ConfigError, match="is a folder with other files in it"):
        compare_study(read_study(config), tmp_path)
    with pytest.raises(ConfigError, match="is a file"):
        compare_study(read_study(config), config)


@pytest.mark.parametrize("protocol", ["pointwise", "pairwise"])
def test_other_protocols_find_the_vice_too(tmp_path: Path, protocol: str) -> None:
    config = comparison_folder(
        tmp_path,
        f'groups = "groups.jsonl"\nprotocol = "{protocol}"\nrewrites = ["sycophantic"]\nsamples = 1\n'
        f"orders = {2 if protocol == 'pairwise' else 1}\n"
        '[judges.vain]\nvices = [{ kind = "Sycophancy", bonus = 0.05 }]\n[judges.honest]',
    )
    found = compare_study(read_study(config), tmp_path / "out")
    vain, honest = (one.preferences.rewrites["sycophantic"] for one in found.cells)
    assert (vain.low or 0) > 0
    assert honest.covers(0, slack=0.02)
    assert vain.value == pytest.approx(0.15, abs=0.01)  # of pairs, margins


def test_criteria_are_compared_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "rubric.toml").write_text(
        '[[criteria]]\nid = "right"\ntext = "The result is right."\npoints = 1\n'
        '[[criteria]]\nid = "short"\ntext = "It is short."\npoints = 1\n',
        encoding="utf-8",
    )
    config = comparison_folder(
        tmp_path,
        'groups = "groups.jsonl"\nprotocol = "checklist"\nrewrites = []\nsamples = 1\norders = 1\n'
        '[wordings.rubric]\nrubric_file = "rubric.toml"\n'
        '[judges.honest]\n[judges.noisy]\nvices = [{ kind = "Noise", sd = 0.4 }]',
    )
    found = compare_study(read_study(config), tmp_path / "out")
    assert {one.criterion for one in found.criteria} == {"right", "short"}
    assert all(0 < one.disagreement < 1 and one.answers == 48 for one in found.criteria)
    assert found.cells[0].distribution.scores == 48
