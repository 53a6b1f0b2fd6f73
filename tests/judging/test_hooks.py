"""The functions that are called before and after judging."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

import calipers
from calipers.errors import CalipersError
from calipers.judging.audit import Auditor
from calipers.monitoring.alarms import Alarm
from calipers.monitoring.monitor import Monitor
from calipers.testing import SimulatedJudge
from calipers.types import Completion, JudgeRequest
from groups import FOUR, QUALITY, group_of

GROUPS = [group_of(FOUR, group_id=f"g{number}") for number in range(3)]


def judge_with(called: list[str], **hooks: object) -> calipers.Judge:
    calls = {"before": lambda: called.append("before"), "after": lambda: called.append("after"), **hooks}
    return calipers.Judge(SimulatedJudge(QUALITY), calls=calls)


async def test_a_batch_and_groups_at_the_same_time_call_them_once() -> None:
    called: list[str] = []
    judge = judge_with(called)
    assert [result.status async for result in judge.score_groups(GROUPS)] == ["scored"] * 3
    assert called == ["before", "after"]
    await asyncio.gather(*(judge.score_group(group) for group in GROUPS))
    assert called[:3] == ["before", "after", "before"]
    assert called[-1] == "after"


async def test_what_before_raises_is_raised_and_the_next_group_calls_it_again() -> None:
    called: list[str] = []

    def refuse() -> None:
        called.append("refused")
        raise RuntimeError("no GPU is free")

    judge = judge_with(called, before=refuse)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no GPU"):
            await judge.score_group(GROUPS[0])
    assert called == ["refused"] * 2


class Exiting:
    endpoint, model = "test", "exiting"

    async def complete(self, request: JudgeRequest) -> Completion:
        raise SystemExit("the run costs too much")


def leave(*_: object) -> Any:
    raise SystemExit("the run costs too much")


async def outcome_of(judge: calipers.Judge | calipers.Hybrid) -> str:
    """The error that judging raises, or the reason why nothing is scored."""
    try:
        result = await judge.score_group(GROUPS[0])
    except CalipersError as error:
        return str(error)
    return str(result.trajectories[0].reason)


async def test_an_exit_of_a_users_function_is_an_error_and_no_end_of_the_event_loop() -> None:
    alarmed = Monitor(every=1, alarms=[Alarm("judge/groups", above=0, groups=1)], on_alarm=leave, quiet=True)
    sound, check = SimulatedJudge(QUALITY), cast("Any", leave)
    judges: dict[str, calipers.Judge | calipers.Hybrid] = {
        "a watcher's observe": calipers.Judge(sound, orders=2, records={"watchers": [leave]}),
        "on_alarm": calipers.Judge(sound, records={"watchers": [alarmed]}),
        "before": calipers.Judge(sound, calls={"before": leave}),
        "after": calipers.Judge(sound, calls={"after": leave}),
        "parse": calipers.Judge(sound, parse=leave, question={"reasks": 0}),
        "a backend": calipers.Judge(Exiting(), orders=2),
        "a check": calipers.Hybrid(calipers.Judge(sound), checks=[check]),
    }
    outcomes = {name: await outcome_of(judge) for name, judge in judges.items()}
    assert {name: text for name, text in outcomes.items() if "costs too much" not in text} == {}


async def test_an_exit_where_nobody_waits_for_it_is_an_error_of_the_next_group() -> None:
    alarm = Alarm("judge/groups", above=0, groups=1)
    for watcher in (
        Monitor(every=1, alarms=[alarm], on_alarm=leave, quiet=True, in_pieces=True),
        Auditor(lambda trajectory: QUALITY[trajectory.id], share=1.0, on_disagreement=leave),
    ):
        judge = calipers.Judge(SimulatedJudge(QUALITY), records={"watchers": [watcher]})
        outcomes: list[str] = []
        while not any("costs too much" in text for text in outcomes):
            outcomes.append(await outcome_of(judge))
            assert len(outcomes) < 1000
            await asyncio.sleep(0.001)
