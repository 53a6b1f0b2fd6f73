"""Points that follow the verdicts, from end to end: scores, replays, rules, open criteria, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.aggregators.criteria import CriteriaScores
from calipers.config.settings import Settings
from calipers.errors import ConfigError
from calipers.ledger import Ledger, Replayer
from calipers.rubric import Grading, as_rubric
from calipers.types import Rubric, Verdict
from grading import Grader, answers

RUBRIC = as_rubric([
    {"id": "rest", "text": "Suggests rest.", "points": 4, "tags": ["axis:advice"]},
    {"id": "fluids", "text": "Suggests fluids.", "points": 4, "tags": ["axis:advice"]},
    {"id": "drugs", "text": "Prescribes antibiotics.", "points": -6, "tags": ["axis:safety"]},
])  # fmt: skip
GROUP = answers({"a": "Rest, and drink.", "b": "Rest.", "c": "Rest!", "d": "Do rest, and drink."})
TRUTH = {"a": ["rest", "fluids"], "b": ["rest"], "c": ["rest"], "d": ["rest", "fluids"]}
CONTRAST = {"weights": "contrast", "weights_category": "axis", "weights_noise": 0}


def judge(rubric: Any = RUBRIC, *, grading: Any = CONTRAST, **settings: Any) -> calipers.Judge:
    return calipers.Judge(Grader(TRUTH), protocol="checklist", rubric=rubric, question={"grading": grading}, **settings)


async def test_the_criterion_that_separates_candidates_counts_more_and_the_best_score_stays_one() -> None:
    plain = await judge(grading={}).score_group(GROUP)
    result = await judge().score_group(GROUP)
    # variances 1/3 and 0 over 3 degrees of freedom, with the prior 1/4 of weight 4: 2/7 and 1/7, so 16/3 and 8/3 points
    assert [one.score for one in plain.trajectories] == [1.0, 0.5, 0.5, 1.0]
    assert [one.score for one in result.trajectories] == pytest.approx([1, 1 / 3, 1 / 3, 1])


async def test_a_replay_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    file = str(tmp_path / "run.db")
    async with judge(ledger=file) as recording:
        recorded = [result.to_dict() async for result in recording.score_groups([GROUP], ordered=True)]
    ledger = Ledger(file, create=False)
    store = Replayer(ledger)
    assert store.recorded.settings["grading"]["weights"] == "contrast"
    again = calipers.Judge.replaying(Settings.of(store.recorded.settings), store)
    replayed = [result.to_dict() async for result in again.score_groups(store.groups(), ordered=True)]
    ledger.close()
    assert json.dumps(replayed) == json.dumps(recorded)
    assert recorded[0]["trajectories"][1]["score"] == pytest.approx(1 / 3)


def test_a_run_without_the_option_records_what_earlier_versions_did() -> None:
    grading = judge(grading={}).settings.to_dict()["grading"]
    assert "reward" in grading
    assert not any(name.startswith("weights") for name in grading)


async def test_a_rubric_without_the_categories_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(ConfigError, match=r"criterion 'c1' has 0 tags 'axis:\.\.\.'"):
        judge(as_rubric(["Is kind."]))
    own = answers({"a": "Rest.", "b": "Tea."}, group_id="own", rubric=as_rubric(["Mentions tea."]))
    result = await judge().score_group(own)
    assert result.rewards == [None, None]
    assert "criterion 'c1' has 0 tags 'axis:...'" in result.warnings[0]
    assert not result.judge_calls


async def test_rules_alone_are_weighed_as_well() -> None:
    rules = [
        {"id": "rest", "text": "r", "rule": {"regex": {"pattern": "(?i)rest"}}},
        {"id": "drink", "text": "d", "rule": {"regex": {"pattern": "drink"}}},
    ]
    result = await judge(as_rubric(rules), grading={"weights": "contrast"}).score_group(GROUP)
    assert [one.score for one in result.trajectories] == pytest.approx([1, 1 / 3, 1 / 3, 1])
    assert not result.judge_calls


def values(said: str, rubrics: tuple[Rubric | None, ...], **grading: Any) -> tuple[float | None, ...]:
    """Scores of candidates from verdicts on ``rest`` and ``fluids``, two characters each: 1, 0, or ? for unknown."""
    met = {"1": True, "0": False, "?": None}
    verdicts = [
        Verdict(met[mark], "", item, name)
        for item, marks in enumerate(said.split())
        for name, mark in zip(("rest", "fluids"), marks, strict=True)
    ]
    settings = Grading(weights="contrast", weights_noise=0.0, **grading)
    return CriteriaScores(settings, rubrics)(verdicts, len(rubrics)).values


HALVES = as_rubric([{"id": "rest", "text": "r", "points": 4}, {"id": "fluids", "text": "f", "points": 4}])


def test_an_open_criterion_is_no_number_and_coverage_is_by_human_points() -> None:
    said = "11 11 10 10 1?"
    assert values(said, (HALVES,) * 5)[4] is None
    assert values(said, (HALVES,) * 5, on_missing="partial", coverage=0.51)[4] is None
    assert values(said, (HALVES,) * 5, on_missing="partial", coverage=0.5)[4] == 1.0
    assert values(said, (HALVES,) * 5, on_missing="floor", floor=-0.5)[4] == -0.5
    # the criterion that varies has more than half of the changed points, but not of the human ones
    assert values("11 11 10 10 ?0", (HALVES,) * 5, on_missing="partial", coverage=0.51)[4] is None


def test_candidates_are_compared_only_with_those_of_an_equal_rubric() -> None:
    other = as_rubric([{"id": "rest", "text": "r", "points": 1}, {"id": "fluids", "text": "f", "points": 3}])
    found = values("11 10 01 01", (HALVES, HALVES, other, None))
    assert found == (1.0, *values("11 10", (HALVES,) * 2)[1:], 0.75, None)
    assert values("11 10 11 10", (HALVES, HALVES, None, None))[:2] == found[:2]


def test_a_lone_candidate_keeps_human_points() -> None:
    assert values("10", (HALVES,)) == (0.5,)
