"""Rollouts of engines that name neither their group nor themselves, and may send a request again.

Two rollouts of a prompt may have the same text, so a text that comes twice need not be one rollout. Whether a caller
has left decides: a rollout whose caller left before its answer was sent has a free seat, which the same text takes
over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from calipers.server.room import Room
from calipers.trainers.cohorts import Cohorts, MemberResult
from calipers.types import TrajectoryGroup

_AGAIN: Final = 30.0
"""Seconds after a group was answered in which a rollout that has a number may be sent again."""
_LOST: Final = 600.0
"""Seconds after a group was judged in which a rollout whose answer was not sent may be sent again."""


@dataclass(slots=True, eq=False)
class Seat:
    """The place of a rollout in its group. ``number`` is None for engines that do not number rollouts.

    ``callers`` wait for the result; ``given`` is True once a caller was sent it.
    """

    seen: bytes
    number: int | None
    result: asyncio.Future[MemberResult]
    callers: int = 0
    given: bool = False

    def takes(self, seen: bytes, number: int | None) -> bool:
        """Return whether an engine's rollout that arrives now is the one that has this seat."""
        if (self.seen, self.number) != (seen, number):
            return False
        return number is not None or (self.callers == 0 and not self.given)


@dataclass(slots=True, eq=False)
class _Table:
    seats: list[Seat] = field(default_factory=list)
    held: int = 0
    counted: int = 0
    closed: bool = False
    released: bool = False
    timer: asyncio.TimerHandle | None = None


class Seats:
    """An engine's rollouts of a tenant on the server, by the key of their group.

    ``cohorts`` makes the cohorts that judge the groups; it gets the function to call with the key of a group that
    takes no more rollouts. ``room`` bounds how many may wait.
    """

    def __init__(self, cohorts: Callable[[Callable[[Hashable], object]], Cohorts], room: Room) -> None:
        self._cohorts = cohorts(self._closed)
        self._room = room
        self._tables: dict[Hashable, list[_Table]] = {}
        self.repeated = 0

    @property
    def gathering(self) -> int:
        """Return the number of the server's groups that are gathering an engine's rollouts, or being judged."""
        return sum(not table.released for tables in self._tables.values() for table in tables)

    def take(
        self,
        key: Hashable,
        member: Mapping[str, Any],
        *,
        seen: bytes,
        size: int,
        group: Mapping[str, Any] | TrajectoryGroup,
        held: int,
        number: int | None = None,
    ) -> Seat:
        """Return the seat of an engine's rollout, whose request has ``held`` bytes; its caller counts as waiting.

        Raises RefusalError for a full server, and InputError for a rollout or group that cannot be read.
        """
        for table in self._tables.get(key, ()):
            for seat in table.seats:
                if seat.takes(seen, number):
                    seat.callers += 1
                    self.repeated += 1
                    return seat
        table = self._open_table(key, size)
        try:
            self._room.hold(held, held=table.held)
            table.held += held
            table.counted += 1
            result = self._cohorts.enter(key, member, size=size, group=group)
        except BaseException:
            if not table.seats and not self._cohorts.is_open(key):
                table.closed = True
                self._review(key, table)
            raise
        table.closed = not self._cohorts.is_open(key)  # a late rollout joins no group
        seat = Seat(seen, number, result, callers=1)
        table.seats.append(seat)
        result.add_done_callback(lambda _: self._review(key, table))
        return seat

    def leave(self, key: Hashable, seat: Seat, *, given: bool) -> None:
        """Note that a caller of an engine's rollout no longer waits; ``given`` says whether it was sent the result."""
        seat.callers -= 1
        seat.given = seat.given or given
        for table in self._tables.get(key, ()):
            if seat in table.seats:
                self._review(key, table)
                return

    async def aclose(self) -> None:
        """Release all waiting rollouts of engines on the server."""
        await self._cohorts.aclose()

    def _open_table(self, key: Hashable, size: int) -> _Table:
        tables = self._tables.get(key, [])
        if tables and not tables[-1].closed:
            return tables[-1]
        self._room.admit(size)
        table = _Table()
        self._tables.setdefault(key, []).append(table)
        return table

    def _closed(self, key: Hashable) -> None:
        for table in self._tables.get(key, ()):
            if not table.closed:
                table.closed = True
                # The rollout that closed the group gets its seat after this call.
                asyncio.get_running_loop().call_soon(self._review, key, table)

    def _review(self, key: Hashable, table: _Table) -> None:
        """Free the room of a group that has its results, and forget it once nobody can come again."""
        if not table.closed or not all(seat.result.done() for seat in table.seats):
            return
        loop = asyncio.get_running_loop()
        if not table.released:
            table.released = True
            self._room.release(table.counted, table.held)
            failed = any(seat.result.cancelled() or seat.result.exception() is not None for seat in table.seats)
            if failed:  # nothing was answered, so the rollouts come again as new ones
                self._forget(key, table)
                return
            table.timer = loop.call_later(_LOST, partial(self._forget, key, table))
        if table.seats and all(seat.given for seat in table.seats):
            numbered = any(seat.number is not None for seat in table.seats)
            if numbered:
                _stop(table)
                table.timer = loop.call_later(_AGAIN, partial(self._forget, key, table))
            else:
                self._forget(key, table)
        elif not table.seats:
            self._forget(key, table)

    def _forget(self, key: Hashable, table: _Table) -> None:
        _stop(table)
        tables = self._tables.get(key, [])
        if table in tables:
            tables.remove(table)
        if not tables:
            self._tables.pop(key, None)


def _stop(table: _Table) -> None:
    if table.timer is not None:
        table.timer.cancel()
