"""The ledger in Postgres: one writer in each process, and commits that all answers share that arrive during one."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Final

import asyncpg

from calipers.errors import LedgerError
from calipers.ledger.database import ANSWERS, GROUPS, ReadableLedger, Row, Waiter, WritableLedger, end_waits
from calipers.ledger.opening import Address
from calipers.ledger.postgres.connection import (
    Connection,
    LoopThread,
    from_postgres,
    is_lost,
    lock_of,
    numbered,
    prepare,
    require_ledger,
    to_postgres,
)

_BYTES: Final = frozenset((3,))
"""The position of the column in which answers and groups have compressed texts."""
_WITH_BYTES: Final = frozenset(
    (ANSWERS.insert_new, ANSWERS.insert_or_replace, GROUPS.insert_new, GROUPS.insert_or_replace)
)
_POLL: Final = 0.1
"""Seconds between two looks at a request that another process asks. Judges take seconds."""
_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended($1, hashtext(current_schema())))"
_UNLOCK: Final = "SELECT pg_advisory_unlock(hashtextextended($1, hashtext(current_schema())))"
"""A claim is an advisory lock on the key: a killed process's are free at once, and no clock is compared."""
_OF_THE_SYSTEM: Final = (
    asyncpg.InsufficientResourcesError,  # such as a full disk
    asyncpg.InsufficientPrivilegeError,
    asyncpg.ReadOnlySQLTransactionError,
)
"""Errors that may pass, as those of a lost server: what could not be written is queued again."""
_SECONDS: Final = 30.0
"""How long to wait for a server that is lost or does not answer."""


class _Database(ReadableLedger):
    """A ledger at an address, used on a thread of its own."""

    def __init__(self, location: str) -> None:
        self._address = Address.of(location)
        self._thread = LoopThread()

    @property
    def name(self) -> str:
        """The ledger's address without its password, for messages."""
        return self._address.name

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a read-only query to the ledger. Raises LedgerError if it cannot be read."""
        return self._thread.call(self._fetch(query, values))

    async def look_up(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return what ``rows`` returns from the ledger, without blocking the caller's event loop."""
        return await self._thread.awaited(self._fetch(query, values))

    @abstractmethod
    def _fetch(self, query: str, values: Sequence[Any]) -> Coroutine[Any, Any, list[Row]]:
        """Return the work of a query, for the thread."""


class PostgresLedger(_Database, WritableLedger):
    """The ledger at a ``postgresql://`` URL; its schema and tables are created unless ``create`` is False.

    A process that shares it with others on any machine pays for no request that another one is asking. Raises
    LedgerError, with the remedy, if the server cannot be reached or refuses, or if the database is no ledger. A server
    that is lost later is waited for, ``patience`` seconds.
    """

    is_on_server = True
    shared = True

    def __init__(self, location: str, *, create: bool = True, patience: float = _SECONDS) -> None:
        WritableLedger.__init__(self)
        self._writing = False
        self._written: Future[None] | None = None
        self._claims: dict[str, bool] = {}  # by key: whether it is ours, or we still ask for it
        self._tasks: set[asyncio.Task[None]] = set()
        super().__init__(location)
        try:
            self._thread.call(self._open(patience, create=create))
        except BaseException:
            self._thread.call(self._disconnect())
            self._thread.stop()
            raise

    async def _open(self, patience: float, *, create: bool) -> None:
        self._writer = Connection(self._address, patience)
        self._reader = Connection(self._address, patience, self._register)
        prepared = partial(prepare if create else require_ledger, address=self._address)
        await self._writer.run("opened", prepared, again=False)
        await self._reader.run("opened", lambda connection: connection.execute("SELECT 1"), again=False)

    async def _register(self, connection: asyncpg.Connection) -> None:
        """Claim again, on a new connection, what is being asked; the lost one took its claims with it."""
        await connection.executemany(_LOCK, [(key,) for key, ours in self._claims.items() if ours])

    def _fetch(self, query: str, values: Sequence[Any]) -> Coroutine[Any, Any, list[Row]]:
        self._require_open("read")
        return self._fetched(query, values)

    async def _fetched(self, query: str, values: Sequence[Any]) -> list[Row]:
        return from_postgres(await self._reader.run("read", lambda conn: conn.fetch(numbered(query), *values)))

    def _require_open(self, verb: str) -> None:
        if self._closed:
            raise LedgerError(f"{self.name}: the ledger cannot be {verb}, because it is closed.")

    async def claim(self, key: str) -> bool:
        """Wait for the right to ask the request ``key`` (True), or until its answer is in the ledger (False)."""
        self._require_open("read")
        granted: Future[bool] = Future()
        self._thread.loop.call_soon_threadsafe(self._start, self._claim(key, granted))
        try:
            return await asyncio.wrap_future(granted)
        except asyncio.CancelledError:
            if not granted.cancelled() and granted.exception() is None and granted.result():
                self.release(key)  # it was granted in the same moment
            raise

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _claim(self, key: str, granted: Future[bool]) -> None:
        try:
            while not granted.cancelled():
                if await self._locked(key):
                    if granted.set_running_or_notify_cancel():
                        granted.set_result(True)
                    else:
                        await self._unlock(key)
                elif await self._fetched("SELECT 1 FROM answers WHERE key = ?", (key,)):
                    if granted.set_running_or_notify_cancel():
                        granted.set_result(False)
                else:
                    await asyncio.sleep(_POLL)
                    continue
                return
        except (LedgerError, asyncio.CancelledError) as error:
            closed = LedgerError(f"{self.name}: the ledger is closed.")
            if granted.set_running_or_notify_cancel():
                granted.set_exception(error if isinstance(error, LedgerError) else closed)

    async def _locked(self, key: str) -> bool:
        if key in self._claims:  # by another event loop of this process, whose connection this is
            return False
        self._claims[key] = False
        try:
            self._claims[key] = await self._reader.run("read", lambda conn: conn.fetchval(_LOCK, key))
            return self._claims[key]
        finally:
            if not self._claims[key]:
                del self._claims[key]

    def release(self, key: str) -> None:
        """Give up the claim to the request ``key``, whose answer is committed, or which got none."""
        self._thread.loop.call_soon_threadsafe(self._start, self._unlock(key))

    async def _unlock(self, key: str) -> None:
        self._claims.pop(key, None)
        with suppress(LedgerError):  # the lost connection has given it up
            await self._reader.run("read", lambda conn: conn.fetchval(_UNLOCK, key))

    def _as_stored(self, statement: str, values: Row) -> Row:
        return to_postgres(values, _BYTES if statement in _WITH_BYTES else frozenset())

    def insert(self, statement: str, values: Row) -> int:
        """Insert a row into the ledger at once and return its id."""
        query, row = f"{numbered(statement)} RETURNING id", self._as_stored(statement, values)
        return int(self._thread.call(self._writer.run("written", lambda conn: conn.fetchval(query, *row))))

    def commit_soon(self) -> None:
        """Commit the ledger's queue soon, without waiting for it."""
        self._require_open("written")
        with self._lock:
            if self._writing:
                return
            self._writing = True
        self._written = asyncio.run_coroutine_threadsafe(self._write_all(), self._thread.loop)

    async def _write_all(self) -> None:
        """Write until the queue is empty, or nobody waits for what failed. What is queued meanwhile comes next."""
        while True:
            with self._lock:
                waiting, self._waiting = self._waiting, []
                if not waiting and (self._failed or not self._pending):
                    self._writing = False
                    return
                pending, self._pending = self._pending, {}
            error: LedgerError | None = None
            try:
                if pending:
                    await self._writer.run("written", partial(self._write, pending))
                self._failed = False
            except LedgerError as caught:
                error = caught
                self._failed = is_lost(caught.__cause__) or isinstance(caught.__cause__, _OF_THE_SYSTEM)
                with self._lock:
                    for statement, rows in self._pending.items() if self._failed else ():
                        pending.setdefault(statement, []).extend(rows)
                    self._pending = pending if self._failed else self._pending
            _wake(waiting, error)

    async def _write(self, pending: dict[str, list[Row]], connection: asyncpg.Connection) -> None:
        async with connection.transaction():
            for statement, rows in sorted(pending.items(), key=lambda item: item[0] == GROUPS.insert_or_replace):
                if statement == GROUPS.insert_or_replace:
                    # Groups are committed in the order of their numbers, so that a reader who has seen one misses none.
                    await connection.execute("SELECT pg_advisory_xact_lock($1)", lock_of(self._address, "groups"))
                await connection.executemany(numbered(statement), rows)

    def close(self) -> None:
        """Write what is queued, and close the connections to the ledger's server."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        try:
            self._thread.call(self._finish())
        finally:
            self._thread.stop()

    async def _finish(self) -> None:
        try:
            if self._written is not None:
                await asyncio.wrap_future(self._written)
            with self._lock:
                pending, self._pending = self._pending, {}
            if pending:
                await self._writer.run("written", partial(self._write, pending))
        finally:
            await self._disconnect()

    async def _disconnect(self) -> None:
        await self._writer.close()
        await self._reader.close()


def _wake(waiting: Sequence[Waiter], error: LedgerError | None) -> None:
    """Tell those who wait for a commit that it is done, with one call for each of their event loops."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for loop, waiter in waiting:
        by_loop.setdefault(loop, []).append(waiter)
    for loop, waiters in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(end_waits, waiters, error)


class PostgresReader(_Database):
    """The ledger at a ``postgresql://`` URL, read in one snapshot, which holds up no run that writes meanwhile.

    Raises LedgerError, with the remedy, for one that cannot be read.
    """

    def __init__(self, location: str) -> None:
        super().__init__(location)
        try:
            self._thread.call(self._open())
        except BaseException:
            self.close()
            raise

    async def _open(self) -> None:
        self._connection = Connection(self._address, _SECONDS)
        await self._connection.run("opened", self._begin, again=False)

    async def _begin(self, connection: asyncpg.Connection) -> None:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        await require_ledger(connection, self._address)

    async def _fetch(self, query: str, values: Sequence[Any]) -> list[Row]:
        # A new connection would have another snapshot, so a lost one is not opened again.
        rows = await self._connection.run("read", lambda conn: conn.fetch(numbered(query), *values), again=False)
        return from_postgres(rows)

    def close(self) -> None:
        """Close the connection to the ledger's server."""
        self._thread.call(self._connection.close())
        self._thread.stop()
