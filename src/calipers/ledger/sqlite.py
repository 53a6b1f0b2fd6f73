"""The ledger file: a single writer, and commits that many answers share. Its tables are defined in ``tables.sql``.

Writes happen on the caller's thread, in one transaction per turn of the event loop, or per eight turns while groups
wait for a turn. A writer thread would be slower, because it would compete with the event loop for the interpreter lock.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

from calipers.errors import LedgerError
from calipers.ledger.database import FORMAT, Row, WritableLedger, as_stored
from calipers.ledger.reading import LedgerFile, is_locked, ledger_path, require_existing, require_regular
from calipers.pacing import pace_of_loop

_ROWS_IN_LOG = 3000
"""How many rows the write-ahead log may hold before it is moved into the file; about 20 MB."""
_MOST_KEYS = 50_000
"""How many keys of a new ledger are held in memory; about 6 MB."""
_SHARED_TURNS = 8
"""So many turns of an event loop share a commit while judging has more work than a turn has time for."""
_CHECK_SECONDS = 0.05
"""Seconds between two checks for other writers. What they write in between is noticed at the next check."""
_BUSY_SECONDS = 30.0
"""How long to wait for another process that is writing to the same ledger."""
_LOCKED_AGAIN = 0.05
"""Seconds between two attempts to write to a ledger that another process has locked."""
_PASSING: Final = frozenset(
    (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
)
"""Errors that are the system's, and may pass. What could not be written is queued again."""
_BUSY_AGAIN = 0.01
"""Seconds between two attempts in cases where SQLite itself does not wait."""


class Ledger(LedgerFile, WritableLedger):
    """An open ledger file. ``location`` is a path or ``sqlite:///path``; it is created unless ``create`` is False.

    Safe to use from several threads and event loops. Raises LedgerError, with the remedy, when the file cannot be
    opened, is not a ledger, is damaged, or cannot be written.
    """

    def __init__(
        self, location: str | Path, *, create: bool = True, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.path = ledger_path(location)
        require_regular(self.path) if create else require_existing(self.path)
        self._lock = threading.RLock()
        self._pending: dict[str, list[Row]] = {}
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._scheduled: set[asyncio.AbstractEventLoop] = set()
        self._closed = False
        self._loops: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()
        self._checkpointing = threading.Lock()
        self._checkpointed = 0
        self._failed = False  # whether the last write failed; what it should have written is queued again
        self._locked_since: float | None = None
        # True after another process, or another event loop of this process, has written to the ledger.
        self.shared = False
        with self._translated("opened"):
            _create_private(self.path)
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._prepare_when_free(sleep)

    def _prepare_when_free(self, sleep: Callable[[float], None]) -> None:
        """Prepare the ledger file, even if several processes create it at the same moment.

        In some cases, such as the switch to the write-ahead log, waiting for a lock might never end, so SQLite does not
        wait. So if two processes create a file together, SQLite refuses one of them at once, and that process tries
        again.
        """
        ends = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return self._prepare()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                    raise
                if time.monotonic() > ends:
                    raise
            sleep(_BUSY_AGAIN)

    def _prepare(self) -> None:
        self._require_readable()
        self._connection.execute(
            "PRAGMA page_size=8192"
        )  # takes effect in a new file: twice the default, because rows are long
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(
            "PRAGMA synchronous=NORMAL"
        )  # commits survive kill -9, but a power cut may lose the last ones
        self._connection.execute(
            "PRAGMA wal_autocheckpoint=0"
        )  # ``_checkpoint`` moves the log instead, outside the event loop
        self._connection.execute("PRAGMA cache_size=-8192")  # in KiB; the index of keys is read in random order
        if self._found_format() != FORMAT:
            from importlib.resources import files  # noqa: PLC0415 - only a new ledger needs it, and it is slow to import

            tables = files("calipers.ledger").joinpath("tables.sql").read_text(encoding="utf-8")
            self._connection.executescript(f"BEGIN IMMEDIATE;{tables}PRAGMA user_version={FORMAT};COMMIT")
        self._version = self._data_version()
        self._checked_at = time.monotonic()
        is_new = self._connection.execute("SELECT 1 FROM answers LIMIT 1").fetchone() is None
        self._keys: set[str] | None = set() if is_new else None

    def may_hold(self, key: str) -> bool:
        """Return whether the ledger may hold the answer to the request ``key``.

        It cannot if the file was new, nobody else has written to it, and ``add_key`` was not called with ``key``.
        """
        known = self._keys
        if known is None:
            return True
        if time.monotonic() - self._checked_at > _CHECK_SECONDS:
            with self._lock, self._translated("read"):
                self._check_for_others()
        return self.shared or key in known

    def add_key(self, key: str) -> None:
        """Remember that the ledger holds an answer to the request ``key``."""
        known = self._keys
        if known is not None:
            known.add(key)
            if self.shared or len(known) > _MOST_KEYS:
                self._keys = None

    def put(self, statement: str, values: Row) -> None:
        """Queue a write to the ledger. It is on disk after a later ``commit`` or ``close`` has returned.

        Writes with the same statement keep their order. Writes with different statements must not depend on it. A lone
        surrogate becomes a question mark. Raises ValueError or TypeError at once for values that SQLite does not
        accept, because a later failure would affect the whole transaction.
        """
        storable = tuple([value if type(value) is str and value.isascii() else as_stored(value) for value in values])
        with self._lock:
            self._pending.setdefault(statement, []).append(storable)

    def insert(self, statement: str, values: Row) -> int:
        """Insert a row into the ledger at once and return its id."""
        with self._lock, self._translated("written"):
            cursor = self._connection.execute(statement, values)
            return int(cursor.lastrowid or 0)

    def share_run(self, run: int) -> None:
        """Let other processes join the ledger's run ``run``."""
        self.insert("INSERT INTO shared_runs (run, next) VALUES (?, 0)", (run,))

    async def take_number(self, run: int) -> int:
        """Return the next number of a group of the ledger's shared run ``run``, which no other process gets."""
        query = "UPDATE shared_runs SET next = next + 1 WHERE run = ? RETURNING next - 1"
        ends = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                with self._lock, self._without_waiting():
                    found = self._connection.execute(query, (run,)).fetchall()
                break
            except sqlite3.DatabaseError as error:
                if not _is_busy(error) or time.monotonic() > ends:
                    raise self._failure("written", error) from error
            await asyncio.sleep(_LOCKED_AGAIN)
        if not found:
            raise LedgerError(f"{self.path}: run {run} is not shared between processes; begin it with shared=True")
        return int(found[0][0])

    async def require_writable(self) -> None:
        """Raise LedgerError if the last write failed, and fails again now."""
        if self._failed:
            await self.commit()

    async def commit(self) -> None:
        """Wait until all queued writes to the ledger are committed. Many waiters share a transaction.

        If the wait is cancelled, the queue is written at once, so that nothing stays uncommitted.
        """
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        with self._lock:
            self._waiting.append((loop, waiter))
        self.commit_soon()
        try:
            await waiter
        except asyncio.CancelledError:
            self._flush(loop)
            raise

    def commit_soon(self) -> None:
        """Commit the ledger's queue in the running loop's next turn, without waiting for it."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._scheduled:
                self._scheduled.add(loop)
                self._loops.add(loop)
                # The loop's next turn comes after all answers that have arrived by then. So the busier the loop, the
                # more answers share a commit, and no call waits for a timer.
                loop.call_later(0, self._flush_when_shared, loop, _SHARED_TURNS)

    def _flush_when_shared(self, loop: asyncio.AbstractEventLoop, turns: int) -> None:
        """Commit, unless groups wait for a turn of the loop; what they record in ``turns`` of it joins the commit."""
        if turns > 1 and pace_of_loop().has_waiting:
            loop.call_later(0, self._flush_when_shared, loop, turns - 1)
        else:
            self._flush(loop)

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            error: LedgerError | None = None
            try:
                self._write_pending(waits=False)
            except LedgerError as caught:
                if is_locked(caught) and not self._closed:
                    now = time.monotonic()
                    self._locked_since = self._locked_since or now
                    if now - self._locked_since < _BUSY_SECONDS:  # the loop goes on meanwhile
                        loop.call_later(_LOCKED_AGAIN, self._flush, loop)
                        return
                error = caught
            self._locked_since = None
            self._scheduled.discard(loop)
            mine = [waiter for owner, waiter in self._waiting if owner is loop]
            self._waiting = [(owner, waiter) for owner, waiter in self._waiting if owner is not loop]
        self._checkpoint_when_due(loop)
        for waiter in mine:
            if waiter.done():
                continue  # cancelled meanwhile; what it queued is written anyway
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)

    @contextmanager
    def _without_waiting(self) -> Iterator[None]:
        """Let SQLite refuse at once what another process's lock holds up: waiting would stop the event loop."""
        self._connection.execute("PRAGMA busy_timeout=0")
        try:
            yield
        finally:
            self._connection.execute(f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000:.0f}")

    def _write_pending(self, *, waits: bool) -> None:
        pending, self._pending = self._pending, {}
        if not pending:
            return
        with self._translated("written"), nullcontext() if waits else self._without_waiting():
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                self._check_for_others()
                for statement, rows in pending.items():
                    self._connection.executemany(statement, rows)
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._connection.execute("ROLLBACK") if self._connection.in_transaction else None
                self._failed = error.sqlite_errorcode & 0xFF in _PASSING
                if self._failed:
                    self._pending = pending  # nothing was queued meanwhile, because the lock is held
                raise
            self._failed = False

    def _check_for_others(self) -> None:
        self.shared = self.shared or len(self._loops) > 1 or self._data_version() != self._version
        self._checked_at = time.monotonic()

    def _data_version(self) -> int:
        """Return a number that changes when another connection writes to the ledger."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def _checkpoint(self) -> None:
        """Move commits from the write-ahead log into the ledger file, on a separate connection and thread.

        This waits for the disk. On the event loop, it would delay every judge call in flight.
        """
        # If the disk is full or the file busy, the commits stay safe in the log and are moved next time.
        with (
            self._checkpointing,
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS)) as connection,
        ):
            # The first step moves most of the log while writers continue; the second moves the rest and restarts the
            # log.
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()

    def _checkpoint_when_due(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._closed:
            return  # ``close`` has already written everything
        written = self._connection.total_changes
        if written - self._checkpointed > _ROWS_IN_LOG and not self._checkpointing.locked():
            self._checkpointed = written
            loop.run_in_executor(None, self._checkpoint)

    def compact(self) -> None:
        """Give the space of removed rows of the ledger back to the disk."""
        with self._lock, self._translated("written"):
            self._connection.execute("VACUUM")

    def close(self) -> None:
        """Write what is queued and close the ledger file."""
        with self._lock:
            self._closed = True
            self._keys = None  # so that a later request fails before it is paid for
            try:
                self._write_pending(waits=True)
            finally:
                self._connection.close()

    def __del__(self) -> None:
        """Close the file of a ledger that nobody closed; Python 3.13 warns of a connection that is dropped open.

        Nothing is lost: an answer is committed before it is used.
        """
        connection: sqlite3.Connection | None = getattr(self, "_connection", None)  # None if the file did not open
        if connection is not None:
            connection.close()


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _create_private(path: Path) -> None:
    """Create a missing ledger as a file that only its owner may read, because it holds all trajectories and answers.

    SQLite gives its additional files the same rights. An existing file keeps its rights.
    """
    with suppress(OSError):  # the file exists, or it cannot be created, which SQLite reports later
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
