"""The ledger file: readers that never write, a single writer, and commits that many answers share.

Writes happen on the caller's thread, in one transaction per turn of the event loop, or per eight turns while groups
wait for a turn. A writer thread would be slower, because it would compete with the event loop for the interpreter lock.
The tables are defined in ``tables.sql``.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, Final

from calipers.errors import LedgerError
from calipers.ledger.database import FORMAT, ReadableLedger, Row, WritableLedger, end_waits
from calipers.pacing import pace_of_loop

_DAMAGED: Final = "Move it aside to start a new one; `sqlite3 FILE .recover` can save what is left."
_NOT_WRITABLE: Final = "Check that the folder exists and that you may write there, or name another ledger."
_REMEDIES: Final = {
    "locked": "Another program has been using it for too long; wait for it or give each process its own.",
    "closed database": "Its Judge was closed: make a new one for further groups, which opens the ledger again.",
    **dict.fromkeys(("not a database", "malformed", "decode"), f"It is not a sound SQLite file. {_DAMAGED}"),
    "FOREIGN KEY": "`calipers ledger prune` removed this run; start it again, `calipers score` with --force.",
    **dict.fromkeys(("readonly", "unable to open"), _NOT_WRITABLE),
}
"""What to do about an error of SQLite, by words in it."""
_MAGIC: Final = b"SQLite format 3\0"
"""The first bytes of every SQLite file."""
_READER_SECONDS = 2.0
"""Seconds for which a reader waits for a ledger that is locked. A run that writes to it locks no reader out."""
_SHARED_TURNS = 8
"""So many turns of an event loop share a commit while judging has more work than a turn has time for."""
_BUSY_SECONDS = 30.0
"""How long to wait for another process that is writing to the same ledger."""
_LOCKED_AGAIN = 0.05
"""Seconds between two attempts to write to a ledger that another process has locked."""
_PASSING: Final = frozenset(
    (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
)
"""Errors that are the system's, and may pass. What could not be written is queued again."""


class LedgerFile(ReadableLedger):
    """A ledger file at ``path``, of which a subclass has opened the connection."""

    path: Path
    _connection: sqlite3.Connection
    _lock: threading.RLock

    @property
    def name(self) -> str:
        """The ledger's path, for messages."""
        return str(self.path)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a read-only query. Raises LedgerError if the ledger cannot be read."""
        with self._lock, self._translated("read"):
            return self._connection.execute(query, values).fetchall()

    def check(self) -> None:
        """Raise LedgerError unless SQLite finds the whole ledger file sound."""
        rows = self.rows("PRAGMA integrity_check")
        if rows != [("ok",)]:
            raise LedgerError(f"{self.path}: the ledger is damaged ({rows[0][0]}). {_DAMAGED}")

    def _found_format(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _require_readable(self) -> None:
        """Raise LedgerError for a file of another format or program, or with more in it than tables."""
        tables = self._connection.execute("SELECT name, type FROM sqlite_master").fetchall()
        # The format is read after the tables, which another run of calipers may be creating.
        stored = self._found_format()
        if tables and stored == 0:
            raise LedgerError(f"{self.path}: is another program's database, not a ledger; name another file")
        if stored not in (0, FORMAT):
            raise LedgerError(
                f"{self.path}: is a ledger of format {stored}, and this version reads only format {FORMAT}: use the "
                "version of calipers that wrote it, or name another file"
            )
        if odd := [name for name, kind in tables if kind not in ("table", "index")]:
            raise LedgerError(f"{self.path}: has the view or trigger {odd[0]!r}, which no ledger has. {_DAMAGED}")

    @contextmanager
    def _translated(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite quotes damaged names
            raise self._failure(verb, error) from error

    def _failure(self, verb: str, error: Exception) -> LedgerError:
        reason = str(error).partition(" with text ")[0]  # SQLite quotes the contents, which may be megabytes
        remedy = next(
            (remedy for sign, remedy in _REMEDIES.items() if sign in reason),
            "Run the same command again once this is fixed; nothing recorded is lost.",
        )
        return LedgerError(f"{self.path}: the ledger cannot be {verb} ({reason}). {remedy}")


class FileReader(LedgerFile):
    """A ledger file that is only read, as it is at the moment it is opened. See ``read_ledger``."""

    def __init__(self, location: str | Path) -> None:
        self.path = ledger_path(location)
        require_existing(self.path)
        self._lock = threading.RLock()
        with self._translated("read"):
            self._connection = self._opened()
            try:
                self._require_readable()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the ledger file."""
        self._connection.close()

    def _opened(self) -> sqlite3.Connection:
        """Return a connection that has begun to read.

        SQLite keeps two files beside a ledger that is open. Where the folder admits none and nobody writes, the ledger
        is read without them.
        """
        try:
            return self._connected("mode=rw")
        except sqlite3.OperationalError:
            if Path(f"{self.path}-wal").exists():
                raise
            return self._connected("mode=ro&immutable=1")

    def _connected(self, how: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{how}", uri=True, timeout=_READER_SECONDS, isolation_level=None,
            check_same_thread=False,
        )  # fmt: skip
        try:
            connection.execute("PRAGMA query_only=1")
            connection.execute("PRAGMA trusted_schema=0")
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection


class Ledger(LedgerFile, WritableLedger):
    """An open ledger file. ``location`` is a path or ``sqlite:///path``; it is created unless ``create`` is False.

    Safe to use from several threads and event loops. Raises LedgerError, with the remedy, when the file cannot be
    opened, is not a ledger, is damaged, or cannot be written.
    """

    def __init__(self, location: str | Path, *, create: bool = True) -> None:
        super().__init__()
        self.path = ledger_path(location)
        require_regular(self.path) if create else require_existing(self.path)
        self._scheduled: set[asyncio.AbstractEventLoop] = set()
        self._loops: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()
        self._locked_since: float | None = None
        # True after another process, or another event loop of this process, has written to the ledger.
        self.shared = False
        with self._translated("opened"):
            _create_private(self.path)
            self._connection = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
            self._prepare_when_free()

    def _prepare_when_free(self) -> None:
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
            time.sleep(_LOCKED_AGAIN)

    def _prepare(self) -> None:
        self._require_readable()
        for setting in (
            "page_size=8192",  # takes effect in a new file: twice the default, because rows are long
            "journal_mode=WAL",
            "synchronous=NORMAL",  # commits survive kill -9, but a power cut may lose the last ones
            "foreign_keys=1",  # a run that was pruned records nothing more, as in Postgres
            "cache_size=-8192",  # in KiB; the index of keys is read in random order
        ):
            self._connection.execute(f"PRAGMA {setting}")
        if self._found_format() != FORMAT:
            from importlib.resources import files  # noqa: PLC0415 - only a new ledger needs it, and it is slow to import

            tables = files("calipers.ledger").joinpath("tables.sql").read_text(encoding="utf-8")
            self._connection.executescript(f"BEGIN IMMEDIATE;{tables}PRAGMA user_version={FORMAT};COMMIT")
        self._version = self._data_version()

    def insert(self, statement: str, values: Row) -> int:
        """Insert a row into the ledger at once and return its id."""
        with self._lock, self._translated("written"), self._long_wait():
            cursor = self._connection.execute(statement, values)
            return int(cursor.lastrowid or 0)

    async def commit(self) -> None:
        """Wait until all queued writes to the ledger are committed. Many waiters share a transaction.

        If the wait is cancelled, the queue is written at once, so that nothing stays uncommitted.
        """
        try:
            await super().commit()
        except asyncio.CancelledError:
            self._flush(asyncio.get_running_loop())
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
        end_waits(mine, error)

    def _write_pending(self, *, waits: bool) -> None:
        pending, self._pending = self._pending, {}
        if not pending:
            return
        with self._translated("written"), self._long_wait() if waits else nullcontext():
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                self.shared = self.shared or len(self._loops) > 1 or self._data_version() != self._version
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

    @contextmanager
    def _long_wait(self) -> Iterator[None]:
        """Let SQLite wait for another process's lock; otherwise it refuses, and the event loop goes on."""
        self._connection.execute(f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000:.0f}")
        try:
            yield
        finally:
            self._connection.execute("PRAGMA busy_timeout=0")

    def _data_version(self) -> int:
        """Return a number that changes when another connection writes to the ledger."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def compact(self) -> None:
        """Give the space of removed rows of the ledger back to the disk."""
        with self._lock, self._translated("written"), self._long_wait():
            self._connection.execute("VACUUM")

    def close(self) -> None:
        """Write what is queued and close the ledger file."""
        with self._lock:
            self._closed = True
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


def is_locked(error: LedgerError) -> bool:
    """Return whether a ledger could not be used only because another program holds a lock on it."""
    cause = error.__cause__
    return isinstance(cause, sqlite3.OperationalError) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _create_private(path: Path) -> None:
    """Create a missing ledger as a file that only its owner may read, because it holds all trajectories and answers.

    SQLite gives its additional files the same rights. An existing file keeps its rights.
    """
    with suppress(OSError):  # the file exists, or it cannot be created, which SQLite reports later
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def require_existing(path: Path) -> None:
    """Raise LedgerError, with what writes one, if there is no ledger at ``path``."""
    size = require_regular(path)
    if size is None:
        raise LedgerError(f"{path}: no such ledger. `calipers score ... -o OUT` writes one at OUT.ledger.db.")
    if size == 0 and not Path(f"{path}-wal").exists():  # with that file, this is a ledger that is being made
        raise LedgerError(f"{path}: is empty, so no run is recorded in it.")


def require_regular(path: Path) -> int | None:
    """Return the size of the ledger file at ``path``, None if there is no file.

    Raises LedgerError for what is no regular file (a folder, a pipe, a device, links that lead to themselves), and for
    one that never was a ledger: a text, a picture.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LedgerError(f"{path}: the ledger cannot be opened: {reason}") from error
    if not S_ISREG(status.st_mode):
        kind = "a folder; name a file in it" if S_ISDIR(status.st_mode) else "not a regular file; name another"
        raise LedgerError(f"{path}: the ledger cannot be opened: it is {kind}")
    with suppress(OSError), path.open("rb") as file:
        if (start := file.read(len(_MAGIC))) and start != _MAGIC:
            raise LedgerError(
                f"{path}: is no ledger, but another kind of file; `calipers score ... -o OUT` writes the ledger of OUT "
                "as OUT.ledger.db"
            )
    return status.st_size


def ledger_path(location: str | Path) -> Path:
    """Return the path of a ledger from a path or ``sqlite:///path``. Raises LedgerError for another URL."""
    text = str(location)
    if text.startswith("sqlite:///"):
        return Path(text.removeprefix("sqlite:///"))
    if "://" in text:
        raise LedgerError(
            f"{text.partition('://')[0]}:// is no address of a ledger: write a path, sqlite:///FILE or "
            "postgresql://HOST/DATABASE"
        )
    return Path(text)
