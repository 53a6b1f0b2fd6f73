"""One float a rollout: the group's rewards, or the same constant for all of it, and a warning that says why."""

from __future__ import annotations

import asyncio
import logging

import pytest

from calipers.backends.providers.scripted import Scripted
from calipers.judging.judge import Judge
from calipers.trainers.cohorts.pending import MemberResult
from calipers.trainers.no_signal.float_rewards import complete_cohorts, float_reward, is_group_scored, run_for_floats
from calipers.trainers.no_signal.rewards import rewards_or_constant
from calipers.types import GroupResult, TrajectoryGroup, TrajectoryResult
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer


def result_of(*rewards: float | None) -> GroupResult:
    rows = tuple(
        TrajectoryResult(str(place), "failed" if reward is None else "scored", reward, reason="no answer came")
        for place, reward in enumerate(rewards, start=1)
    )
    return GroupResult("g", "partial", rows)


async def test_a_scored_group_is_its_rewards_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await run_for_floats(Judge(Scripted([{"scores": {}}]))).record([result_of(0.2, 0.9)])
    assert rewards_or_constant(result_of(0.2, 0.9)) == [0.2, 0.9]
    assert caplog.text == ""


async def test_one_missing_reward_makes_all_of_them_one_constant_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await run_for_floats(Judge(Scripted([{"scores": {}}]))).record([result_of(0.2, None, 0.9)])
    assert rewards_or_constant(result_of(0.2, None, 0.9)) == [0.5] * 3
    (line,) = caplog.messages
    assert line == (
        "partial group g: 1 of 3 rollouts could not be scored, so all get the same reward: 2 failed: no answer came"
    )


def test_a_members_reward_counts_only_when_all_its_group_was_scored() -> None:
    whole, part = result_of(0.2, 0.9), result_of(0.2, None)
    assert float_reward(MemberResult(0.2, None, whole.trajectories[0], whole)) == 0.2
    assert float_reward(MemberResult(0.2, None, part.trajectories[0], part)) == 0.5
    assert float_reward(MemberResult(None, "it came too late")) == 0.5
    assert [is_group_scored(MemberResult(0.2, None, one.trajectories[0], one)) for one in (whole, part)] == [
        True,
        False,
    ]


def said(points: int) -> dict[str, object]:
    return {"messages": [{"role": "assistant", "content": f"worth {points}"}]}


async def test_a_cohort_is_judged_whole_or_not_at_all(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with complete_cohorts(run_for_floats(judge_at(faulty)), size=2, deadline=30) as cohorts:
        shares = await asyncio.gather(cohorts.join("a", said(20)), cohorts.join("a", said(90)))
        assert [float_reward(share) for share in shares] == [0.2, 0.9]
        waiting = asyncio.create_task(cohorts.join("b", said(20)))
        await asyncio.sleep(0)
        cohorts.report_lost("b")
        assert float_reward(await waiting) == 0.5
    assert len(faulty.posts) == 1


class Prepared:
    """A watcher that remembers whether what a judge was given had been prepared."""

    def __init__(self) -> None:
        self.members: list[bool] = []

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:
        self.members += [one.prepared is not None for one in group.trajectories]
        return result


async def test_rollouts_are_prepared_as_they_come() -> None:
    watcher = Prepared()
    judge = Judge(Scripted([{"scores": {"a": 20, "b": 90}}]), records={"watchers": [watcher]})
    async with complete_cohorts(run_for_floats(judge), size=2, deadline=30) as cohorts:
        shares = await asyncio.gather(*(cohorts.join("a", {"id": name, **said(20)}) for name in ("a", "b")))
    assert [float_reward(share) for share in shares] == [0.5, 0.5]  # they are the same, and no judge is asked
    assert watcher.members == [True, True]
