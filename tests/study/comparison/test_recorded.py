"""Recorded answers are compared without a question; the study's recorded sweep is reproduced figure by figure."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from calipers.errors import InputError
from calipers.study.comparison.figures import ComparisonFigures, figures_of
from calipers.study.comparison.graded import as_grading
from calipers.study.comparison.recorded import read_evidence

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("CALIPERS_DATA") or ROOT.parent / "shared" / "data")
SWEEP = DATA / "ruscarl" / "judge_sweep.jsonl"
with_sweep = pytest.mark.skipif(not SWEEP.is_file(), reason=f"no recorded sweep at {SWEEP} (set CALIPERS_DATA)")

QUESTION = (
    "<Prompt>\nuser: How?\n</Prompt>\n\n<Response>\n<think>hm</think>So.\n</Response>\n\n<Rubrics>\n"
    "1. (points: 8) Says how.\n2. (points: -4) Is rude.\n3. (points: 2) Is short.\n</Rubrics>"
)


def grading(judge: str, name: str, score: float, **verdicts: str) -> dict[str, object]:
    reply = json.dumps({key.removeprefix("c"): word for key, word in verdicts.items()})
    return {
        "judge": judge,
        "id": name,
        "score": score,
        "judge_debug": {"prompt_text": QUESTION, "response_text": reply},
    }


def compared(path: Path, *rows: object) -> ComparisonFigures:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return figures_of(read_evidence([path]))


def test_a_recorded_grading_is_graded_anew_from_its_reply() -> None:
    found = as_grading(grading("j_t0.7", "x", 0.4, c1="PRESENT", c2="PRESENT", c3="NOT_PRESENT"))
    assert (found.judge, found.temperature, found.score) == ("j", 0.7, 0.4)
    assert found.verdicts == {"1": 1.0, "2": 1.0, "3": 0.0}
    assert (found.prompt, found.response) == ("user: How?", "So.")


def test_a_score_that_does_not_follow_from_its_reply_is_named(tmp_path: Path) -> None:
    found = compared(
        tmp_path / "s.jsonl",
        grading("j_t0", "x", 1.0, c1="PRESENT", c2="NOT_PRESENT", c3="PRESENT"),
        grading("j_t1", "x", 1.0, c1="NOT_PRESENT", c2="NOT_PRESENT", c3="PRESENT"),
    )
    assert found.reproduced == (1, 2)
    assert found.differing == ("j, T=1: x: recorded 1.0, computed 0.2",)
    assert (found.criteria[0].criterion, found.criteria[0].disagreement) == ("x: 1", 1.0)


def test_a_reply_without_all_verdicts_is_no_score(tmp_path: Path) -> None:
    found = compared(tmp_path / "s.jsonl", grading("j_t0", "x", 0.0, c1="PRESENT"))
    assert found.reproduced == (0, 1)
    assert found.cells[0].distribution.scores == 0
    assert found.cells[0].failed == "nothing was answered"


@with_sweep
@pytest.mark.data
def test_the_recorded_sweep_is_reproduced_exactly() -> None:
    found = figures_of(read_evidence([SWEEP]))
    rows = [json.loads(line) for line in SWEEP.read_text(encoding="utf-8").splitlines()]
    assert found.reproduced == (len(rows), len(rows)) == (17, 17)
    assert found.differing == ()
    assert [one.name for one in found.cells] == [f"qwen-flash, T={at}" for at in ("0", "0.7", "1")]
    for one in found.cells:
        recorded = [row["score"] for row in rows if row["judge"] == f"qwen-flash_t{one.key.temperature:.1f}"]
        assert one.distribution.scores == len(recorded)
        assert one.distribution.mean == pytest.approx(sum(recorded) / len(recorded), abs=1e-15)
    moved = {one.id: one.scores for one in found.moved}
    assert moved.keys() == {"healthbench:val:272", "healthbench:val:0"}
    assert list(moved["healthbench:val:272"].values()) == [14 / 19, 4 / 19, 14 / 19]
    assert [one.criterion for one in found.criteria if one.disagreement] == [
        "healthbench:val:0: 6",
        "healthbench:val:272: 7",
        "healthbench:val:272: 8",
    ]


GROUP = {
    "group_id": "g",
    "trajectories": [
        {"id": name, "messages": [{"role": "assistant", "content": f"It is {name}."}], "gold": gold}
        for name, gold in (("a", 1), ("b", 0))
    ],
}


def line(judge: str, **more: object) -> dict[str, object]:
    return {"group_id": "g", "judge": judge, "mode": "pointwise", "order": ["a", "b"], "scale": [1, 5], **more}


def read(tmp_path: Path, *lines: object) -> ComparisonFigures:
    (tmp_path / "g.jsonl").write_text(json.dumps(GROUP), encoding="utf-8")
    (tmp_path / "j.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return figures_of(read_evidence([tmp_path / "g.jsonl", tmp_path / "j.jsonl"]))


def test_criteria_without_a_score_of_the_whole_are_averaged(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        line("j", criterion="x", parsed={"scores": {"a": 5, "b": 1}}),
        line("j", criterion="y", parsed={"scores": {"a": 3, "b": 1}}),
        line("k", criterion="x", parsed={"scores": {"a": 1, "b": 1}}),
    )
    first, second = found.cells
    assert first.distribution.quantiles == (0.0, 0.1875, 0.375, 0.5625, 0.75)
    assert second.distribution.mean == 0
    (only,) = found.criteria
    assert (only.criterion, only.answers, only.disagreement) == ("x", 2, 0.5)


def test_a_judge_that_only_failed_is_reported_and_the_other_is_not_lost(tmp_path: Path) -> None:
    found = read(tmp_path, line("j", parsed=None), line("k", parsed={"scores": {"a": 5, "b": 1}}))
    failed, well = found.cells
    assert (failed.failed, failed.distribution.mean) == ("nothing was answered", None)
    assert well.distribution.mean == 0.5


def test_scores_without_a_scale_have_no_figures_and_it_is_said(tmp_path: Path) -> None:
    bare = {key: value for key, value in line("j", parsed={"scores": {"a": 5, "b": 1}}).items() if key != "scale"}
    (found,) = read(tmp_path, bare).cells
    assert (found.failed or "").startswith("1 answer of 'j' has scores and no scale; add 'scale'")
    assert found.distribution.mean is None


def test_recorded_answers_about_rewrites_are_used_where_the_ids_are_named(tmp_path: Path) -> None:
    rewritten = {"rewrite": "terse", "rewritten": ["a", "b"], "parsed": {"scores": {"a": 3, "b": 1}}}
    found = read(tmp_path, line("j", parsed={"scores": {"a": 5, "b": 1}}), line("j", **rewritten))
    adds = found.cells[0].preferences.rewrites["terse"]
    assert adds.value == pytest.approx(-0.25)
    assert found.cells[0].preferences.per_unit["length"].value is None


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"g.jsonl": GROUP}, "no answers were named"),
        ({"j.jsonl": line("j", parsed=None)}, "no groups were named"),
        ({"j.jsonl": line("j", rewrite="x", rewritten="a", parsed=None)}, "'rewrite' must be a name"),
        ({"x.jsonl": {"what": 1}}, "is neither a groups file"),
        ({"s.jsonl": {"judge": "j", "id": "x", "judge_debug": {}}}, "'judge_debug' needs prompt_text"),
        ({"s.jsonl": {"judge": "j", "id": 3, "judge_debug": {}}}, "'judge' and 'id' must be texts"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path: Path, files: dict[str, object], problem: str) -> None:
    for name, row in files.items():
        (tmp_path / name).write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(InputError) as found:
        read_evidence([tmp_path / name for name in files])
    assert problem in str(found.value)


def test_an_answer_that_is_recorded_twice_is_no_repeat(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"j\.jsonl:2: answers the question of line 1 again"):
        read(tmp_path, line("j"), line("j"))
