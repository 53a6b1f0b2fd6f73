"""Gates and rules checked while a group is not whole: once a rollout, and to the verdicts of a check of the whole
group.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from calipers import Hybrid, Judge
from calipers.backends.providers.scripted import Scripted
from calipers.errors import ConfigError
from calipers.trainers.cohorts import Cohorts
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, Verdict
from calipers.verifiers import Constraints
from groups import group_of

ANSWERS = {"ab": "a b", "a": "a", "b": "b", "none": "c"}
SCORES = [{"scores": {"ab": 100, "a": 80, "b": 60, "none": 40}}]


@dataclass(frozen=True)
class Contains:
    """Whether a word is in the last message; remembers whom it was asked about, and in which thread."""

    word: str
    asked: list[tuple[str, int, str]] = field(default_factory=list, compare=False)

    def __call__(self, trajectory: Trajectory) -> Verdict:
        self.asked.append((trajectory.id, len(trajectory.messages), threading.current_thread().name))
        text = trajectory.messages[-1]["content"]
        return Verdict(None, "unreadable") if text == "?" else Verdict(self.word in text, f"{self.word} is looked for")


def hybrid(checks: Any, gates: Sequence[Any] = ()) -> Hybrid:
    return Hybrid(Judge(Scripted(SCORES)), checks=checks, gates=gates)


def prepared(by: Hybrid, group: TrajectoryGroup) -> TrajectoryGroup:
    prepare = by.preparing(replace(group, trajectories=()))
    return replace(group, trajectories=tuple(map(prepare, group.trajectories)))


async def scored(by: Hybrid, group: TrajectoryGroup) -> tuple[GroupResult, GroupResult]:
    """Prepared, and not."""
    return await by.score_group(prepared(by, group)), await by.score_group(group)


async def test_each_rollout_is_checked_once_with_the_context_before_it_and_comes_to_the_same() -> None:
    rule, gate = Contains("a"), Contains("b")
    by = hybrid([rule], [gate])
    early = await by.score_group(prepared(by, group_of(ANSWERS)))
    assert sorted(name for name, *_ in gate.asked) == sorted(ANSWERS)
    assert {(length, thread[:14]) for _, length, thread in gate.asked} == {(2, "calipers-rules")}
    assert early == await by.score_group(group_of(ANSWERS))
    assert early.rewards == [1.0, 0.0, 0.0, 0.0]
    assert len(gate.asked) == 8


@pytest.mark.parametrize("answers", [ANSWERS, {**ANSWERS, "none": "?"}, dict.fromkeys(ANSWERS, "c")])
async def test_verdicts_that_are_begun_early_make_the_same_rewards(answers: dict[str, str]) -> None:
    early, late = await scored(hybrid([Contains("a"), Contains("b")]), group_of(answers))
    assert early == late


async def test_a_cohorts_rules_are_checked_while_a_sibling_still_rolls_out() -> None:
    seen = threading.Semaphore(0)

    def rule(trajectory: Trajectory) -> Verdict:
        seen.release()
        return Verdict(trajectory.messages[-1]["content"] == "a b")

    by = hybrid([rule])
    group = group_of(ANSWERS)
    async with Cohorts(by.score_group, size=4, preparing=by.preparing) as cohorts:
        head = {"context": list(group.context), "group_id": "g"}
        *first, last = group.trajectories
        waiting = [asyncio.ensure_future(cohorts.join("k", one, group=head)) for one in first]
        await asyncio.sleep(0)
        for _ in first:
            assert await asyncio.to_thread(seen.acquire, timeout=30)
        shares = [await cohorts.join("k", last, group=head), *[await one for one in waiting]]
    assert sorted(share.reward for share in shares if share.reward is not None) == [0.0, 0.0, 0.0, 1.0]
    assert seen.acquire(blocking=False)  # the last one's
    assert not seen.acquire(blocking=False)


async def test_rules_that_a_function_gives_for_the_empty_group_are_checked_early_others_when_it_is_whole() -> None:
    rule = Contains("a")

    def same(group: TrajectoryGroup) -> Constraints:
        return Constraints((Contains("a", rule.asked),), ("be kind",))

    early, late = await scored(hybrid(same), group_of(ANSWERS))
    assert early == late
    assert [thread[:14] == "calipers-rules" for *_, thread in rule.asked] == [True] * 4 + [False] * 4

    for fickle in (
        lambda group: Constraints((Contains(str(len(group.trajectories)), rule.asked),), ("be kind",)),
        lambda group: Constraints((Contains(group.trajectories[0].id, rule.asked),), ("be kind",)),
    ):
        early, late = await scored(hybrid(fickle), group_of(ANSWERS))
        assert early == late


def until_asked(rule: Contains, times: int) -> None:
    """Wait for checks that were begun early: they run in threads."""
    while len(rule.asked) < times:
        time.sleep(0.01)


async def test_what_another_hybrid_began_or_for_another_context_is_not_taken() -> None:
    first, second = hybrid([Contains("a")]), hybrid([Contains("b")])
    ready = prepared(first, group_of(ANSWERS))
    assert await second.score_group(ready) == await second.score_group(group_of(ANSWERS))
    rule = Contains("a")
    by = hybrid([rule])
    ready = prepared(by, group_of(ANSWERS))
    await asyncio.to_thread(until_asked, rule, len(ANSWERS))
    moved = replace(ready, context=({"role": "system", "content": "x"},) * 3)
    await by.score_group(moved)
    assert sorted(length for _, length, _ in rule.asked) == [2, 2, 2, 2, 4, 4, 4, 4]


async def test_a_rule_that_cannot_work_at_all_is_told_when_the_group_is_scored() -> None:
    def broken(_: Trajectory) -> Verdict:
        raise ConfigError("no sandbox here")

    by = hybrid([broken])
    ready = prepared(by, group_of(ANSWERS))
    with pytest.raises(ConfigError, match="no sandbox here"):
        await by.score_group(ready)


async def test_without_gates_and_rules_nothing_is_begun() -> None:
    ready = prepared(hybrid(()), group_of(ANSWERS))
    assert [one.prepared.gate_checks for one in ready.trajectories if one.prepared is not None] == [None] * 4


async def test_a_group_whose_scoring_was_given_up_is_scored_later_all_the_same() -> None:
    go = threading.Event()

    def rule(trajectory: Trajectory) -> Verdict:
        go.wait(10)
        return Verdict(met=bool(trajectory.messages))

    by = Hybrid(Judge(Scripted(SCORES)), checks=[rule])
    prepared(by, group_of({f"other {n}": str(n) for n in range(8)}))  # more than are checked at a time come first
    group = prepared(by, group_of(ANSWERS))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(by.score_group(group), 0.05)
    go.set()
    assert (await by.score_group(group)).rewards == [1.0, 0.8, 0.6, 0.4]
