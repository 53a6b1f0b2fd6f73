"""Whole groups: one request, one result, judged once however often it is sent."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

from calipers.inputs import as_group
from calipers.ledger import group_digest
from calipers.server.answered import RecordedGroups, marked_group, shown_result
from calipers.server.room import Room, conflict
from calipers.types import GroupResult, TrajectoryGroup
from calipers.types.encoding import to_json

Score: TypeAlias = Callable[[TrajectoryGroup], Awaitable[GroupResult]]
Key: TypeAlias = tuple[str, str]


class WholeGroups:
    """A tenant's whole groups on the server. ``score`` judges one; ``room`` bounds how many rollouts may wait.

    The results of the latest ``remembered`` groups are held in memory.
    """

    def __init__(self, score: Score, recorded: RecordedGroups, room: Room, *, remembered: int = 512) -> None:
        self._score, self._recorded, self._room, self._remembered = score, recorded, room, remembered
        self._judging: dict[Key, tuple[str, asyncio.Task[bytes]]] = {}
        self._latest: OrderedDict[Key, tuple[str, bytes]] = OrderedDict()
        self.repeated = 0

    @property
    def judging(self) -> int:
        """Return the number of the server's whole groups that are being judged."""
        return len(self._judging)

    async def answer(self, body: dict[str, Any], size: int) -> bytes:
        """Return a group's result as JSON. ``body`` is the object of a request of ``size`` bytes.

        Cancelling this leaves the group with the judge. Raises RefusalError for another group of the same id and for a
        full server, InputError for a group that cannot be read, and what the judge raises.
        """
        run = body.get("run", "")
        group = as_group({name: value for name, value in body.items() if name != "run"})
        key, seen = (run, group.group_id), group_digest(group)
        known = self._judging.get(key)
        if known is None:
            finished = self._latest.get(key) or await self._found(key)
            if finished is not None:
                _require_same(group.group_id, same=finished[0] == seen)
                self.repeated += 1
                return finished[1]
            known = self._judging.get(key)  # the same request may have come again while the ledger was read
        if known is None:
            known = self._begun(key, seen, group, size)
        else:
            _require_same(group.group_id, same=known[0] == seen)
            self.repeated += 1
        return await asyncio.shield(known[1])

    async def _found(self, key: Key) -> tuple[str, bytes] | None:
        """Return the digest and the result of a group that the server's ledger holds, or None."""
        found = await self._recorded.find(*key)
        if found is None:
            return None
        source = found.group.to_dict()
        group = as_group(shown_result(source, key[1]))
        return group_digest(group), to_json(shown_result(found.result, key[1]))

    async def finish(self) -> None:
        """Wait until the server judges no whole group any more."""
        while self._judging:
            await asyncio.wait([task for _, task in self._judging.values()])

    def _begun(self, key: Key, seen: str, group: TrajectoryGroup, size: int) -> tuple[str, asyncio.Task[bytes]]:
        members = len(group.trajectories)
        self._room.admit(members)
        self._room.hold(size, members=members)
        task = asyncio.get_running_loop().create_task(self._judged(key, group))
        self._judging[key] = seen, task
        task.add_done_callback(partial(self._done, key, seen, members, size))
        return self._judging[key]

    async def _judged(self, key: Key, group: TrajectoryGroup) -> bytes:
        result = await self._score(marked_group(group, key[0]))
        return to_json(shown_result(result.to_dict(), key[1]))

    def _done(self, key: Key, seen: str, members: int, size: int, task: asyncio.Task[bytes]) -> None:
        del self._judging[key]
        self._room.release(members, size)
        if task.cancelled() or task.exception() is not None:
            return  # nothing was answered, so the group may come again
        self._latest[key] = seen, task.result()
        if len(self._latest) > self._remembered:
            for _ in range(max(1, self._remembered // 8)):
                self._latest.popitem(last=False)


def _require_same(group_id: str, *, same: bool) -> None:
    if not same:
        raise conflict(f"group {group_id!r} was sent before with other content; a group_id names one group of its run")
