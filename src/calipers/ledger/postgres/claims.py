"""One call for equal requests of several processes: who claims a request's key asks it, the others wait.

A claim is an advisory lock on the key, which lasts as long as the connection, so the claims of a killed process are
free at once, and no clock is compared. All methods run on the ledger's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, TypeAlias

import asyncpg

from calipers.errors import LedgerError
from calipers.ledger.postgres.connection import Connection

Granted: TypeAlias = Future[bool]
"""Whether the claim is ours; otherwise the request has its answer."""
_POLL: Final = 0.1
"""Seconds between two looks at a request that another process asks. Judges take seconds."""
_ANSWERED: Final = "SELECT key FROM answers WHERE key = ANY($1::text[])"
_LOCK: Final = "hashtextextended(key, hashtext(current_schema()))"
_CLAIM: Final = f"SELECT key FROM unnest($1::text[]) AS key WHERE pg_try_advisory_lock({_LOCK})"  # noqa: S608 - our own
_RELEASE: Final = f"SELECT pg_advisory_unlock({_LOCK}) FROM unnest($1::text[]) AS key"  # noqa: S608 - our own text


class Claims:
    """The claims of this process in a ledger. ``begin`` must be called for each new connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._wanted: list[tuple[str, Granted]] = []
        self._task: asyncio.Task[None] | None = None
        self._releases: set[asyncio.Task[None]] = set()
        self._held: set[str] = set()

    async def begin(self, connection: asyncpg.Connection) -> None:
        """Claim again, on a new connection of the ledger, what is being asked; the lost one took its claims with it."""
        await connection.fetch(_CLAIM, list(self._held))

    def want(self, key: str, granted: Granted) -> None:
        """Set ``granted`` once the ledger's claim to ``key`` is ours, or its answer is there."""
        self._wanted.append((key, granted))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._claim_all())

    def release(self, key: str) -> None:
        """Give up the claim to ``key``: its answer is committed, or it will get none."""
        task = asyncio.create_task(self._release([key]))
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)

    async def _release(self, keys: Sequence[str]) -> None:
        self._held.difference_update(keys)
        try:
            await self._connection.run("read", lambda one: one.fetch(_RELEASE, keys))
        except LedgerError:
            return  # the lost connection has given it up

    async def _claim_all(self) -> None:
        """Claim what is wanted until nothing is wanted any more; many requests share a query."""
        while self._wanted:
            wanted: dict[str, Granted] = {}
            # Of several event loops of this process that want one key, the others wait.
            self._wanted = [
                one for one in self._wanted if not one[1].cancelled() and wanted.setdefault(*one) is not one[1]
            ]
            keys = [key for key in wanted if key not in self._held]
            try:
                found = await self._connection.run("read", partial(_claimed, keys=keys)) if keys else {}
            except LedgerError as error:
                _fail(wanted.values(), error)
                continue
            late = []
            for key, granted in wanted.items():
                if key not in found:
                    late.append((key, granted))
                elif granted.set_running_or_notify_cancel():
                    if found[key]:
                        self._held.add(key)
                    granted.set_result(found[key])
                elif found[key]:  # nobody wants it any more
                    await self._release([key])
            if late and len(late) == len(wanted):
                await asyncio.sleep(_POLL)
            self._wanted += late

    async def stop(self, error: LedgerError) -> None:
        """Tell everybody who waits for a claim of the ledger that there will be none."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        _fail((granted for _, granted in self._wanted), error)
        self._wanted = []


async def _claimed(connection: asyncpg.Connection, keys: Sequence[str]) -> dict[str, bool]:
    """Return, for each of the ledger's ``keys`` that nobody else is asking, whether it is ours or answered."""
    answered = await _keys(connection, _ANSWERED, keys)
    ours = await _keys(connection, _CLAIM, [key for key in keys if key not in answered])
    late = await _keys(connection, _ANSWERED, ours) if ours else set()  # committed between the two queries
    if late:
        await connection.fetch(_RELEASE, list(late))
    return dict.fromkeys(ours - late, True) | dict.fromkeys(answered | late, False)


async def _keys(connection: asyncpg.Connection, query: str, keys: Iterable[str]) -> set[str]:
    return {row[0] for row in await connection.fetch(query, list(keys))}


def _fail(waiting: Iterable[Granted], error: LedgerError) -> None:
    for granted in waiting:
        if granted.set_running_or_notify_cancel():
            granted.set_exception(error)
