"""One candidate at a time."""

import pytest

import calipers
from calipers.planners.first_asks import Rounds
from calipers.protocols.scores import Pointwise
from calipers.render import render
from calipers.testing import Flaky, Noise, SimulatedJudge
from calipers.types import Ask
from groups import FOUR, QUALITY, group_of
from planning import state_of

VIEW = render(group_of(FOUR))


def test_only_the_one_is_shown_after_what_all_begin_with():
    question = str(Pointwise().frame(Ask(0, (1,), (1,)), VIEW).messages[1]["content"])
    assert "What is 17 + 25?" in question
    assert [str(candidate.body[0]) in question for candidate in VIEW.candidates] == [False, True, False, False]


def test_rounds_ask_about_everyone_once_each():
    asks = Rounds(1, 3).next_asks(state_of(4))
    assert [ask.order for ask in asks[:4]] == [(0,), (1,), (2,), (3,)]
    assert [ask.presentation for ask in asks] == [0] * 4 + [1] * 4 + [2] * 4
    assert [ask.number for ask in asks] == list(range(12))


async def test_each_gets_its_own_score():
    result = await calipers.Judge(SimulatedJudge(QUALITY), protocol="pointwise").score_group(group_of(FOUR))
    assert {one.id: one.reward for one in result.trajectories} == QUALITY
    assert result.judge_calls == 5  # a score of 5 may be on another scale, and counts when it is given again


async def test_samples_are_averaged_with_a_standard_error():
    judge = calipers.Judge(SimulatedJudge(QUALITY, Noise(0.05)), protocol="pointwise", samples=9)
    result = await judge.score_group(group_of(FOUR))
    for one in result.trajectories:
        assert one.reward == pytest.approx(QUALITY[one.id], abs=0.06)
        assert one.stderr is not None
        assert 0.005 < one.stderr < 0.04


async def test_a_failed_call_leaves_only_its_candidate_without_a_score():
    judge = SimulatedJudge(QUALITY, Flaky(server_error=0.4), seed=3)
    result = await calipers.Judge(judge, protocol="pointwise").score_group(group_of(FOUR))
    assert result.status == "partial"
    for one in result.trajectories:
        assert one.reward in {None, QUALITY[one.id]}


async def test_an_absolute_score_for_a_lone_trajectory():
    judge = calipers.Judge(SimulatedJudge({"a": 0.3}), protocol="pointwise", question={"absolute": True})
    assert (await judge.score_group(group_of({"a": "42"}))).rewards == [0.3]
