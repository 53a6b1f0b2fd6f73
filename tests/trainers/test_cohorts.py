"""Rollouts that come one at a time, and the group they make: whole, short, late, lost, left, and judged once."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import CalipersError, ConfigError, InputError, LedgerError
from calipers.trainers import cohorts as cohort_module
from calipers.trainers.cohorts import Cohorts, MemberResult
from calipers.types import GroupResult, TrajectoryGroup, TrajectoryResult

PROMPT = [{"role": "user", "content": "Tell a joke."}]
GROUP = {"context": PROMPT, "rubric": "Be funny."}


def says(worth: int, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": f"worth {worth}"}], **more}


class Timers:
    """Calls that were put off, made when a test says that so much time has passed."""

    def __init__(self) -> None:
        self.now = 0.0
        self.set: list[tuple[float, Timers.One]] = []

    class One:
        def __init__(self, function: Callable[[], object]) -> None:
            self.function = function
            self.cancelled = False

        def cancel(self) -> None:
            self.cancelled = True

    def later(self, seconds: float, function: Callable[[], object]) -> Timers.One:
        one = Timers.One(function)
        self.set.append((self.now + seconds, one))
        return one

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        due = [one for when, one in self.set if when <= self.now]
        self.set = [(when, one) for when, one in self.set if when > self.now]
        for one in due:
            if not one.cancelled:
                one.function()

    @property
    def alive(self) -> int:
        return sum(not one.cancelled for _, one in self.set)


@dataclass
class Worth:
    """Judges each trajectory by what it says it is worth, when ``gate`` is open; remembers the groups it saw."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    seen: list[TrajectoryGroup] = field(default_factory=list)
    cancelled: int = 0
    without: frozenset[int] = frozenset()

    async def __call__(self, group: TrajectoryGroup) -> GroupResult:
        self.seen.append(group)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return GroupResult(group.group_id, "scored", tuple(self._row(one) for one in group.trajectories))

    def _row(self, one: Any) -> TrajectoryResult:
        worth = int(re.findall(r"worth (\d+)", str(one.messages))[-1])
        if worth in self.without:
            return TrajectoryResult(one.id, "abstained", reason="no opinion")
        return TrajectoryResult(one.id, "scored", worth / 100, worth / 100)

    @property
    def worths(self) -> list[list[int]]:
        return [
            [int(re.findall(r"worth (\d+)", str(one.messages))[-1]) for one in group.trajectories]
            for group in self.seen
        ]


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    made = Timers()
    monkeypatch.setattr(cohort_module, "_call_later", made.later)
    return made


@pytest.fixture
def judge() -> Worth:
    made = Worth()
    made.gate.set()
    return made


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


def begin(cohorts: Cohorts, key: str, worths: Iterable[int], **more: Any) -> list[asyncio.Task[MemberResult]]:
    return [asyncio.ensure_future(cohorts.join(key, says(worth), **more)) for worth in worths]


# --- whole groups ---------------------------------------------------------------------------------------------------


async def test_a_whole_group_is_judged_once_and_each_caller_gets_its_own_reward(timers: Timers, judge: Worth) -> None:
    cohorts = Cohorts(judge, size=3)
    shares = await asyncio.gather(*begin(cohorts, "u1", (30, 90, 60), group=GROUP))
    assert [share.reward for share in shares] == [0.3, 0.9, 0.6]
    assert len(judge.seen) == 1
    assert judge.seen[0].rubric == "Be funny."
    assert [message["content"] for message in judge.seen[0].context] == ["Tell a joke."]
    assert shares[0].group is shares[1].group is not None
    assert [share.required() for share in shares] == [0.3, 0.9, 0.6]
    assert {share.rewarded for share in shares} == {3}
    assert timers.alive == 0


async def test_who_comes_first_changes_nothing_that_the_judge_sees(timers: Timers, judge: Worth) -> None:
    for order in ((1, 2, 3), (3, 1, 2), (2, 3, 1)):
        cohorts = Cohorts(judge, size=3)
        await asyncio.gather(*begin(cohorts, "u", order, group=GROUP))
    assert judge.seen[0] == judge.seen[1] == judge.seen[2]


async def test_ids_and_the_groups_name_are_kept_where_they_are_given(timers: Timers, judge: Worth) -> None:
    cohorts = Cohorts(judge, size=3)
    members = (says(5, id="2"), says(6), says(7))
    shares = await asyncio.gather(*(cohorts.join("u", one, group={"group_id": "mine"}) for one in members))
    assert judge.seen[0].group_id == "mine"
    assert [share.member.id for share in shares if share.member] == ["2", "1", "3"]


async def test_a_member_the_judge_had_no_score_for_gets_the_reason_alone(timers: Timers, judge: Worth) -> None:
    judge.without = frozenset({20})
    cohorts = Cohorts(judge, size=3)
    shares = await asyncio.gather(*begin(cohorts, "u", (10, 20, 30)))
    assert [share.reward for share in shares] == [0.1, None, 0.3]
    assert shares[1].reason == "abstained: no opinion"
    assert {share.rewarded for share in shares} == {2}
    with pytest.raises(CalipersError, match="no reward: abstained: no opinion"):
        shares[1].required()


async def test_where_too_few_were_scored_nobody_gets_a_reward(timers: Timers, judge: Worth) -> None:
    judge.without = frozenset({20, 30})
    cohorts = Cohorts(judge, size=3)
    shares = await asyncio.gather(*begin(cohorts, "u", (10, 20, 30)))
    assert [share.reward for share in shares] == [None] * 3
    assert {share.rewarded for share in shares} == {0}
    assert [share.reason for share in shares] == [
        "too few members of its group were scored: 1 of 3",
        *["abstained: no opinion"] * 2,
    ]


async def test_without_a_deadline_a_group_waits_until_each_has_come_or_is_told_lost(
    timers: Timers, judge: Worth
) -> None:
    cohorts = Cohorts(judge, size=3, deadline=None)
    joined = begin(cohorts, "u", (10, 20))
    await settle()
    timers.pass_time(1e9)
    await settle()
    assert judge.seen == []
    cohorts.report_lost("u")
    assert [share.reward for share in await asyncio.gather(*joined)] == [0.1, 0.2]


# --- lost, late, and the next group ---------------------------------------------------------------------------------


async def test_at_the_deadline_less_than_a_quorum_gets_no_reward(timers: Timers, judge: Worth) -> None:
    cohorts = Cohorts(judge, size=4, quorum=3, deadline=60)
    joined = begin(cohorts, "u", (10, 20))
    await settle()
    timers.pass_time(60)
    shares = await asyncio.gather(*joined)
    assert [share.reward for share in shares] == [None, None]
    assert shares[0].reason == (
        "too few members of its group arrived to judge it: 2 of 4, with 0 lost and 2 still missing"
    )
    late = await cohorts.join("u", says(30))
    assert late == MemberResult(
        None, "it arrived after its group had been given up, because too few members had arrived in time"
    )
    assert judge.seen == []


async def test_late_members_get_an_outcome_of_their_own_and_join_no_other_group(timers: Timers, judge: Worth) -> None:
    cohorts = Cohorts(judge, size=4, deadline=60)
    joined = begin(cohorts, "u", (10, 20))
    await settle()
    timers.pass_time(60)
    await asyncio.gather(*joined)
    late = [await cohorts.join("u", says(worth)) for worth in (30, 40)]
    assert late == [MemberResult(None, "it arrived after its group had been judged without it")] * 2
    # Now that all four have come, the key is free: the next four are the next group of this prompt.
    shares = await asyncio.gather(*begin(cohorts, "u", (1, 2, 3, 4)))
    assert [share.reward for share in shares] == [0.01, 0.02, 0.03, 0.04]
    assert judge.worths == [[10, 20], [1, 2, 3, 4]]
    assert timers.alive == 0


async def test_a_member_who_was_there_already_is_the_next_groups_first(timers: Timers, judge: Worth) -> None:
    cohorts = Cohorts(judge, size=3, deadline=60)
    joined = [asyncio.ensure_future(cohorts.join("u", says(10, id=name))) for name in ("0", "1")]
    await settle()
    timers.pass_time(60)
    await asyncio.gather(*joined)
    again = [cohorts.join("u", says(worth, id=name)) for name, worth in (("0", 1), ("1", 2), ("2", 3))]
    assert [share.reward for share in await asyncio.gather(*again)] == [0.01, 0.02, 0.03]


# --- what is wrong with a member is known at once -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (ValueError("the tool crashed"), "the tool crashed"),
        ({"messages": [{"role": "assistant", "content": 7}]}, "content"),
        ({"messages": []}, "it has no messages"),
        ({"text": "a joke"}, "has no 'messages'"),
    ],
)
async def test_a_bad_member_knows_at_once_and_its_siblings_do_not_wait(
    timers: Timers, judge: Worth, member: Any, reason: str
) -> None:
    cohorts = Cohorts(judge, size=3)
    share = await cohorts.join("u", member)
    assert share.reward is None
    assert share.reason is not None
    assert reason in share.reason
    assert [one.reward for one in await asyncio.gather(*begin(cohorts, "u", (10, 20)))] == [0.1, 0.2]


async def test_a_member_of_another_size_group_or_id_is_refused(timers: Timers, judge: Worth) -> None:
    cohorts = Cohorts(judge, size=3)
    first = asyncio.ensure_future(cohorts.join("u", says(10, id="a"), group=GROUP))
    await settle()
    with pytest.raises(InputError, match=r"group 'u' has 3 members, but this member joins a group of 2"):
        await cohorts.join("u", says(20), size=2, group=GROUP)
    with pytest.raises(InputError, match="another context, tools, rubric or id"):
        await cohorts.join("u", says(20), group={**GROUP, "rubric": "Be brief."})
    with pytest.raises(InputError, match="already has a member with the id 'a'"):
        await cohorts.join("u", says(20, id="a"), group=GROUP)
    shares = await asyncio.gather(first, *begin(cohorts, "u", (20, 30), group=GROUP))
    assert [share.reward for share in shares] == [0.1, 0.2, 0.3]


async def test_a_group_that_cannot_be_read_is_refused_and_nobody_waits_for_that_member(
    timers: Timers, judge: Worth
) -> None:
    cohorts = Cohorts(judge, size=3, deadline=None)
    with pytest.raises(InputError, match="'rubric' must be text"):
        await cohorts.join("u", says(20), group={"rubric": 7})
    assert [share.reward for share in await asyncio.gather(*begin(cohorts, "u", (10, 20)))] == [0.1, 0.2]


@pytest.mark.parametrize("wrong", [{"size": 0}, {"size": 2.0}, {"quorum": 0}, {"deadline": 0}, {"deadline": math.inf}])
def test_settings_that_cannot_work_are_refused(judge: Worth, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Cohorts(judge, **{"size": 4, **wrong})


# --- who leaves, and judges that fail -------------------------------------------------------------------------------


async def test_a_waiter_who_is_cancelled_leaves_and_is_not_waited_for(timers: Timers, judge: Worth) -> None:
    cohorts = Cohorts(judge, size=3)
    gone, *stay = begin(cohorts, "u", (10, 20, 30)[:2])
    await settle()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    shares = await asyncio.gather(*stay, *begin(cohorts, "u", (30,)))
    assert [share.reward for share in shares] == [0.2, 0.3]
    assert judge.worths == [[20, 30]]


async def test_when_all_have_left_the_judge_is_not_kept_busy(timers: Timers) -> None:
    judge = Worth()
    cohorts = Cohorts(judge, size=2)
    joined = begin(cohorts, "u", (10, 20))
    await settle()
    for task in joined:
        task.cancel()
    await settle()
    assert judge.cancelled == 1


@pytest.mark.parametrize("error", [LedgerError("the disk is full"), RuntimeError("a bug")])
async def test_what_the_judge_raises_is_raised_to_each_who_waits(timers: Timers, error: Exception) -> None:
    async def broken(_: TrajectoryGroup) -> GroupResult:
        raise error

    joined = begin(Cohorts(broken, size=3), "u", (1, 2, 3))
    assert await asyncio.gather(*joined, return_exceptions=True) == [error] * 3


async def test_closing_ends_all_waiting_and_leaves_no_task(timers: Timers) -> None:
    judge = Worth()
    async with Cohorts(judge, size=2) as cohorts:
        judged, alone = begin(cohorts, "u", (10, 20)), begin(cohorts, "v", (30,))
        await settle()
    shares = await asyncio.gather(*judged, *alone)
    assert [share.reason for share in shares] == [
        *["the judging of its group was cancelled"] * 2,
        "the cohorts were closed before its group was judged",
    ]
    assert (judge.cancelled, timers.alive) == (1, 0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


# --- event loops ----------------------------------------------------------------------------------------------------


def test_one_event_loop_after_another_may_be_used(judge: Worth) -> None:
    judge.without = frozenset()
    cohorts = Cohorts(lambda group: Worth.__call__(_open(), group), size=2)

    async def one() -> list[float | None]:
        return [share.reward for share in await asyncio.gather(*begin(cohorts, "u", (10, 20)))]

    async def stranded() -> None:
        await asyncio.wait(begin(cohorts, "u", (30,)), timeout=0)

    assert asyncio.run(one()) == [0.1, 0.2]
    asyncio.run(stranded())
    assert asyncio.run(one()) == [0.1, 0.2]


def _open() -> Worth:
    made = Worth()
    made.gate.set()
    return made


async def test_a_second_event_loop_at_the_same_time_is_refused(timers: Timers, judge: Worth) -> None:
    cohorts = Cohorts(judge, size=2)
    waiting = begin(cohorts, "u", (10,))
    await settle()
    with pytest.raises(CalipersError, match="must join in one event loop"):
        await asyncio.to_thread(lambda: asyncio.run(cohorts.join("u", says(20))))
    assert [share.reward for share in await asyncio.gather(*waiting, *begin(cohorts, "u", (30,)))] == [0.1, 0.3]


# --- whatever happens -----------------------------------------------------------------------------------------------

_event = st.one_of(
    st.tuples(st.just("join"), st.integers(0, 2), st.integers(0, 99)),
    st.tuples(st.just("lose"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("bad"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("leave"), st.integers(0, 50), st.just(0)),
    st.tuples(st.just("wait"), st.just(0), st.integers(1, 40)),
)


@given(events=st.lists(_event, max_size=40), size=st.integers(1, 4), quorum=st.integers(1, 4))
def test_whatever_happens_everyone_gets_their_own_reward_or_a_reason(
    events: list[tuple[str, int, int]], size: int, quorum: int
) -> None:
    timers = Timers()

    async def play() -> None:
        judge = _open()
        cohorts = Cohorts(judge, size=size, quorum=quorum, deadline=60)
        joined: list[tuple[int, int, asyncio.Task[MemberResult]]] = []
        for kind, which, amount in events:
            if kind == "join":
                joining = begin(cohorts, f"u{which}", (amount,), group={"group_id": f"u{which}"})
                joined.append((which, amount, joining[0]))
            elif kind == "lose":
                cohorts.report_lost(f"u{which}")
            elif kind == "bad":
                assert (await cohorts.join(f"u{which}", {"messages": []})).reward is None
            elif kind == "leave" and which < len(joined):
                joined[which][2].cancel()
            else:
                timers.pass_time(amount)
            await settle()
        timers.pass_time(60)
        await settle()
        for which, amount, task in joined:
            if not task.cancelled():
                share = task.result()
                assert (share.reward is None) != (share.reason is None)
                assert share.reward is None or share.reward == pytest.approx(amount / 100, rel=2**-16)  # levelled ties
                assert share.group is None or share.group.group_id == f"u{which}"
        assert all(min(size, quorum) <= len(group.trajectories) <= size for group in judge.seen)
        timers.pass_time(60)
        assert (timers.alive, cohorts._groups, cohorts._judging) == (0, {}, {})
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cohort_module, "_call_later", timers.later)
        asyncio.run(play())
