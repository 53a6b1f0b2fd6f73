"""Groups that are left out on purpose: a share drawn by content, and steps between."""

from typing import Any

import pytest

import calipers
from calipers.backends.providers.scripted import Scripted
from calipers.errors import ConfigError
from calipers.monitoring.alarms import raised_alarms
from calipers.monitoring.health import health
from calipers.testing import SimulatedJudge
from calipers.trainers.no_signal.run import JudgedRun
from calipers.types import GroupResult


def group(number: int, **extra: Any) -> dict[str, Any]:
    members = [{"id": name, "messages": [{"role": "assistant", "content": f"{name}{number}"}]} for name in "ab"]
    return {"group_id": f"g{number}", "trajectories": members, **extra}


def judge(**question: Any) -> calipers.Judge:
    return calipers.Judge(SimulatedJudge({"a": 0.9, "b": 0.1}), question=question)


async def results(groups: list[dict[str, Any]], **question: Any) -> list[GroupResult]:
    return [one async for one in judge(**question).score_groups(groups, ordered=True)]


async def test_a_share_of_the_groups_is_judged_and_equal_groups_alike():
    groups = [group(number) for number in range(400)]
    found = await results(groups, judged_share=0.25)
    judged = [one.group_id for one in found if one.status == "scored"]
    assert 70 < len(judged) < 130
    assert (
        judged
        == [one.group_id for one in await results(groups[::-1], judged_share=0.25) if one.status == "scored"][::-1]
    )
    left = next(one for one in found if one.status != "scored")
    assert (left.status, left.rewards, left.judge_calls, left.attempts) == ("abstained", [None, None], 0, 0)
    assert left.trajectories[0].reason == left.extra["not_judged"] == "the group was not drawn: judged_share=0.25"


async def test_only_every_kth_step_is_judged_and_evaluation_always():
    groups = [group(step, step=step) for step in range(6)]
    groups += [group(6, step=7, split="held_out"), group(7)]
    found = await results(groups, judged_every=3)
    assert [one.status == "scored" for one in found] == [True, False, False, True, False, False, True, True]
    assert found[1].trajectories[1].reason == "step 1 is not judged: judged_every=3"


async def test_groups_left_out_on_purpose_raise_no_alarm_and_cost_no_patience():
    found = await results([group(number) for number in range(300)], judged_share=0.2)
    metrics = health(found)
    assert 0.1 < metrics["judge/judged_rate"] < 0.3
    assert metrics["judge/abstention_rate"] == 0
    assert not [alarm for alarm in raised_alarms(metrics) if "abstention" in alarm.metric]
    run = JudgedRun(judge(judged_every=100), patience=2)
    for step in range(1, 20):
        await run.score_group(group(step, step=step))
    assert run.ended is None


async def test_a_group_left_out_is_not_graded_and_no_criteria_are_written_for_it():
    writer = Scripted([])
    rubric = {"criteria": [{"id": "c", "text": "It is right.", "weight": 1}]}
    strict = calipers.Judge(
        Scripted([]), protocol="checklist", rubric=rubric,
        question={"grading": {"on_missing": "raise"}, "judged_every": 2},
    )  # fmt: skip
    assert (await strict.score_group(group(1, step=1))).status == "abstained"
    written = calipers.Judge(writer, criteria="auto", question={"judged_every": 2})
    alone = await written.score_group(group(1, step=1))
    assert (alone.status, alone.attempts) == ("abstained", 0)


async def test_every_group_is_judged_by_default_and_bad_shares_are_refused():
    assert all(one.status == "scored" for one in await results([group(number, step=1) for number in range(5)]))
    for bad in ({"judged_share": 0}, {"judged_share": 1.5}, {"judged_every": 0}):
        with pytest.raises(ConfigError, match="it must be a"):
            calipers.Judge(Scripted([]), question=bad)
