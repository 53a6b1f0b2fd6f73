"""Rollouts that arrive one at a time, and the group that they make: complete, short, lost, left, and judged once."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import CalipersError, ConfigError, InputError, LedgerError
from calipers.trainers import cohorts as cohort_module
from calipers.trainers.cohorts import Cohorts, MemberResult, key_of_prompt
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, TrajectoryResult

PROMPT = [{"role": "user", "content": "Tell a joke."}]
GROUP = {"context": PROMPT, "rubric": "Be funny."}


def says(worth: int, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": f"worth {worth}"}], **more}


def worth_of(member: Trajectory) -> int:
    return int(re.findall(r"worth (\d+)", str(member.messages))[-1])


class Timers:
    """Calls that were put off, made when a test says that so much time has passed."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waiting: dict[object, tuple[float, Callable[[], object]]] = {}

    def later(self, seconds: float, function: Callable[[], object]) -> Any:
        timer = object()
        self.waiting[timer] = (self.now + seconds, function)
        return SimpleNamespace(cancel=lambda: self.waiting.pop(timer, None))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for timer, (when, function) in list(self.waiting.items()):
            if when <= self.now and self.waiting.pop(timer, None) is not None:
                function()


@dataclass
class Worth:
    """Judges each trajectory by what it says it is worth; remembers the groups it saw."""

    seen: list[TrajectoryGroup] = field(default_factory=list)
    without: frozenset[int] = frozenset()

    async def __call__(self, group: TrajectoryGroup) -> GroupResult:
        self.seen.append(group)
        await asyncio.sleep(0)
        return GroupResult(group.group_id, "scored", tuple(map(self._row, group.trajectories)))

    def _row(self, member: Trajectory) -> TrajectoryResult:
        worth = worth_of(member)
        if worth in self.without:
            return TrajectoryResult(member.id, "abstained", reason="no opinion")
        return TrajectoryResult(member.id, "scored", worth / 100, worth / 100)

    @property
    def worths(self) -> list[list[int]]:
        return [list(map(worth_of, group.trajectories)) for group in self.seen]


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    made = Timers()
    monkeypatch.setattr(cohort_module, "_call_later", made.later)
    return made


@pytest.fixture
def judge() -> Worth:
    return Worth()


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


def begin(cohorts: Cohorts, key: str, worths: Iterable[int], **more: Any) -> list[asyncio.Task[MemberResult]]:
    return [asyncio.ensure_future(cohorts.join(key, says(worth), **more)) for worth in worths]


async def rewards(tasks: Iterable[asyncio.Task[MemberResult]]) -> list[float | None]:
    return [result.reward for result in await asyncio.gather(*tasks)]


# --- complete groups -------------------------------------------------------------------------------------------------


async def test_a_complete_group_is_judged_once_in_an_order_that_no_arrival_changes(
    timers: Timers, judge: Worth
) -> None:
    for number, order in enumerate(((30, 90, 60), (60, 30, 90), (90, 60, 30)), start=1):
        results = await asyncio.gather(*begin(Cohorts(judge, size=3), "u1", order, group=GROUP))
        assert [(result.reward, result.rewarded) for result in results] == [(one / 100, 3) for one in order]
        assert results[0].group is results[1].group is not None
        assert len(judge.seen) == number
    assert (judge.seen[0].rubric, judge.seen[0].context) == ("Be funny.", tuple(PROMPT))
    assert judge.seen[0] == judge.seen[1] == judge.seen[2]
    assert timers.waiting == {}


async def test_ids_and_the_groups_name_are_kept_where_they_are_given(judge: Worth) -> None:
    cohorts = Cohorts(judge, size=3)
    members = (says(5, id="2"), says(6), says(7))
    results = await asyncio.gather(*(cohorts.join("u", one, group={"group_id": "mine"}) for one in members))
    assert judge.seen[0].group_id == "mine"
    assert [result.member.id for result in results if result.member] == ["2", "1", "3"]


async def test_a_member_without_a_score_gets_the_reason_and_where_too_few_have_one_nobody_gets_a_reward() -> None:
    reason = "abstained: no opinion"
    few = "too few members of its group were scored: 1 of 3"
    for without, expected in (
        ({20}, [(0.1, None, 2), (None, reason, 2), (0.3, None, 2)]),
        ({20, 30}, [(None, few, 0), (None, reason, 0), (None, reason, 0)]),
    ):
        cohorts = Cohorts(Worth(without=frozenset(without)), size=3)
        results = await asyncio.gather(*begin(cohorts, "u", (10, 20, 30)))
        assert [(result.reward, result.reason, result.rewarded) for result in results] == expected


async def test_without_a_deadline_a_group_waits_until_each_member_has_arrived_or_is_lost(
    timers: Timers, judge: Worth
) -> None:
    cohorts = Cohorts(judge, size=3, deadline=None)
    joined = begin(cohorts, "u", (10, 20))
    await settle()
    timers.pass_time(1e9)
    await settle()
    assert judge.seen == []
    cohorts.report_lost("u")
    assert await rewards(joined) == [0.1, 0.2]


# --- the deadline ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("quorum", "expected"), [(2, [0.1, 0.2]), (3, [None, None]), (None, [None, None])])
async def test_at_the_deadline_a_quorum_is_judged_and_with_fewer_nobody_gets_a_reward(
    timers: Timers, judge: Worth, quorum: int | None, expected: list[float | None]
) -> None:
    lost: list[tuple[str, str]] = []
    cohorts = Cohorts(judge, size=4, quorum=quorum, deadline=60, on_lost=lambda *told: lost.append(told))
    joined = begin(cohorts, "u", (10, 20))
    await settle()
    timers.pass_time(60)
    assert await rewards(joined) == expected
    why = "too few members of its group arrived to judge it: 2 of 4, with 0 lost and 2 still missing"
    assert lost == ([] if 0.1 in expected else [("u", why)])
    assert {task.result().reason for task in joined} == {None if 0.1 in expected else why}


async def test_who_comes_after_a_short_group_is_the_next_group_or_a_straggler(timers: Timers, judge: Worth) -> None:
    lost: list[str] = []
    cohorts = Cohorts(judge, size=3, deadline=60, on_lost=lambda name, _: lost.append(name))

    async def rewards_of(*worths: int) -> list[float | None]:
        joined = [asyncio.ensure_future(cohorts.join("u", says(worth, id=f"{worth}"))) for worth in worths]
        await settle()
        timers.pass_time(60 if len(worths) < 3 else 0)
        return await rewards(joined)

    for step in range(3):  # one member never comes; its key's next group has other ids, and loses nobody
        assert await rewards_of(step, 50 + step) == [step / 100, (50 + step) / 100]
        assert await rewards_of(10 + step, 20 + step, 30 + step) == [(tens + step) / 100 for tens in (10, 20, 30)]
    assert await rewards_of(90) == [None]
    assert lost == ["u"]
    assert await rewards_of(91, 92) == [None, None]  # both that were missing
    timers.pass_time(60)
    assert await rewards_of(1, 2) == [0.01, 0.02]
    cohorts.report_lost("u")  # the straggler
    timers.pass_time(60)
    assert lost == ["u"]
    assert (len(judge.seen), timers.waiting, cohorts._closed) == (7, {}, {})


async def test_the_same_member_again_is_one_member_until_a_caller_has_its_result(timers: Timers, judge: Worth) -> None:
    for deadline in (60, None):
        cohorts = Cohorts(judge, size=3, deadline=deadline)
        member = says(10, id="a")
        gone, waits = (asyncio.ensure_future(cohorts.join("u", member)) for _ in range(2))
        await settle()
        gone.cancel()
        with pytest.raises(InputError, match="already has a member with the id 'a'"):
            await cohorts.join("u", says(20, id="a"))
        assert not waits.done()
        cut = asyncio.ensure_future(cohorts.join("u", says(20, id="b")))
        await settle()
        cut.cancel()
        last = begin(cohorts, "u", (30,))
        again = asyncio.ensure_future(cohorts.join("u", member))  # while it is judged
        assert await rewards([waits, again, *last]) == [0.1, 0.1, 0.3]
        if deadline is not None:
            assert await rewards([asyncio.ensure_future(cohorts.join("u", says(20, id="b")))]) == [0.2]
        assert not cohorts._groups
    assert judge.worths == [[30, 10, 20]] * 2


# --- members that cannot enter ---------------------------------------------------------------------------------------


async def test_an_unreadable_member_gets_the_reason_at_once_and_its_siblings_do_not_wait(judge: Worth) -> None:
    unreadable: list[tuple[Any, str]] = [
        (ValueError("the tool crashed"), "the tool crashed"),
        ({"messages": [{"role": "assistant", "content": 7}]}, "content"),
        ({"messages": []}, "it has no messages"),
    ]
    for member, reason in unreadable:
        cohorts = Cohorts(judge, size=3)
        result = await cohorts.join("u", member)
        assert result.reward is None
        assert reason in str(result.reason)
        assert await rewards(begin(cohorts, "u", (10, 20))) == [0.1, 0.2]


async def test_a_member_of_another_size_group_or_id_is_refused_and_not_waited_for(judge: Worth) -> None:
    cohorts = Cohorts(judge, size=4, deadline=None)
    first = asyncio.ensure_future(cohorts.join("u", says(10, id="a"), group=GROUP))
    await settle()
    with pytest.raises(InputError, match="group 'u' has 4 members, but this member joins a group of 2"):
        await cohorts.join("u", says(20), size=2, group=GROUP)
    refused: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        (says(20), {**GROUP, "rubric": "Be brief."}, "another context, tools, rubric or id"),
        (says(20), {"rubric": 7}, "'rubric' must be text"),
    ]
    for member, group, words in refused:
        with pytest.raises(InputError, match=words):
            await cohorts.join("u", member, group=group)
    assert await rewards([first, *begin(cohorts, "u", (20,), group=GROUP)]) == [0.1, 0.2]


def test_settings_that_cannot_work_are_refused(judge: Worth) -> None:
    for name, value in (("size", 0), ("size", 2.0), ("quorum", 0), ("deadline", math.inf)):
        settings: dict[str, Any] = {"size": 4, name: value}
        with pytest.raises(ConfigError, match=name):
            Cohorts(judge, **settings)


# --- callers that leave, and judges that fail ------------------------------------------------------------------------


async def test_what_the_judge_raises_is_raised_in_each_caller() -> None:
    error = LedgerError("the disk is full")

    async def broken(_: TrajectoryGroup) -> GroupResult:
        raise error

    joined = begin(Cohorts(broken, size=3), "u", (1, 2, 3))
    assert await asyncio.gather(*joined, return_exceptions=True) == [error] * 3


# --- event loops and keys --------------------------------------------------------------------------------------------


def test_one_event_loop_after_another_may_be_used(judge: Worth) -> None:
    cohorts = Cohorts(judge, size=2)

    async def complete() -> list[float | None]:
        return await rewards(begin(cohorts, "u", (10, 20)))

    async def stranded() -> None:
        await asyncio.wait(begin(cohorts, "u", (30,)), timeout=0)

    assert asyncio.run(complete()) == [0.1, 0.2]
    asyncio.run(stranded())
    assert asyncio.run(complete()) == [0.1, 0.2]


async def test_a_second_event_loop_at_the_same_time_is_refused(judge: Worth) -> None:
    cohorts = Cohorts(judge, size=2)
    waiting = begin(cohorts, "u", (10,))
    await settle()
    with pytest.raises(CalipersError, match="must join in one event loop"):
        await asyncio.to_thread(lambda: asyncio.run(cohorts.join("u", says(20))))
    assert await rewards([*waiting, *begin(cohorts, "u", (30,))]) == [0.1, 0.3]


def test_the_key_of_a_prompt_begins_with_its_text_shortened() -> None:
    image = [{"type": "image_url"}, {"type": "text", "text": "What is\nthis?"}]
    assert key_of_prompt("Tell a joke.", 7) == ("Tell a joke.", 7)
    assert key_of_prompt([{"role": "user", "content": image}]) == ("What is this?",)
    assert key_of_prompt([]) == ("(no text)",)
    (name,) = key_of_prompt("a" * 100 + "b" * 100)
    assert name == "a" * 24 + "…" + "b" * 45


# --- whatever happens ------------------------------------------------------------------------------------------------

_event = st.one_of(
    st.tuples(st.just("join"), st.integers(0, 2), st.integers(0, 99)),
    st.tuples(st.just("lose"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("bad"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("leave"), st.integers(0, 50), st.just(0)),
    st.tuples(st.just("wait"), st.just(0), st.integers(1, 40)),
)


@given(events=st.lists(_event, max_size=40), size=st.integers(1, 4), quorum=st.integers(1, 4))
def test_whatever_happens_every_member_gets_its_own_reward_or_a_reason(
    events: list[tuple[str, int, int]], size: int, quorum: int
) -> None:
    timers = Timers()

    async def play() -> None:
        judge = Worth()
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
        for _ in range(3):
            timers.pass_time(60)
            await settle()
        for which, amount, task in joined:
            if not task.cancelled():
                result = task.result()
                assert (result.reward is None) != (result.reason is None)
                assert result.reward is None or result.reward == pytest.approx(amount / 100, rel=2**-16)  # even ties
                assert result.group is None or result.group.group_id == f"u{which}"
        assert all(min(size, quorum) <= len(group.trajectories) <= size for group in judge.seen)
        assert (timers.waiting, cohorts._groups, cohorts._closed, cohorts._judging) == ({}, {}, {}, set())
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cohort_module, "_call_later", timers.later)
        asyncio.run(play())
