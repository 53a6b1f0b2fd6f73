"""Cohorts: rollouts that are seen one at a time, brought together and judged as one group.

For engines whose workers score each rollout by itself: every worker joins under its prompt's key and waits for its own
share of one judgment. All of it happens in one process and one event loop. Not responsible for how an engine reaches it,
for what a missing reward is to that engine (its own module), or for judging.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, Self

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.judging.preparing import Preparing
from calipers.trainers.cohorts.pending import (
    UNNAMED,
    Gathering,
    Judged,
    Member,
    MemberResult,
    Timer,
    as_judged,
    place_of,
    read_head,
    read_member,
)
from calipers.trainers.no_signal.rewards import rows
from calipers.types import GroupResult, Trajectory, TrajectoryGroup

__all__ = ["Cohorts", "GroupJudge", "Later", "MemberResult"]

GroupJudge = Callable[[TrajectoryGroup], Awaitable[GroupResult]]
"""What judges a whole group: ``Judge.score_group``, say. One result a trajectory, in the group's order."""

Later = Callable[[float, Callable[[], object]], Timer]
"""``(seconds, function)``: calls the function that much later, in the running event loop."""

_GRACE: Final = 600.0
_LATE: Final = "it came after its group had been judged without it"
_TOO_LATE: Final = "it came after too few of its group had, and the group was given up"


def _call_later(seconds: float, function: Callable[[], object]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, function)


class Cohorts:
    """Rollouts gathered by key; each group is judged once, when it is whole or its deadline has passed.

    ``judge`` is given the group. ``size`` is how many members a group has unless ``join`` says otherwise. ``deadline``, in
    seconds from the group's first sign of life, ends the waiting: with at least ``quorum`` members the group is then judged
    as it is. With fewer, or with fewer of them scored, none gets a reward: engines make much of a lone one. Without a
    deadline (None) a group waits until each member has come or is told to be lost. ``grace``, in seconds from the deadline,
    is how long a key still waits for the members that were missing, so that they are not taken for the next group of the
    same prompt (default: as long as the deadline); no more than ``remembered`` such keys are kept. ``later`` puts a call
    off, and is there for tests.

    A key is free for the next group as soon as all members of the one before have come, are known to be lost, or are past
    grace. A key that no other group ever has (a ``uid``) is best. Belongs to one event loop at a time.

    ``lost`` is told of every group that is given up before it is judged: its name, and why.

    With ``preparing`` (``Judge.preparing``, ``Hybrid.preparing``) what can be done about a rollout is done when it comes,
    while its siblings still roll out, and the judge is asked that much sooner after the last one.
    """

    def __init__(  # noqa: PLR0913 - constructor arguments are the configuration
        self,
        judge: GroupJudge,
        *,
        size: int,
        preparing: Preparing | None = None,
        quorum: int = 2,
        deadline: float | None = 600.0,
        grace: float | None = None,
        remembered: int = 4096,
        later: Later = _call_later,
        lost: Callable[[str, str], object] | None = None,
    ) -> None:
        require_callable(judge=judge, preparing=preparing, lost=lost)
        require_whole(size=size, quorum=quorum, remembered=remembered)
        require_above_zero(size=size, quorum=quorum, remembered=remembered, deadline=deadline, grace=grace)
        self._judge, self._size, self._quorum = judge, size, quorum
        self._preparing, self._tell_lost = preparing, lost
        self._deadline, self._grace = deadline, grace or deadline or _GRACE
        self._remembered, self._later = remembered, later
        self._open: dict[Hashable, Gathering] = {}
        self._judged: OrderedDict[Hashable, Judged] = OrderedDict()
        self._judging: dict[asyncio.Task[None], Gathering] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def join(
        self, key: Hashable, member: object, *, size: int | None = None, group: Mapping[str, Any] | None = None
    ) -> MemberResult:
        """Bring a rollout to its group, wait until the group is judged, and return this rollout's share.

        ``member`` is a trajectory in any form a group may hold. It is read at once, and not again: one that cannot be read,
        or says nothing, gets its reason without waiting, and its siblings do not wait for it. ``group`` holds what the whole group
        has in common, as in a groups file (``context``, ``tools``, ``rubric``, ``group_id``), and is the same for each.

        A member that comes when its group has been judged without it gets no reward. One whose caller is cancelled leaves,
        and is not waited for. Raises InputError for a second member of the same id, for another ``size`` or ``group`` than
        its siblings', and for a ``group`` that cannot be read; and whatever ``judge`` or ``preparing`` raises.
        """
        self._bind()
        trajectory, unfit = read_member(member)
        if late := self._late(key, trajectory.id):
            return MemberResult(None, late)
        gathering = self._gathering(key, size)
        if unfit is not None:
            self._lost(key, gathering)
            return MemberResult(None, unfit)
        self._check_kin(key, gathering, trajectory, group or {})
        try:
            ready = gathering.prepare(trajectory)
        except Exception:
            self._lost(key, gathering)
            raise
        number, gathering.came = gathering.came, gathering.came + 1
        promised = asyncio.get_running_loop().create_future()
        waiting = gathering.members[number] = Member(ready, promised, place_of(ready))
        self._settle(key, gathering)
        try:
            return await waiting.share
        except asyncio.CancelledError:
            self._withdraw(key, gathering, number)
            raise

    def lose(self, key: Hashable, *, size: int | None = None) -> None:
        """Tell the group that one of its members will not come: the others do not wait for it."""
        self._bind()
        if not self._late(key, UNNAMED):
            self._lost(key, self._gathering(key, size))

    @asynccontextmanager
    async def seat(
        self, key: Hashable, *, size: int | None = None, group: Mapping[str, Any] | None = None
    ) -> AsyncIterator[Callable[[object], Awaitable[MemberResult]]]:
        """Hold a member's place while it rolls out: yields its ``join``, and tells the group when it never comes to that."""
        taken = False

        async def join(member: object) -> MemberResult:
            nonlocal taken
            taken = True
            return await self.join(key, member, size=size, group=group)

        try:
            yield join
        finally:
            if not taken:
                self.lose(key, size=size)

    @property
    def waiting(self) -> int:
        """How many members wait for their groups, or for the judge."""
        waiting = (*self._open.values(), *self._judging.values())
        return sum(not member.share.done() for one in waiting for member in one.members.values())

    async def aclose(self) -> None:
        """End the waiting of all: who is not judged yet gets no reward. No task or timer is left behind."""
        for gathering in self._open.values():
            _stop(gathering.timer)
            gathering.tell("the gathering of groups was closed")
        for judged in self._judged.values():
            _stop(judged.timer)
        self._open.clear()
        self._judged.clear()
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
            raise CalipersError("the members of a group must join in one event loop, and others wait in another one")
        # The loop before has ended, and with it everyone who waited there.
        self._open.clear()
        self._judged.clear()
        self._judging.clear()
        self._loop = loop

    def _gathering(self, key: Hashable, size: int | None) -> Gathering:
        wanted = self._size if size is None else size
        if key not in self._open:
            require_whole(size=wanted)
            require_above_zero(size=wanted)
            self._open[key] = fresh = Gathering(wanted)
            if self._deadline is not None:
                fresh.timer = self._later(self._deadline, partial(self._begin, key, fresh))
        gathering = self._open[key]
        if gathering.size != wanted:
            raise InputError(f"group {key!r} has {gathering.size} members, and here is one of a group of {wanted}")
        return gathering

    def _late(self, key: Hashable, name: str) -> str | None:
        """Why a member comes too late for the group that had this key, or None where a group can still take it."""
        judged = self._judged.get(key)
        if judged is None:
            return None
        if name in judged.ids:  # it was there: this is the next group of the same prompt
            self._forget(key, judged)
            return None
        judged.missing -= 1
        if judged.missing == 0:
            self._forget(key, judged)
        return judged.reason

    def _remember(self, key: Hashable, judged: Judged) -> None:
        self._judged[key] = judged
        judged.timer = self._later(self._grace, partial(self._forget, key, judged))
        while len(self._judged) > self._remembered:
            oldest = next(iter(self._judged))
            self._forget(oldest, self._judged[oldest])

    def _forget(self, key: Hashable, judged: Judged) -> None:
        _stop(judged.timer)
        if self._judged.get(key) is judged:
            del self._judged[key]

    def _check_kin(self, key: Hashable, gathering: Gathering, trajectory: Trajectory, group: Mapping[str, Any]) -> None:
        try:
            head = read_head(group, trajectory)
            if gathering.head is None and self._preparing is not None:
                gathering.prepare = self._preparing(head)
        except Exception:
            self._lost(key, gathering)
            raise
        if gathering.head is None:
            gathering.head = head
        elif gathering.head != head:
            raise InputError(f"group {key!r} has members with another context, tools, rubric or id than this one's")
        if trajectory.id in gathering.ids:
            raise InputError(f"group {key!r} already has a member with the id {trajectory.id!r}")

    def _needed(self, gathering: Gathering) -> int:
        return min(self._quorum, gathering.size)

    def _lost(self, key: Hashable, gathering: Gathering) -> None:
        gathering.lost += 1
        self._settle(key, gathering)

    def _settle(self, key: Hashable, gathering: Gathering) -> None:
        if gathering.missing <= 0 or gathering.size - gathering.lost < self._needed(gathering):
            self._begin(key, gathering)

    def _withdraw(self, key: Hashable, gathering: Gathering, number: int) -> None:
        if self._open.get(key) is gathering:
            del gathering.members[number]
            self._lost(key, gathering)
            return
        for task, one in self._judging.items():
            if one is gathering and all(member.share.done() for member in one.members.values()):
                task.cancel()  # nobody is left who would take the answer

    def _begin(self, key: Hashable, gathering: Gathering) -> None:
        """Judge it as it is, or give it up: either way it takes no more members."""
        del self._open[key]
        _stop(gathering.timer)
        came, needed = len(gathering.members), self._needed(gathering)
        if gathering.missing > 0:
            reason = _LATE if came >= needed else _TOO_LATE
            self._remember(key, Judged(gathering.missing, gathering.ids, reason))
        if came < needed:
            out = f"{gathering.lost} lost and {gathering.missing} still out"
            why = f"too few of its group came to judge it: {came} of {gathering.size}, with {out}"
            gathering.tell(why)
            if self._tell_lost is not None:
                self._tell_lost(gathering.name or str(key), why)
            return
        task = asyncio.get_running_loop().create_task(self._ask(gathering))
        self._judging[task] = gathering
        task.add_done_callback(self._done)

    async def _ask(self, gathering: Gathering) -> None:
        members, group = as_judged(gathering)
        try:
            shares = _shares(await self._judge(group), len(members), self._needed(gathering))
        except Exception as error:  # noqa: BLE001 - it is everyone's who waits, and is raised there
            for member in members:
                if not member.share.done():
                    member.share.set_exception(error)
            return
        for member, share in zip(members, shares, strict=True):
            if not member.share.done():
                member.share.set_result(share)

    def _done(self, task: asyncio.Task[None]) -> None:
        gathering = self._judging.pop(task, None)
        if gathering is not None:
            gathering.tell("the judging of its group was cancelled")


def _shares(result: GroupResult, count: int, needed: int) -> list[MemberResult]:
    if len(result.trajectories) != count:
        raise ConfigError(f"the judge returned {len(result.trajectories)} results for a group of {count}")
    rewards = rows(result)
    scored = count - rewards.count(None)
    few = f"too few of its group were scored: {scored} of {count}" if scored < needed else None
    return [
        MemberResult(None, f"{row.status}: {row.reason}", row, result, 0 if few else scored)
        if reward is None
        else MemberResult(None if few else reward, few, row, result, 0 if few else scored)
        for row, reward in zip(result.trajectories, rewards, strict=True)
    ]


def _stop(timer: Timer | None) -> None:
    if timer is not None:
        timer.cancel()
