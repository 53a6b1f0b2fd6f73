"""Rollouts of groups that several servers gather together in their ledger: each group is judged once, by one of them.

A rollout is recorded when it arrives. The server that records a group's last one judges the group, and the callers of
the others wait until the ledger has its result. If that server ends in the middle, another one judges the group. For
ledgers that only one server may have, see ``rollouts``. Not responsible for the database (``ledger.gatherings``).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from calipers.errors import LedgerError
from calipers.judging.preparing import EarlySearch, Prepare
from calipers.ledger.gatherings import Arrival, Closed, Gatherings, Joined
from calipers.server.agreement import known_answer, other_group, require_same, shared_of, size_conflict, trajectory_of
from calipers.server.answered import AnsweredGroup, AnsweredGroups, recorded_name
from calipers.server.answers import late_answer, lost_answer
from calipers.server.digests import digest
from calipers.server.forms import Rollout, RolloutAnswer
from calipers.server.gathered import HowJudged, answer_for, read_shared, shared_as_sent
from calipers.server.problems import RefusalError, draining, invalid
from calipers.server.room import Room
from calipers.server.shared_judging import Judging
from calipers.types import Trajectory
from calipers.types.encoding import to_json

_log = logging.getLogger("calipers.server")

_POLL: Final = 0.05
"""Seconds between two looks for the results of groups that other servers judge."""
_SHARE: Final = 2
"""A look is followed by a pause of so many times its duration, so that many waiting groups do not load the database."""
_DUE_EVERY: Final = 0.5
"""Seconds between two looks for deadlines that have passed, and for servers that have ended."""
_AFTER_ERROR: Final = 1.0
_AT_ONCE: Final = 256
_MOST_DUE: Final = 32

_Head: TypeAlias = "tuple[str, int, bytes]"
_Identity: TypeAlias = "tuple[str, int, bytes, int, bytes]"


@dataclass(slots=True)
class _Group:
    """A group as this server knows it: one name, size, and digest of what its rollouts share.

    ``shared`` is that as sent. ``begun``: it was gathered when this server looked last.
    """

    size: int
    shared: bytes
    prepare: Prepare
    refusal: RefusalError | None
    begun: bool = False
    held: int = 0
    members: dict[_Identity, asyncio.Task[RolloutAnswer]] = field(default_factory=dict)
    prepared: dict[tuple[int, bytes], Trajectory] = field(default_factory=dict)


@dataclass(slots=True)
class _Wait:
    """The wait for the end of a gathering; its result is why the group was not judged, or None if it was."""

    number: int
    end: asyncio.Future[str | None]


class SharedRollouts:
    """A tenant's rollouts on one of several servers with the same ledger; otherwise as ``rollouts.Rollouts``.

    ``wait`` is in seconds from a group's first rollout, on any server, until it is judged incomplete.
    """

    def __init__(
        self,
        gatherings: Gatherings,
        answered: AnsweredGroups,
        room: Room,
        early: EarlySearch,
        how: HowJudged,
        *,
        wait: float,
    ) -> None:
        self._gatherings, self._answered, self._room, self._early = gatherings, answered, room, early
        self._how, self._seconds = how, wait
        self._judging = Judging(gatherings, answered, how, on_end=self._finish)
        self._groups: dict[_Head, _Group] = {}
        self._arriving: list[tuple[Arrival, asyncio.Future[Joined]]] = []
        self._waits: dict[str, _Wait] = {}
        self._joining: asyncio.Task[None] | None = None
        self._tending: asyncio.Task[None] | None = None
        self._draining = False
        self.repeated = 0
        self.late = 0

    @property
    def gathering(self) -> int:
        """Return the number of groups whose rollouts wait at this server, or that it judges."""
        return len({name for name, _, _ in self._groups} | self._judging.names)

    def start(self) -> None:
        """Begin to judge groups whose deadline has passed or whose server has ended. Needs a running event loop."""
        if self._tending is None:
            self._tending = asyncio.get_running_loop().create_task(self._tend())

    async def answer(self, rollout: Rollout, size: int) -> RolloutAnswer:
        """Return the answer for a rollout, whose request has ``size`` bytes, when a server has judged its group.

        Cancelling this leaves the rollout in its group. Raises RefusalError for a rollout that contradicts its
        siblings, or for which the server has no room; InputError for one that cannot be read; and what the judge
        raises.
        """
        if rollout.index >= rollout.group_size:
            raise invalid(f"index {rollout.index} is not below group_size {rollout.group_size}; it counts from 0")
        self.start()
        latest = self._answered.latest((rollout.run, rollout.group_id))
        if latest is not None:
            return self._known(rollout, latest)
        name = recorded_name(rollout.run, rollout.group_id)
        head = name, rollout.group_size, digest(shared_of(rollout))
        seen = digest(rollout.messages)
        identity = (*head, rollout.index, seen)
        if self._member(head, identity) is None:
            trajectory = trajectory_of(rollout)
            await self._early.search(trajectory.messages)
            if self._member(head, identity) is None:
                self._enter(head, identity, rollout, trajectory, size)
        else:
            self.repeated += 1
        member = self._member(head, identity)
        assert member is not None  # noqa: S101 - entered above
        return await asyncio.shield(member)

    def _member(self, head: _Head, identity: _Identity) -> asyncio.Task[RolloutAnswer] | None:
        group = self._groups.get(head)
        return None if group is None else group.members.get(identity)

    def _enter(self, head: _Head, identity: _Identity, rollout: Rollout, trajectory: Trajectory, size: int) -> None:
        """Begin to settle a rollout. The database finds what contradicts another rollout, here or elsewhere."""
        group = self._groups.get(head)
        if group is None:
            shared = shared_as_sent(rollout)
            prepare = self._how.preparing(read_shared(shared))
            group = _Group(rollout.group_size, shared, prepare, self._room.refusal(rollout.group_size))
        ready = group.prepare(replace(trajectory, id=str(rollout.index))) if trajectory.messages else None
        self._room.hold(size, held=group.held)
        if head not in self._groups:
            self._groups[head] = group
            self._room.take(group.size)
        group.held += size
        if ready is not None:
            group.prepared[identity[3:]] = ready
        member = asyncio.get_running_loop().create_task(self._settled(head, group, rollout, identity[4]))
        group.members[identity] = member
        member.add_done_callback(lambda _: self._leave(head, group, identity, member))

    def _leave(self, head: _Head, group: _Group, identity: _Identity, member: asyncio.Task[RolloutAnswer]) -> None:
        if not member.cancelled():
            member.exception()  # its caller may have left
        del group.members[identity]
        if not group.members:
            del self._groups[head]
            self._room.release(group.size, group.held)

    async def _settled(self, head: _Head, group: _Group, rollout: Rollout, seen: bytes) -> RolloutAnswer:
        """Return the answer for a rollout, which is recorded again if its group was forgotten before it was judged."""
        name, key, replaces = head[0], (rollout.run, rollout.group_id), False
        while True:
            begins = not group.begun
            arrival = self._arrival(head, group, rollout, seen, replaces=replaces)
            joined = await self._join(arrival)
            if joined.refused == "absent":
                if begins and group.refusal is not None:
                    raise group.refusal
                group.begun = False
                continue
            group.begun = not joined.recorded and joined.refused is None
            found = _told(rollout, joined)
            if found is not None:
                self.late += found.status == "late"
                return found
            if not joined.recorded and (why := await self._end_of(name, joined.number)) is not None:
                return answer_for(why, rollout)
            answered = await self._answered.find(key)
            if answered is not None:
                return self._known(rollout, answered)
            replaces, group.begun = joined.recorded, False

    def _arrival(self, head: _Head, group: _Group, rollout: Rollout, seen: bytes, *, replaces: bool) -> Arrival:
        return Arrival(
            name=head[0],
            size=group.size,
            seen_shared=head[2],
            shared=None if group.begun or group.refusal is not None else group.shared,
            place=rollout.index,
            seen=seen,
            body=to_json(rollout.messages) if rollout.messages else None,
            wait=self._seconds,
            needed=min(self._how.quorum, group.size),
            replaces=replaces,
        )

    def _known(self, rollout: Rollout, answered: AnsweredGroup) -> RolloutAnswer:
        found = known_answer(rollout, answered)
        if found is None:
            self.late += 1
            return late_answer(rollout.group_id, rollout.index)
        self.repeated += 1
        return found

    async def _join(self, arrival: Arrival) -> Joined:
        """Record an arrival; those that come during one transaction share the next."""
        joined: asyncio.Future[Joined] = asyncio.get_running_loop().create_future()
        self._arriving.append((arrival, joined))
        if self._joining is None or self._joining.done():
            self._joining = asyncio.get_running_loop().create_task(self._join_all())
        return await joined

    async def _join_all(self) -> None:
        while self._arriving:
            batch, self._arriving = self._arriving[:_AT_ONCE], self._arriving[_AT_ONCE:]
            try:
                found = await self._gatherings.join([arrival for arrival, _ in batch])
            except Exception as error:  # noqa: BLE001 - raised in everyone who waits for it
                for _, joined in batch:
                    if not joined.done():
                        joined.set_exception(error)
                continue
            for closed in found.closed:
                self._judge(closed)
            for (_, joined), one in zip(batch, found.joined, strict=True):
                if not joined.done():
                    joined.set_result(one)

    async def _end_of(self, name: str, number: int) -> str | None:
        """Wait for the end of a gathering; return why the group was not judged, or None if it was."""
        if self._draining and name not in self._judging.names:
            raise draining()
        wait = self._waits.get(name)
        if wait is not None and wait.number != number:
            self._finish(name, None)  # that gathering has been forgotten; its rollouts look again
            wait = None
        if wait is None:
            wait = self._waits[name] = _Wait(number, asyncio.get_running_loop().create_future())
        return await asyncio.shield(wait.end)

    def _finish(self, name: str, end: str | Exception | None) -> None:
        """Tell those who wait at this server that the group was judged (None), why it was not, or what was raised."""
        wait = self._waits.pop(name, None)
        if wait is None:
            return
        if isinstance(end, Exception):
            wait.end.set_exception(end)
            wait.end.exception()  # its callers may have left
        else:
            wait.end.set_result(end)

    def _judge(self, closed: Closed) -> None:
        group = self._groups.get((closed.name, closed.size, closed.seen_shared))
        self._judging.begin(closed, {} if group is None else group.prepared)

    async def _tend(self) -> None:
        """Look for the ends of gatherings, and for groups that this server should judge, until it is closed."""
        clock = asyncio.get_running_loop().time
        due, pause = 0.0, _POLL
        while True:
            await asyncio.sleep(pause)
            began = clock()
            try:
                waiting = {name: one.number for name, one in self._waits.items() if name not in self._judging.names}
                for one in await self._gatherings.ended(waiting) if waiting else ():
                    self._finish(one.name, one.why)
                pause = max(_POLL, _SHARE * (clock() - began) if waiting else 0.0)
                if clock() >= due and not self._draining:
                    due = clock() + _DUE_EVERY
                    for closed in await self._gatherings.close_due(_MOST_DUE):
                        self._judge(closed)
            except LedgerError as error:  # nothing is lost: those who wait go on waiting until it is back
                _log.warning("groups that arrive at several servers wait for the ledger: %s", error)
                pause = _AFTER_ERROR
            except Exception:  # noqa: BLE001 - a fault of ours must not leave everyone waiting
                _log.exception("groups that arrive at several servers: the server failed")
                pause = _AFTER_ERROR

    def drain(self) -> None:
        """Ask the callers of groups that this server does not judge to come again: it is about to end."""
        self._draining = True
        for name in self._waits.keys() - self._judging.names:
            self._finish(name, draining())

    async def finish(self) -> None:
        """Wait until this server judges no group any more."""
        await self._judging.finish()

    async def aclose(self) -> None:
        """Release all callers. Groups that this server was judging are judged by another one."""
        for task in (self._tending, self._joining):
            if task is not None:
                task.cancel()
        await self._judging.aclose()
        for group in list(self._groups.values()):
            for member in list(group.members.values()):
                member.cancel()


def _told(rollout: Rollout, joined: Joined) -> RolloutAnswer | None:
    """Return the answer for a rollout if the arrival says it already. Raises RefusalError for one that was refused."""
    match joined.refused:
        case "size":
            raise size_conflict(rollout, joined.known_size)
        case "shared":
            raise other_group(rollout)
        case "messages":
            require_same(rollout, same=False)
    if joined.recorded:
        return None
    if not rollout.messages and (joined.late or joined.ended is None):
        return lost_answer(rollout.group_id, rollout.index)
    if joined.late:
        return late_answer(rollout.group_id, rollout.index)
    if joined.ended is not None:
        return answer_for(joined.ended, rollout)
    return None
