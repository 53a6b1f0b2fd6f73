"""A simulated judge answers in the form that each protocol asks for, and the protocol reads it."""

from __future__ import annotations

from typing import Any

import pytest

import calipers
from calipers.testing import Noise, SimulatedJudge
from groups import group_of

QUALITY = {"good": 0.95, "fair": 0.55, "bad": 0.1}
GROUP = group_of({name: f"The answer {name} has words in it." for name in QUALITY})
CRITERIA = [
    {"id": "right", "text": "It is right.", "points": 2},
    {"id": "rude", "text": "It is rude.", "points": -1},
    {"id": "depth", "text": "It goes deep.", "points": 1},
]


async def rewards(judge: SimulatedJudge, **options: Any) -> list[float]:
    result = await calipers.Judge.of({"judge": judge, **options}).score_group(GROUP)
    assert result.status == "scored", [one.reason for one in result.trajectories]
    return [reward for reward in result.rewards if reward is not None]


@pytest.mark.parametrize("protocol", ["listwise", "pairwise", "pointwise"])
@pytest.mark.parametrize("expected", [False, True])
async def test_scores_and_digits_rank_as_the_quality_does(protocol: str, expected: bool) -> None:  # noqa: FBT001
    good, fair, bad = await rewards(SimulatedJudge(QUALITY), protocol=protocol, expected=expected)
    assert good >= fair >= bad


@pytest.mark.parametrize("mode", ["all", "per_criterion", "relative"])
@pytest.mark.parametrize("more", [{}, {"reasons": False}])
async def test_criteria_are_met_by_good_answers_and_faults_by_bad_ones(mode: str, more: dict[str, bool]) -> None:
    options = {"protocol": "checklist", "rubric": CRITERIA, "grading": {"mode": mode, **more}}
    good, fair, bad = await rewards(SimulatedJudge(QUALITY), **options)
    assert good >= fair > bad


async def test_each_criterion_has_errors_of_its_own() -> None:
    """A judge with one opinion for all criteria would find all of them met, or none."""
    judge = SimulatedJudge(dict.fromkeys(QUALITY, 0.5), Noise(0.2, per="candidate"))
    found = await rewards(judge, protocol="checklist", rubric=[f"It has {number}." for number in range(20)])
    assert all(0.1 < reward < 0.9 for reward in found)
