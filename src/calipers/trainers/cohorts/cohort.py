"""Cohorts: rollouts that arrive one at a time, collected and judged as one group.

For training engines whose workers score each rollout separately. Every worker joins under its prompt's key, and waits
until its group is judged, which happens once for all its rollouts. Everything happens in one process and one event
loop. Not responsible for how an engine reaches it, for what a missing reward means to that engine (its own module), or
for judging.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Final, Self

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import CalipersError, InputError
from calipers.judging.preparing import Preparing
from calipers.trainers.cohorts.keys import name_of_key
from calipers.trainers.cohorts.pending import (
    UNNAMED,
    ClosedGroup,
    Member,
    MemberResult,
    PendingGroup,
    Timer,
    assembled_group,
    member_results,
    member_sort_key,
    no_reward,
    read_common_fields,
    read_member,
    require_matching,
)
from calipers.types import GroupResult, TrajectoryGroup

__all__ = ["Cohorts", "GroupJudge", "Later", "MemberResult"]

GroupJudge = Callable[[TrajectoryGroup], Awaitable[GroupResult]]
"""Judges a whole group, for example ``Judge.score_group``. Returns one result per trajectory, in the group's order."""

Later = Callable[[float, Callable[[], object]], Timer]
"""``(seconds, function)``: calls the function after this many seconds in the running event loop."""

_GRACE: Final = 600.0
_LATE: Final = "it arrived after its group had been judged without it"
_TOO_LATE: Final = "it arrived after its group had been given up, because too few members had arrived in time"


def _call_later(seconds: float, function: Callable[[], object]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, function)


class Cohorts:
    """Collects rollouts by key. Each group is judged once, when it is complete or its deadline has passed.

    ``judge`` gets the group. ``size`` is a group's number of members unless ``join`` gives another. ``deadline`` is in
    seconds from the first member (or the first reported loss). A group that has at least ``quorum`` members at its
    deadline is judged incomplete. With fewer members, or with fewer of them scored, no member gets a reward, because
    engines overrate a single member. Without a deadline (None) a group waits until every member has arrived or is
    reported lost. ``grace`` is in seconds from the deadline (default: the deadline). During this time missing members
    are still recognised, so that they do not count for the next group of the same prompt; at most ``remembered`` such
    keys are stored. ``later`` schedules calls; tests pass their own.

    A key is free for the next group as soon as each member of the last group has arrived, is reported lost, or is past
    the grace period. A key that no other group has, such as a ``uid``, is best. An object belongs to one event loop at
    a time. ``on_lost`` is called with the name of every group that is given up before it has a result, and the reason.
    ``on_closed`` is called with the key of every group that takes no more members.

    ``limit`` is in seconds from the first member until every member has its result, for engines that ask again after
    some time. Judging that is not finished then is cancelled, and no member gets a reward.

    With ``preparing`` (``Judge.preparing``, ``Hybrid.preparing``) a rollout is prepared for judging when it arrives,
    while its siblings are still rolled out. So the judge is asked sooner after the last rollout.
    """

    def __init__(  # noqa: PLR0913 - constructor arguments are the configuration
        self,
        judge: GroupJudge,
        *,
        size: int,
        preparing: Preparing | None = None,
        quorum: int = 2,
        deadline: float | None = 600.0,
        limit: float | None = None,
        grace: float | None = None,
        remembered: int = 4096,
        later: Later = _call_later,
        on_lost: Callable[[str, str], object] | None = None,
        on_closed: Callable[[Hashable], object] | None = None,
    ) -> None:
        require_callable(judge=judge, preparing=preparing, on_lost=on_lost, on_closed=on_closed)
        require_whole(size=size, quorum=quorum, remembered=remembered)
        require_above_zero(size=size, quorum=quorum, remembered=remembered, deadline=deadline, grace=grace, limit=limit)
        self._judge, self._size, self._quorum = judge, size, quorum
        self._preparing, self._on_lost, self._on_closed = preparing, on_lost, on_closed
        self._deadline, self._grace = deadline, grace or deadline or _GRACE
        self._limit = limit
        self._remembered, self._later = remembered, later
        self._open: dict[Hashable, PendingGroup] = {}
        self._closed: OrderedDict[Hashable, ClosedGroup] = OrderedDict()
        self._judging: dict[asyncio.Task[None], PendingGroup] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def join(
        self, key: Hashable, member: object, *, size: int | None = None, group: Mapping[str, Any] | None = None
    ) -> MemberResult:
        """Add a trainer's rollout to its group, wait until the group is judged, and return this rollout's result.

        ``member`` is a trajectory in any form a group may hold. It is read at once, and only once. A member that cannot
        be read, or has no messages, gets the reason without waiting, and its siblings do not wait for it. ``group`` is
        what the members share, as in a groups file (``context``, ``tools``, ``rubric``, ``group_id``). It must be the
        same for each member.

        A member that arrives after its group was judged gets no reward. A member whose caller is cancelled leaves the
        group, which does not wait for it. Raises InputError for a second member with the same id, for a ``size`` or
        ``group`` that differs from that of its siblings, and for a ``group`` that cannot be read. Also raises whatever
        ``judge`` or ``preparing`` raises.
        """
        member_result, pending, number = self._enter(key, member, size, group, comes_again=False)
        try:
            return await member_result
        except asyncio.CancelledError:
            if pending is not None:
                self._withdraw(key, pending, number)
            raise

    def enter(
        self,
        key: Hashable,
        member: object,
        *,
        size: int | None = None,
        group: Mapping[str, Any] | TrajectoryGroup | None = None,
    ) -> asyncio.Future[MemberResult]:
        """Add a trainer's rollout to its group, and return the future of its result at once.

        For servers: the member stays in its group whether or not a caller still waits, and several callers may wait for
        the same future, each behind ``asyncio.shield``. ``group`` may be a TrajectoryGroup without trajectories, which
        is not read again. Raises as ``join`` does. After an error that is not calipers' own (out of memory or threads,
        for example) the group still waits for the member, because its request may come again.
        """
        return self._enter(key, member, size, group, comes_again=True)[0]

    def is_open(self, key: Hashable) -> bool:
        """Return whether a group of this key still takes members. A group that is being judged does not."""
        return key in self._open

    def _enter(
        self,
        key: Hashable,
        member: object,
        size: int | None,
        group: Mapping[str, Any] | TrajectoryGroup | None,
        *,
        comes_again: bool,
    ) -> tuple[asyncio.Future[MemberResult], PendingGroup | None, int]:
        """Return the future of a member's result, its group, and its number there. A member that gets its result at
        once has no group.
        """
        self._bind()
        trajectory, unfit = read_member(member)
        if late := self._late(key, trajectory.id):
            return no_reward(late), None, 0
        pending = self._pending(key, size)
        if unfit is not None:
            self._lost(key, pending)
            return no_reward(unfit), None, 0
        with self._lost_if_raised(key, pending, comes_again=comes_again):
            common = group if isinstance(group, TrajectoryGroup) else read_common_fields(group or {}, trajectory)
            if pending.common is None and self._preparing is not None:
                pending.prepare = self._preparing(common)
            pending.common = pending.common or common
        require_matching(key, pending, common, trajectory)
        with self._lost_if_raised(key, pending, comes_again=comes_again):
            ready = pending.prepare(trajectory)
        number, pending.arrived = pending.arrived, pending.arrived + 1
        member_result: asyncio.Future[MemberResult] = asyncio.get_running_loop().create_future()
        pending.members[number] = Member(ready, member_result, member_sort_key(ready))
        self._judge_if_complete(key, pending)
        return member_result, pending, number

    def report_lost(self, key: Hashable, *, size: int | None = None) -> None:
        """Report that a member of a trainer's group will not come, so that the others do not wait for it."""
        self._bind()
        if not self._late(key, UNNAMED):
            self._lost(key, self._pending(key, size))

    @asynccontextmanager
    async def reserve(
        self, key: Hashable, *, size: int | None = None, group: Mapping[str, Any] | None = None
    ) -> AsyncIterator[Callable[[object], Awaitable[MemberResult]]]:
        """Expect a member while the trainer rolls it out.

        Yield its ``join``, and report the member lost if ``join`` is never called.
        """
        joined = False

        async def join(member: object) -> MemberResult:
            nonlocal joined
            joined = True
            return await self.join(key, member, size=size, group=group)

        try:
            yield join
        finally:
            if not joined:
                self.report_lost(key, size=size)

    @property
    def waiting(self) -> int:
        """Return the number of members that wait for their group, or for the judge."""
        waiting = (*self._open.values(), *self._judging.values())
        return sum(not member.result.done() for one in waiting for member in one.members.values())

    def abandon(self, error: Exception) -> None:
        """Raise ``error`` in all rollouts of the trainer whose group is not being judged. Those groups are forgotten.

        Groups that are being judged are not touched.
        """
        abandoned = dict(self._open)
        self._open.clear()
        for key, pending in abandoned.items():
            _stop(pending.timer)
            if self._on_closed is not None:
                self._on_closed(key)
            for member in pending.members.values():
                if not member.result.done():
                    member.result.set_exception(error)

    async def finish(self) -> None:
        """Wait until no group of the trainer is being judged. Incomplete groups are not waited for."""
        while self._judging:
            await asyncio.wait(tuple(self._judging))

    async def aclose(self) -> None:
        """Release all waiting rollouts of the trainer.

        Members of a group that is not judged yet get no reward. No task or timer remains.
        """
        for pending in self._open.values():
            _stop(pending.timer)
            pending.give_no_reward("the cohorts were closed before its group was judged")
        for closed in self._closed.values():
            _stop(closed.timer)
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

    def _bind(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._loop is not None and not self._loop.is_closed() and (self._open or self._judging):
            raise CalipersError("all members must join in one event loop, and other members are waiting in another one")
        # The previous loop has ended, and with it every caller that waited in it.
        self._open.clear()
        self._closed.clear()
        self._judging.clear()
        self._loop = loop

    def _pending(self, key: Hashable, size: int | None) -> PendingGroup:
        wanted = self._size if size is None else size
        if key not in self._open:
            require_whole(size=wanted)
            require_above_zero(size=wanted)
            self._open[key] = fresh = PendingGroup(wanted)
            if self._limit is not None:
                fresh.ends = asyncio.get_running_loop().time() + self._limit
            if self._deadline is not None:
                fresh.timer = self._later(self._deadline, partial(self._close, key, fresh))
        pending = self._open[key]
        if pending.size != wanted:
            group = f"group {name_of_key(key)!r}"
            raise InputError(f"{group} has {pending.size} members, but this member joins a group of {wanted}")
        return pending

    def _late(self, key: Hashable, name: str) -> str | None:
        """Return why a member is too late for the last group of its key, or None if a group can still take the
        member.
        """
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

    def _remember(self, key: Hashable, closed: ClosedGroup) -> None:
        self._closed[key] = closed
        closed.timer = self._later(self._grace, partial(self._forget, key, closed))
        while len(self._closed) > self._remembered:
            oldest = next(iter(self._closed))
            self._forget(oldest, self._closed[oldest])

    def _forget(self, key: Hashable, closed: ClosedGroup) -> None:
        _stop(closed.timer)
        if self._closed.get(key) is closed:
            del self._closed[key]

    @contextmanager
    def _lost_if_raised(self, key: Hashable, pending: PendingGroup, *, comes_again: bool) -> Iterator[None]:
        """Count a member as lost if it cannot enter: its siblings need not wait for it, unless it comes again."""
        try:
            yield
        except Exception as error:
            if isinstance(error, CalipersError) or not comes_again:
                self._lost(key, pending)
            raise

    def _needed(self, pending: PendingGroup) -> int:
        return min(self._quorum, pending.size)

    def _lost(self, key: Hashable, pending: PendingGroup) -> None:
        pending.lost += 1
        self._judge_if_complete(key, pending)

    def _judge_if_complete(self, key: Hashable, pending: PendingGroup) -> None:
        if pending.missing <= 0 or pending.size - pending.lost < self._needed(pending):
            self._close(key, pending)

    def _withdraw(self, key: Hashable, pending: PendingGroup, number: int) -> None:
        if self._open.get(key) is pending:
            del pending.members[number]
            self._lost(key, pending)
            return
        for task, one in self._judging.items():
            if one is pending and all(member.result.done() for member in one.members.values()):
                task.cancel()  # no caller waits for the answer any longer

    def _close(self, key: Hashable, pending: PendingGroup) -> None:
        """Judge the group, or give it up if it has too few members. In both cases the group takes no more members."""
        del self._open[key]
        if self._on_closed is not None:
            self._on_closed(key)
        _stop(pending.timer)
        arrived, needed = len(pending.members), self._needed(pending)
        if pending.missing > 0:
            reason = _LATE if arrived >= needed else _TOO_LATE
            self._remember(key, ClosedGroup(pending.missing, pending.ids, reason))
        if arrived < needed:
            rest = f"{pending.lost} lost and {pending.missing} still missing"
            why = f"too few members of its group arrived to judge it: {arrived} of {pending.size}, with {rest}"
            self._give_up(pending.name or name_of_key(key), pending, why)
            return
        task = asyncio.get_running_loop().create_task(self._ask(pending))
        self._judging[task] = pending
        task.add_done_callback(self._done)

    async def _ask(self, pending: PendingGroup) -> None:
        members, group = assembled_group(pending)
        limited = asyncio.timeout_at(pending.ends)
        try:
            async with limited:
                results = member_results(await self._judge(group), len(members), self._needed(pending))
        except Exception as error:  # noqa: BLE001 - raised in every member that waits
            if limited.expired():
                self._give_up(group.group_id, pending, f"its group was not judged within {self._limit:g} seconds")
                return
            for member in members:
                if not member.result.done():
                    member.result.set_exception(error)
            return
        for member, found in zip(members, results, strict=True):
            if not member.result.done():
                member.result.set_result(found)

    def _give_up(self, name: str, pending: PendingGroup, why: str) -> None:
        pending.give_no_reward(why)
        if self._on_lost is not None:
            self._on_lost(name, why)

    def _done(self, task: asyncio.Task[None]) -> None:
        pending = self._judging.pop(task, None)
        if pending is not None:
            pending.give_no_reward("the judging of its group was cancelled")


def _stop(timer: Timer | None) -> None:
    if timer is not None:
        timer.cancel()
