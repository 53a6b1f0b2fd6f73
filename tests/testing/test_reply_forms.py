"""A simulated judge answers in the form that each protocol asks for, and the protocol reads it."""

from __future__ import annotations

import pytest

import calipers
from calipers.rubric import as_rubric
from calipers.testing import Noise, SimulatedJudge

GROUP = {
    "group_id": "g",
    "trajectories": [
        {"id": name, "messages": [{"role": "assistant", "content": f"The answer {name} has words in it."}]}
        for name in ("good", "fair", "bad")
    ],
}
QUALITY = {"good": 0.95, "fair": 0.55, "bad": 0.1}
RUBRIC = as_rubric(
    {
        "criteria": [
            {"id": "right", "text": "It is right.", "points": 2},
            {"id": "rude", "text": "It is rude.", "points": -1},
            {"id": "depth", "text": "It goes deep.", "points": 1},
        ]
    }
)


@pytest.mark.parametrize("protocol", ["listwise", "pairwise", "pointwise"])
@pytest.mark.parametrize("expected", [False, True])
async def test_scores_and_digits_rank_as_the_quality_does(protocol: str, expected: bool) -> None:  # noqa: FBT001
    judge = calipers.Judge.of({"judge": SimulatedJudge(QUALITY), "protocol": protocol, "expected": expected})
    rewards = (await judge.score_group(GROUP)).rewards
    assert None not in rewards
    assert sorted(rewards, reverse=True) == list(rewards)  # type: ignore[type-var]


@pytest.mark.parametrize("mode", ["all", "per_criterion", "relative"])
@pytest.mark.parametrize("more", [{}, {"reasons": False}])
async def test_criteria_are_met_by_good_answers_and_faults_by_bad_ones(mode: str, more: dict[str, bool]) -> None:
    grading = {"mode": mode, **more}
    options = {"judge": SimulatedJudge(QUALITY), "protocol": "checklist", "rubric": RUBRIC, "grading": grading}
    result = await calipers.Judge.of(options).score_group(GROUP)
    assert result.status == "scored", [one.reason for one in result.trajectories]
    good, fair, bad = result.rewards
    assert good is not None
    assert fair is not None
    assert bad is not None
    assert good >= fair > bad


async def test_each_criterion_has_errors_of_its_own() -> None:
    """A judge with one opinion for all criteria would find all of them met, or none."""
    rubric = as_rubric(
        {"criteria": [{"id": f"c{number}", "text": f"It has {number}.", "points": 1} for number in range(20)]}
    )
    judge = SimulatedJudge(dict.fromkeys(QUALITY, 0.5), Noise(0.2, per="candidate"))
    options = {"judge": judge, "protocol": "checklist", "rubric": rubric, "grading": {"mode": "all"}}
    result = await calipers.Judge.of(options).score_group(GROUP)
    assert all(0.1 < (one.reward or 0.0) < 0.9 for one in result.trajectories)
