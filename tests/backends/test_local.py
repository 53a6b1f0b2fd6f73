"""``local:DIR`` is a judge like any other: it keeps the failure contract, abstains elsewhere, and refuses damage."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.backends.connect import find_backend
from calipers.backends.embedded import levels
from calipers.backends.local.features import FEATURES, measure_group
from calipers.backends.local.judge import Local
from calipers.distilling import Distilled
from calipers.errors import ConfigError
from calipers.types import Message
from distilled import group_of, made, rewards_of
from embedded_cases import groups, members, view


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Distilled:
    return made(tmp_path_factory.mktemp("local"))


def test_a_group_is_scored_with_errors_explanations_and_a_warning(judge: Distilled) -> None:
    result = rewards_of(judge.judge, group_of(7))
    assert result.status == "scored"
    assert all(one.score and 0 < one.score < 1 and one.stderr and one.explanation for one in result.trajectories)
    assert any("trained to agree with SimulatedJudge" in one for one in result.warnings)
    assert (result.judge_calls, result.usage.cost_usd) == (1, 0.0)


def test_a_panel_with_another_judge_and_a_replay_work(judge: Distilled, tmp_path: Path) -> None:
    panel = calipers.Judge([judge.judge, "embedded"], ledger=str(tmp_path / "run.db"))
    first = asyncio.run(panel.score_group(group_of(7)))
    assert first.status == "scored"
    panel.close()
    again = calipers.Judge([judge.judge, "embedded"], ledger=str(tmp_path / "run.db"))
    assert asyncio.run(again.score_group(group_of(7))).rewards == first.rewards
    again.close()


def test_outside_what_it_learned_it_abstains(judge: Distilled) -> None:
    known = "Explain harvest orchard pressing cider barrels autumn."
    for task, answer, why in (
        ("请解释收获和苹果酒。", "苹果在秋天收获, 然后压榨。", "words"),
        (known, "word " * 3000, "much longer"),
        ("Quantum chromodynamics lagrangian renormalisation?", "Well, and so it goes with many matters here.", "words"),
    ):
        start = {"role": "user", "content": task}
        group = [[start, {"role": "assistant", "content": f"{answer} {end}"}] for end in ("one", "two", "three")]
        result = rewards_of(judge.judge, group)
        assert (result.status, result.rewards) == ("abstained", [None, None, None])
        assert all(why in (one.reason or "") for one in result.trajectories)
        assert (result.unusable, result.usage.cost_usd) == (0, 0.0), "an abstention costs nothing"
        assert not any("billed" in warning for warning in result.warnings)


def test_criteria_are_refused_before_they_become_numbers(judge: Distilled) -> None:
    rubric = [{"id": "a", "criterion": "It is good.", "points": 1}]
    result = rewards_of(calipers.Judge(judge.judge, rubric=rubric, protocol="checklist"), group_of(7))
    assert result.rewards == [None] * 4
    assert "cannot check criteria" in (result.trajectories[0].reason or "")


def test_its_name_in_a_ledger_changes_with_its_files(judge: Distilled, tmp_path: Path) -> None:
    folder = tmp_path / "judge"
    shutil.copytree(judge.folder, folder)
    assert Local(folder).model == Local(judge.folder).model
    stored = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(stored | {"slope": stored["slope"] * 2}))
    assert Local(folder).model != Local(judge.folder).model


@given(st.floats(0.02, 0.98), st.floats(0.06, 0.6))
def test_the_probabilities_have_the_mean_and_the_error_that_they_are_made_of(score: float, stderr: float) -> None:
    shares = levels(score, stderr)
    mean = sum(place / 10 * share for place, share in enumerate(shares))
    spread = sum((place / 10 - mean) ** 2 * share for place, share in enumerate(shares)) ** 0.5
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(1, abs=1e-5)
    assert mean == pytest.approx(score, abs=1e-5)
    assert spread == pytest.approx(min(stderr, (score * (1 - score)) ** 0.5), abs=1e-4)


NO_DOMAIN = {"tools": [], "shortest": 0, "longest": 1, "terms": [-1], "familiar": 0}
DAMAGE: dict[str, tuple[Any, str]] = {
    "no file": (None, "cannot be read"),
    "not JSON": ("format = 'toml'", "is not the model of a local judge"),
    "not an object": ("[1]", "is not the model of a local judge"),
    "no format": ('{"model": "m"}', "is not the model of a local judge"),
    "another format": ({"format": "calipers-local-judge/2"}, "another version"),
    "too few weights": ({"weights": [1.0]}, "damaged"),
    "a weight that is no number": ({"weights": ["1"] * (2 * len(FEATURES))}, "damaged"),
    "a weight that is infinite": ({"weights": [float("inf")] * (2 * len(FEATURES))}, "damaged"),
    "no domain": ({"domain": {}}, "is missing"),
    "a term out of range": ({"domain": NO_DOMAIN}, "out of range"),
}


def test_a_damaged_folder_is_one_sentence_with_the_file_and_the_remedy(judge: Distilled, tmp_path: Path) -> None:
    for damage, (change, why) in DAMAGE.items():
        if change is not None:
            stored = json.loads((judge.folder / "model.json").read_text())
            text = change if isinstance(change, str) else json.dumps(stored | change)
            (tmp_path / "model.json").write_text(text)
        with pytest.raises(ConfigError, match=why) as caught:
            find_backend(f"local:{tmp_path}")
        assert str(caught.value).startswith(f"local:{tmp_path}: model.json"), damage
        assert "calipers distill" in str(caught.value), damage
    with pytest.raises(ConfigError, match="is a file: name the folder"):
        find_backend(f"local:{tmp_path / 'model.json'}")


@given(groups, st.randoms(use_true_random=False))
def test_positions_never_move_a_feature(own: list[list[Message]], random: Any) -> None:
    order = list(range(len(own)))
    random.shuffle(order)
    straight, shuffled = (measure_group(view(each)).relative for each in (own, [own[place] for place in order]))
    assert abs(straight[order] - shuffled).max(initial=0.0) < 1e-9


@given(members, members, st.integers(1, 4))
def test_a_merged_candidate_counts_as_often_as_it_has_members(
    one: list[Message], other: list[Message], copies: int
) -> None:
    merged = measure_group(view([one, other], copies=[copies, 1])).relative
    apart = measure_group(view([one] * copies + [other])).relative
    assert abs(merged[0] - apart[0]).max() < 1e-9
    assert abs(merged[1] - apart[-1]).max() < 1e-9
