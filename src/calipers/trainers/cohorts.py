"""Cohorts: rollouts that arrive one at a time, collected until their group is complete and judged once.

For training engines whose workers score each rollout separately. Everything happens in one process and one event loop.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Self

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs import as_group, as_trajectory
from calipers.inputs.groups import derived_group_id
from calipers.judging.preparing import Prepare, Preparing
from calipers.trainers.rewards import trajectory_rewards
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, TrajectoryResult

UNNAMED: Final = "?"
"""The id of a member that has no id of its own."""

_GRACE: Final = 600.0
_REMEMBERED: Final = 4096
"""The most keys of closed groups whose missing members are still recognised."""

_LATE: Final = "it arrived after its group had been judged without it"
_TOO_LATE: Final = "it arrived after its group had been given up, because too few members had arrived in time"

_HEAD: Final = 24
_TAIL: Final = 45
"""Characters of a prompt in a key's name: prompts of one run may begin alike, and end with what was asked."""


@dataclass(frozen=True, slots=True)
class MemberResult:
    """A member's finite ``reward``, or None with a ``reason``. It never has both.

    ``group`` is the result of the judged group, and ``member`` the row of this member in it. Both are None if no judge
    was asked. ``rewarded`` counts the members of the group that got a reward.
    """

    reward: float | None
    reason: str | None = None
    member: TrajectoryResult | None = None
    group: GroupResult | None = None
    rewarded: int = 0

    def required(self) -> float:
        """Return the member's reward. Raises CalipersError with the reason if there is none."""
        if self.reward is None:
            raise CalipersError(f"no reward: {self.reason}")
        return self.reward


@dataclass(frozen=True, slots=True, repr=False)
class NamedKey:
    """The key of a group. Keys with the same ``parts`` are equal; ``name`` is for people."""

    parts: tuple[Hashable, ...]
    name: str = field(compare=False)

    def __repr__(self) -> str:
        return repr(self.name)

    def __str__(self) -> str:
        return self.name

    def within(self, run: str, size: int) -> NamedKey:
        """Return the key of the group among the trainers' runs of a server, in groups of ``size``."""
        return NamedKey((run, size, *self.parts), f"{run}: {self.name}" if run else self.name)


def key_of_prompt(prompt: str | Sequence[Mapping[str, Any]], *parts: Hashable) -> NamedKey:
    """Return a key with ``parts`` for a group that shares ``prompt``, a text or messages, as its name."""
    content = prompt if isinstance(prompt, str) else prompt[-1].get("content") if prompt else None
    pieces = (part.get("text") for part in content if isinstance(part, Mapping)) if isinstance(content, list) else ()
    texts = [content] if isinstance(content, str) else [text for text in pieces if isinstance(text, str)]
    text = " ".join(" ".join(texts).split()) or "(no text)"
    return NamedKey(parts, text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}…{text[-_TAIL:]}")


def _shown(key: Hashable) -> str:
    """Return how logs and errors show the key of a group: a tuple by its parts that are not empty."""
    return ":".join(str(part) for part in key if part) if isinstance(key, tuple) else str(key)


def _call_later(seconds: float, function: Callable[[], object]) -> asyncio.TimerHandle:
    return asyncio.get_running_loop().call_later(seconds, function)


@dataclass(slots=True)
class _Member:
    trajectory: Trajectory
    result: asyncio.Future[MemberResult]

    @property
    def sort_key(self) -> tuple[str, str]:
        """The id, which no other member has, or the content of a member without one."""
        one = self.trajectory
        return one.id, json.dumps(one.messages, ensure_ascii=False, default=str) if one.id == UNNAMED else ""

    def settle(self, result: MemberResult | Exception) -> None:
        """Give the member its result, or the error that its caller gets, unless it has one already."""
        if self.result.done():
            return
        if isinstance(result, Exception):
            self.result.set_exception(result)
        else:
            self.result.set_result(result)


@dataclass(slots=True)
class _Pending:
    """A group that is not judged yet. ``size`` members are expected; ``lost`` of them will never arrive.

    ``common`` is what the members share.
    """

    size: int
    common: TrajectoryGroup | None = None
    prepare: Prepare = lambda member: member
    members: dict[int, _Member] = field(default_factory=dict)
    lost: int = 0
    arrived: int = 0
    timer: asyncio.TimerHandle | None = None

    @property
    def missing(self) -> int:
        return self.size - self.lost - len(self.members)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(one.trajectory.id for one in self.members.values()) - {UNNAMED}

    def settle(self, result: MemberResult | Exception) -> None:
        for member in self.members.values():
            member.settle(result)


@dataclass(slots=True)
class _Closed:
    """A group that was judged, or given up, while ``missing`` members had not come. ``ids`` are those that had."""

    missing: int
    ids: frozenset[str]
    reason: str
    timer: asyncio.TimerHandle | None = None

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()


class Cohorts:
    """Collects rollouts by key. Each group is judged once, when it is complete or its deadline has passed.

    ``judge`` gets the group. ``size`` is a group's number of members unless ``join`` gives another. ``deadline`` is in
    seconds from the first member or reported loss; None means that a group waits until every member has arrived or is
    reported lost. A group that has ``quorum`` members at its deadline is judged incomplete (None: never). With fewer,
    or with fewer scored, no member gets a reward, because engines overrate a single member. For as long again, missing
    members are still recognised as late, so that they do not count for the next group of the same prompt.

    A key is free for the next group as soon as each member of the last has arrived, is lost or is past that time. A
    key that no other group has, such as a ``uid``, is best. An object belongs to one event loop at a time. ``on_lost``
    is called with the name of every group that is given up before it has a result, and the reason. With ``preparing``
    (``Judge.preparing``) a rollout is prepared when it arrives, while its siblings are still rolled out.
    """

    def __init__(
        self,
        judge: Callable[[TrajectoryGroup], Awaitable[GroupResult]],
        *,
        size: int,
        preparing: Preparing | None = None,
        quorum: int | None = 2,
        deadline: float | None = 600.0,
        on_lost: Callable[[str, str], object] | None = None,
    ) -> None:
        require_callable(judge=judge, preparing=preparing, on_lost=on_lost)
        require_whole(size=size, quorum=quorum)
        require_above_zero(size=size, quorum=quorum, deadline=deadline)
        self._judge, self._size, self._quorum = judge, size, quorum
        self._preparing, self._on_lost = preparing, on_lost
        self._deadline = deadline
        self._open: dict[Hashable, _Pending] = {}
        self._closed: OrderedDict[Hashable, _Closed] = OrderedDict()
        self._judging: dict[asyncio.Task[None], _Pending] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def join(
        self, key: Hashable, member: object, *, size: int | None = None, group: Mapping[str, Any] | None = None
    ) -> MemberResult:
        """Add a rollout to its group, wait until the group is judged, and return this rollout's result.

        ``member`` is a trajectory in any form a group may hold. One that cannot be read, or has no messages, gets the
        reason at once, and its siblings do not wait for it. ``group`` is what the members share, as in a groups file
        (``context``, ``tools``, ``rubric``, ``group_id``). A member whose caller is cancelled leaves the group.

        Raises InputError for a second member with the same id, for a ``size`` or ``group`` that differs from that of
        its siblings, and for a ``group`` that cannot be read. Also raises whatever ``judge`` or ``preparing`` raises.
        """
        result, pending, number = self._enter(key, member, size, group)
        try:
            return await result
        except asyncio.CancelledError:
            if pending is not None:
                self._withdraw(key, pending, number)
            raise

    def report_lost(self, key: Hashable, *, size: int | None = None) -> None:
        """Report that a member of a group will not come, so that the others do not wait for it."""
        self._bind()
        if not self._late(key, UNNAMED):
            self._lost(key, self._pending(key, size))

    async def aclose(self) -> None:
        """Release all waiting rollouts, which get no reward. No task or timer remains."""
        for pending in self._open.values():
            if pending.timer is not None:
                pending.timer.cancel()
            pending.settle(MemberResult(None, "the cohorts were closed before its group was judged"))
        for closed in self._closed.values():
            closed.stop()
        self._open.clear()
        self._closed.clear()
        tasks = tuple(self._judging)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _bind(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return loop
        if self._loop is not None and not self._loop.is_closed() and (self._open or self._judging):
            raise CalipersError("all members must join in one event loop, and other members are waiting in another one")
        # The previous loop has ended, and with it every caller that waited in it.
        self._open.clear()
        self._closed.clear()
        self._judging.clear()
        self._loop = loop
        return loop

    def _enter(
        self,
        key: Hashable,
        member: object,
        size: int | None,
        group: Mapping[str, Any] | None,
    ) -> tuple[asyncio.Future[MemberResult], _Pending | None, int]:
        """Return the future of a member's result, its group (None if it has its result at once), and its number."""
        result: asyncio.Future[MemberResult] = self._bind().create_future()
        trajectory, unfit = _read_member(member)
        if late := self._late(key, trajectory.id):
            result.set_result(MemberResult(None, late))
            return result, None, 0
        pending = self._pending(key, size)
        if unfit is not None:
            self._lost(key, pending)
            result.set_result(MemberResult(None, unfit))
            return result, None, 0
        with self._lost_on_error(key, pending):
            common = read_common_fields(group or {}, trajectory)
            if pending.common is None:
                pending.prepare = self._preparing(common) if self._preparing is not None else pending.prepare
                pending.common = common
        if pending.common != common:  # the group goes on waiting for its own members
            raise InputError(
                f"group {_shown(key)!r} has members with another context, tools, rubric or id than this one's"
            )
        if trajectory.id in pending.ids:
            raise InputError(f"group {_shown(key)!r} already has a member with the id {trajectory.id!r}")
        with self._lost_on_error(key, pending):
            ready = pending.prepare(trajectory)
        number, pending.arrived = pending.arrived, pending.arrived + 1
        pending.members[number] = _Member(ready, result)
        self._judge_if_complete(key, pending)
        return result, pending, number

    @contextmanager
    def _lost_on_error(self, key: Hashable, pending: _Pending) -> Iterator[None]:
        """Siblings need not wait for a member that cannot enter."""
        try:
            yield
        except Exception:
            self._lost(key, pending)
            raise

    def _pending(self, key: Hashable, size: int | None) -> _Pending:
        wanted = self._size if size is None else size
        if key not in self._open:
            require_whole(size=wanted)
            require_above_zero(size=wanted)
            self._open[key] = fresh = _Pending(wanted)
            if self._deadline is not None:
                fresh.timer = _call_later(self._deadline, partial(self._close, key, fresh))
        pending = self._open[key]
        if pending.size != wanted:
            group = f"group {_shown(key)!r}"
            raise InputError(f"{group} has {pending.size} members, but this member joins a group of {wanted}")
        return pending

    def _late(self, key: Hashable, name: str) -> str | None:
        """Return why a member is too late for the last group of its key; None if a group can still take it."""
        closed = self._closed.get(key)
        if closed is None:
            return None
        if name in closed.ids:  # this id was in the last group, so the rollout belongs to the prompt's next group
            self._forget(key, closed)
            return None
        closed.missing -= 1
        if closed.missing == 0:
            self._forget(key, closed)
        return closed.reason

    def _forget(self, key: Hashable, closed: _Closed) -> None:
        closed.stop()
        if self._closed.get(key) is closed:
            del self._closed[key]

    def _needed(self, pending: _Pending) -> int:
        return pending.size if self._quorum is None else min(self._quorum, pending.size)

    def _lost(self, key: Hashable, pending: _Pending) -> None:
        pending.lost += 1
        self._judge_if_complete(key, pending)

    def _judge_if_complete(self, key: Hashable, pending: _Pending) -> None:
        if pending.missing <= 0 or pending.size - pending.lost < self._needed(pending):
            self._close(key, pending)

    def _withdraw(self, key: Hashable, pending: _Pending, number: int) -> None:
        if self._open.get(key) is pending:
            del pending.members[number]
            self._lost(key, pending)
            return
        for task, one in self._judging.items():
            if one is pending and all(member.result.done() for member in one.members.values()):
                task.cancel()  # no caller waits for the answer any longer

    def _close(self, key: Hashable, pending: _Pending) -> None:
        """Judge the group, or give it up if it has too few members. In both cases the group takes no more members."""
        del self._open[key]
        if pending.timer is not None:
            pending.timer.cancel()
        arrived, needed = len(pending.members), self._needed(pending)
        if pending.missing > 0:
            reason = _LATE if arrived >= needed else _TOO_LATE
            closed = self._closed[key] = _Closed(pending.missing, pending.ids, reason)
            closed.timer = _call_later(self._deadline or _GRACE, partial(self._forget, key, closed))
            while len(self._closed) > _REMEMBERED:
                self._forget(*next(iter(self._closed.items())))
        if arrived < needed:
            rest = f"{pending.lost} lost and {pending.missing} still missing"
            why = f"too few members of its group arrived to judge it: {arrived} of {pending.size}, with {rest}"
            name = pending.common.group_id if pending.common is not None else ""
            self._give_up(name or _shown(key), pending, why)
            return
        task = self._bind().create_task(self._ask(pending))
        self._judging[task] = pending
        task.add_done_callback(self._done)

    async def _ask(self, pending: _Pending) -> None:
        members, group = _assembled(pending)
        try:
            results = member_results(await self._judge(group), len(members), self._needed(pending))
        except Exception as error:  # noqa: BLE001 - raised in every member that waits
            pending.settle(error)
            return
        for member, result in zip(members, results, strict=True):
            member.settle(result)

    def _give_up(self, name: str, pending: _Pending, why: str) -> None:
        pending.settle(MemberResult(None, why))
        if self._on_lost is not None:
            self._on_lost(name, why)

    def _done(self, task: asyncio.Task[None]) -> None:
        pending = self._judging.pop(task, None)
        if pending is not None:
            pending.settle(MemberResult(None, "the judging of its group was cancelled"))


def _read_member(member: object) -> tuple[Trajectory, str | None]:
    """Return a rollout as a trajectory, and the reason why it cannot be judged, or None if it can."""
    try:
        trajectory = as_trajectory(member, default_id=UNNAMED)
    except InputError as error:
        return Trajectory(UNNAMED, ()), str(error)
    return trajectory, None if trajectory.messages else "it has no messages, so there is nothing to judge"


def read_common_fields(group: Mapping[str, Any], member: Trajectory) -> TrajectoryGroup:
    """Return what the rollouts of a group share, as a group without members. Its id is "" if none was given."""
    named = group.get("group_id")
    read = as_group({**group, "trajectories": [member]}, group_id=UNNAMED if named is None else named)
    return replace(read, trajectories=(), group_id="" if named is None else read.group_id)


def _assembled(pending: _Pending) -> tuple[list[_Member], TrajectoryGroup]:
    """Return the members and the group, in an order that does not depend on when each arrived."""
    assert pending.common is not None  # noqa: S101 - set with the first member
    members = sorted(pending.members.values(), key=lambda one: one.sort_key)
    free = (name for number in range(1, 2 * len(members) + 1) if (name := str(number)) not in pending.ids)
    named = tuple(
        replace(one.trajectory, id=next(free)) if one.trajectory.id == UNNAMED else one.trajectory for one in members
    )
    group = replace(pending.common, trajectories=named)
    return members, group if group.group_id else replace(group, group_id=derived_group_id(group))


def member_results(result: GroupResult, count: int, needed: int) -> list[MemberResult]:
    """Return the result of each of the ``count`` members of a group, in the group's order.

    If fewer than ``needed`` members were scored, none gets a reward. Raises ConfigError for a result of another length.
    """
    if len(result.trajectories) != count:
        raise ConfigError(f"the judge returned {len(result.trajectories)} results for a group of {count}")
    rewards = trajectory_rewards(result)
    scored = count - rewards.count(None)
    few = f"too few members of its group were scored: {scored} of {count}" if scored < needed else None
    return [
        MemberResult(None, f"{row.status}: {row.reason}", row, result, 0 if few else scored)
        if reward is None
        else MemberResult(None if few else reward, few, row, result, 0 if few else scored)
        for row, reward in zip(result.trajectories, rewards, strict=True)
    ]
