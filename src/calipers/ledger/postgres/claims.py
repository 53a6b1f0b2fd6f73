"""One call for equal requests of several processes: who claims a request's key asks it, the others wait.

A claim is a row with the worker's number. A worker holds an advisory lock with its number while its connection lives,
so the claims of a killed process are free at once, and no clock is compared. All methods run on the ledger's thread.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, TypeAlias

import asyncpg

from calipers.errors import LedgerError
from calipers.ledger.database import Claim
from calipers.ledger.postgres.connection import Connection

Granted: TypeAlias = Future[Claim]
RELEASE: Final = "DELETE FROM claims WHERE key = ? AND worker = ?"
_POLL: Final = 0.1
"""Seconds between two looks at a request that another process asks. Judges take seconds."""
_ANSWERED: Final = "SELECT key FROM answers WHERE key = ANY($1::text[])"
_FREE: Final = (
    "INSERT INTO claims (key, worker) SELECT key, $2 FROM unnest($1::text[]) AS key ORDER BY key "
    "ON CONFLICT DO NOTHING RETURNING key"
)
_HOLDERS: Final = """SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND (classid::bigint << 32) | objid::bigint = """
_TAKE_OVER: Final = (
    "UPDATE claims SET worker = $2 WHERE key = ANY($1::text[]) AND worker <> $2 AND NOT EXISTS "  # noqa: S608 - our own
    f"({_HOLDERS} claims.worker) RETURNING key"
)
END_LOST: Final = f"SELECT pg_terminate_backend(pid) FROM ({_HOLDERS} $1) AS lost"  # noqa: S608 - our own text
"""Ends a connection of this process that the server has not noticed to be lost."""


class Claims:
    """The claims of this process in a ledger. ``begin`` must be called for each new connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._wanted: list[tuple[str, Granted]] = []
        self._task: asyncio.Task[None] | None = None
        self.worker = secrets.randbits(62)
        self.held: set[str] = set()
        """The keys that this process was granted and has not released."""
        self.uncertain = False
        """True after a connection was lost, or a claim was taken over: two processes may have asked one request."""
        self._registered = False

    async def begin(self, connection: asyncpg.Connection) -> None:
        """Register as a worker of the ledger. After a loss, claims are free that nobody here was told of."""
        await connection.execute(END_LOST, self.worker)
        await connection.execute("SELECT pg_advisory_lock($1)", self.worker)
        if self._registered:
            self.uncertain = True
            query = "DELETE FROM claims WHERE worker = $1 AND key <> ALL($2::text[])"
            await connection.execute(query, self.worker, list(self.held))
        self._registered = True

    def want(self, key: str, granted: Granted) -> None:
        """Set ``granted`` once the ledger's claim to ``key`` is ours, or its answer is there."""
        self._wanted.append((key, granted))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._claim_all())

    async def _claim_all(self) -> None:
        """Claim what is wanted until nothing is wanted any more; many requests share a query."""
        while self._wanted:
            wanted = self._next_wanted()
            try:
                found = await self._connection.run("written", partial(self._claimed, keys=list(wanted)))
            except LedgerError as error:
                _fail(wanted.values(), error)
                continue
            late = await self._grant(wanted, found)
            if late and len(late) == len(wanted):
                await asyncio.sleep(_POLL)
            self._wanted += late

    def _next_wanted(self) -> dict[str, Granted]:
        """Take one of each key that is wanted. If several event loops of this process want one, the others wait."""
        wanted: dict[str, Granted] = {}
        later = [one for one in self._wanted if not one[1].cancelled() and wanted.setdefault(*one) is not one[1]]
        self._wanted = later
        return wanted

    async def _grant(self, wanted: Mapping[str, Granted], found: Mapping[str, Claim]) -> list[tuple[str, Granted]]:
        """Tell those whose keys were ``found``, and return the others. Claims that nobody wants any more are freed."""
        late = []
        for key, granted in wanted.items():
            if key not in found:
                late.append((key, granted))
            elif granted.set_running_or_notify_cancel():
                if found[key] != "answered":
                    self.held.add(key)
                granted.set_result(found[key])
            elif found[key] != "answered":
                await self._connection.run("written", partial(self._give_up, key=key))
        return late

    async def stop(self, error: LedgerError) -> None:
        """Tell everybody who waits for a claim of the ledger that there will be none."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        _fail((granted for _, granted in self._wanted), error)
        self._wanted = []

    async def _give_up(self, connection: asyncpg.Connection, key: str) -> None:
        await connection.execute("DELETE FROM claims WHERE key = $1 AND worker = $2", key, self.worker)

    async def _claimed(self, connection: asyncpg.Connection, keys: Sequence[str]) -> dict[str, Claim]:
        """Return, for each of the ledger's ``keys`` that nobody else is asking, whether it is answered or ours."""
        found: dict[str, Claim] = dict.fromkeys(await _keys(connection, _ANSWERED, keys), "answered")
        left = [key for key in keys if key not in found]
        if left:
            found |= dict.fromkeys(await _keys(connection, _FREE, left, self.worker), "ours")
        if left := [key for key in left if key not in found]:
            taken = await _keys(connection, _TAKE_OVER, left, self.worker)
            self.uncertain = self.uncertain or bool(taken)
            found |= dict.fromkeys(taken, "taken over")
        if mine := [key for key in keys if found.get(key, "answered") != "answered"]:
            # An answer that was committed between the two queries took its claim with it.
            for key in await _keys(connection, _ANSWERED, mine):
                found[key] = "answered"
                await self._give_up(connection, key)
        return found


async def _keys(connection: asyncpg.Connection, query: str, keys: Sequence[str], *more: object) -> list[str]:
    return [row[0] for row in await connection.fetch(query, keys, *more)]


def _fail(waiting: Iterable[Granted], error: LedgerError) -> None:
    for granted in waiting:
        if granted.set_running_or_notify_cancel():
            granted.set_exception(error)
