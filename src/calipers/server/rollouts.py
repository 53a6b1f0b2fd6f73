"""Rollouts that arrive one at a time under the id of their group: each is judged once, however often it is sent.

A rollout stays in its group when its caller leaves, because the caller may come again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from calipers.judging.preparing import EarlySearch
from calipers.server.answered import (
    MARK,
    NOBODY,
    AnsweredGroup,
    AnsweredGroups,
    answer_of,
    digest,
    digest_of_shared,
    known_answer,
    late_answer,
    mark,
    other_group,
    recorded_name,
    require_same,
    shared_of,
    size_conflict,
    trajectory_of,
)
from calipers.server.forms import Rollout, RolloutAnswer
from calipers.server.room import Room, draining, invalid
from calipers.trainers.cohorts import Cohorts, MemberResult, read_common_fields
from calipers.types import Trajectory, TrajectoryGroup

Key: TypeAlias = tuple[str, str]
"""The run and the id of a group."""

_ROUTING: Final = (
    "if several servers share the ledger, a proxy must send all requests for a group to the same one: route them by "
    "the header X-Group-Id"
)

MakeCohorts: TypeAlias = Callable[[Callable[[Hashable], object]], Cohorts]


@dataclass(slots=True)
class _Member:
    """A rollout of a group: the digest of its messages, the future of its result, and what its callers wait for.

    ``answer`` is set with the result of the whole group.
    """

    seen: bytes
    result: asyncio.Future[MemberResult]
    answer: RolloutAnswer | None = None
    callers: list[asyncio.Future[None]] = field(default_factory=list)

    async def finished(self) -> MemberResult:
        """Return the result when it is there. Cancelling this leaves the rollout in its group.

        ``asyncio.shield`` would do the same, for twice the CPU.
        """
        if not self.result.done():
            caller: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.callers.append(caller)
            try:
                await caller
            finally:
                self.callers.remove(caller)
        return self.result.result()

    def wake(self, _: object) -> None:
        """Wake the callers that wait for the result."""
        for caller in self.callers:
            if not caller.done():
                caller.set_result(None)


@dataclass(slots=True)
class _Gathering:
    """A group whose rollouts arrive, under ``key``.

    ``raw`` is the digest of what they share, as sent; ``common`` is that as it was read.
    """

    size: int
    key: Key
    raw: bytes
    common: TrajectoryGroup
    members: dict[int, _Member] = field(default_factory=dict)
    held: int = 0
    counted: int = 0


class Rollouts:
    """A tenant's rollouts on the server. ``room`` bounds how many may wait.

    ``cohorts`` makes the cohorts that judge their groups; it gets the function to call with the key of a group that
    takes no more rollouts. ``early`` searches rollouts that arrive together. ``routed``: a proxy must send all rollouts
    of a group to one of several servers; the reason why an incomplete group has no rewards says so.

    ``repeated`` and ``late`` count requests for rollouts that were there already, and rollouts that came too late.
    """

    def __init__(
        self, cohorts: MakeCohorts, answered: AnsweredGroups, room: Room, early: EarlySearch, *, routed: bool = False
    ) -> None:
        self._routed = routed
        self._cohorts, self._answered, self._room = cohorts(self._closed), answered, room
        self._early = early
        self._open: dict[Key, _Gathering] = {}
        self._arriving: Counter[Key] = Counter()
        self._draining = False
        self.repeated = 0
        self.late = 0

    @property
    def gathering(self) -> int:
        """Return the number of the server's groups that are gathering rollouts, or being judged."""
        return len(self._open)

    async def answer(self, rollout: Rollout, size: int) -> RolloutAnswer:
        """Return the answer for a rollout, whose request has ``size`` bytes, when its group has been judged.

        Cancelling this leaves the rollout in its group. Raises RefusalError for a rollout that contradicts its
        siblings, or for which the server has no room; InputError for one that cannot be read; and what the judge
        raises.
        """
        if rollout.index >= rollout.group_size:
            raise invalid(f"index {rollout.index} is not below group_size {rollout.group_size}; it counts from 0")
        key = (rollout.run, rollout.group_id)
        answered = None if key in self._open or key in self._arriving else await self._answered.find(key)
        trajectory = None
        if answered is None and self._is_new(key, rollout):
            trajectory = trajectory_of(rollout)
            await self._searched(key, trajectory)
            answered = self._answered.latest(key)  # the group may have been judged, or given up, during the search
        found = self._placed(key, rollout, trajectory, size, answered)
        if isinstance(found, RolloutAnswer):
            return found
        result = await found.finished()
        return found.answer or answer_of(rollout.group_id, rollout.index, result)

    def is_whole(self, group: TrajectoryGroup) -> bool:
        """Whether every rollout of a group that is judged now came here, or was reported lost."""
        served = group.extra[MARK]
        gathering = self._open[served["run"], served["group_id"]]
        return len(gathering.members) == gathering.size

    async def _searched(self, key: Key, trajectory: Trajectory) -> None:
        """Search a rollout. Meanwhile its siblings need not look in the ledger for their group: it is not there."""
        self._arriving[key] += 1
        try:
            await self._early.search(trajectory.messages)
        finally:
            self._arriving[key] -= 1
            if not self._arriving[key]:
                del self._arriving[key]

    def _is_new(self, key: Key, rollout: Rollout) -> bool:
        gathering = self._open.get(key)
        return gathering is None or rollout.index not in gathering.members

    def _placed(
        self, key: Key, rollout: Rollout, trajectory: Trajectory | None, size: int, answered: AnsweredGroup | None
    ) -> _Member | RolloutAnswer:
        """Return the rollout as a member of its group, or its answer if that is known already.

        ``answered`` is the group if it is not open and has been answered.
        """
        gathering = self._open.get(key)
        if gathering is None:
            if answered is not None:
                return self._known(rollout, answered)
            gathering = self._begun(key, rollout)
        seen = digest(rollout.messages)
        _require_agreeing(rollout, gathering)
        member = gathering.members.get(rollout.index)
        if member is not None:
            require_same(rollout, same=member.seen == seen)
            self.repeated += 1
            return member
        if gathering.members and not self._cohorts.is_open(key):
            if self._draining:  # the group may have been sent away just now: the next server knows if it was judged
                raise draining()
            self.late += 1
            return late_answer(rollout.group_id, rollout.index)
        return self._entered(gathering, rollout.index, trajectory or trajectory_of(rollout), seen, size)

    def drain(self) -> None:
        """Begin no group any more, also for rollouts that are being searched: the server is about to end."""
        self._draining = True

    def _begun(self, key: Key, rollout: Rollout) -> _Gathering:
        if self._draining:
            raise draining()
        named = {"group_id": recorded_name(*key), **mark(*key, rollout.group_size)}
        common = read_common_fields(shared_of(rollout) | named, NOBODY)
        self._room.admit(rollout.group_size)
        gathering = _Gathering(rollout.group_size, key, digest(shared_of(rollout)), common)
        self._open[key] = gathering
        return gathering

    def _entered(self, gathering: _Gathering, index: int, trajectory: Trajectory, seen: bytes, size: int) -> _Member:
        """Add a rollout to its group. A group without members is forgotten again if its first cannot be entered."""
        key = gathering.key
        try:
            self._room.hold(size, held=gathering.held)
            gathering.held += size
            gathering.counted += 1
            result = self._cohorts.enter(key, trajectory, size=gathering.size, group=gathering.common)
        except BaseException:
            if not gathering.members and not self._cohorts.is_open(key):
                self._forget(key, gathering)
            raise
        member = gathering.members[index] = _Member(seen, result)
        result.add_done_callback(partial(self._member_done, gathering))
        result.add_done_callback(member.wake)
        return member

    def _known(self, rollout: Rollout, answered: AnsweredGroup) -> RolloutAnswer:
        found = known_answer(rollout, answered)
        if found is None:
            self.late += 1
            return late_answer(rollout.group_id, rollout.index)
        self.repeated += 1
        return found

    def _closed(self, key: Hashable) -> None:
        """Note that a group takes no more rollouts. If all of them were reported lost, no result ends the group."""
        gathering = self._open.get(key)  # type: ignore[call-overload]  # the cohorts have no other keys
        if gathering is not None:  # the rollout that closed it is entered after this call
            asyncio.get_running_loop().call_soon(self._member_done, gathering)

    def _member_done(self, gathering: _Gathering, _: object = None) -> None:
        key, members = gathering.key, gathering.members
        if self._open.get(key) is not gathering or self._cohorts.is_open(key):
            return
        if not all(one.result.done() for one in members.values()):
            return
        self._forget(key, gathering)
        failed = [one.result.cancelled() or one.result.exception() for one in members.values()]
        if any(failed):  # nothing was answered, so the rollouts may come again
            return
        answered = {}
        for index, one in members.items():
            result = one.result.result()
            if self._routed and len(members) < gathering.size:
                result = replace(result, reason=f"{result.reason}; {_ROUTING}")
            one.answer = answer_of(key[1], index, result)
            answered[index] = one.seen, one.answer
        self._answered.add(key, AnsweredGroup(gathering.size, digest_of_shared(gathering.common), answered))

    def _forget(self, key: Key, gathering: _Gathering) -> None:
        del self._open[key]
        self._room.release(gathering.counted, gathering.held)


def _require_agreeing(rollout: Rollout, gathering: _Gathering) -> None:
    if gathering.size != rollout.group_size:
        raise size_conflict(rollout, gathering.size)
    if gathering.raw != digest(shared_of(rollout)):
        raise other_group(rollout)
