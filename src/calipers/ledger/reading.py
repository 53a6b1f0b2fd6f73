"""Reading a ledger file: queries, decoded values, and what a failure means. ``FileReader`` never writes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, Final

from calipers.errors import LedgerError
from calipers.ledger.database import FORMAT, ReadableLedger, Row

DAMAGED: Final = "Move it aside to start a new one; `sqlite3 FILE .recover` can save what is left."
_NO_LEDGER: Final = "It is JSON and not a ledger; calipers score writes the ledger of OUT as OUT.ledger.db."
_PATIENCE: Final = 2.0
"""Seconds for which a reader waits for a ledger that is locked. A run that writes to it locks no reader out."""
_NOT_WRITABLE: Final = "Check that the folder exists and that you may write there, or name another with --ledger."
_REMEDIES: Final = {
    "closed database": "Its Judge was closed: make a new one for further groups, which opens the ledger again.",
    "full": "The disk is full: free some space and run the same command again, nothing recorded is lost.",
    "disk I/O": "The disk or a quota is full or failing: fix that and run the same command again, nothing recorded is "
    "lost.",
    "readonly": _NOT_WRITABLE,
    "unable to open": _NOT_WRITABLE,
}
"""What to do about an error of SQLite, by words in it."""


class LedgerFile(ReadableLedger):
    """A ledger file at ``path``, of which a subclass has opened the connection."""

    path: Path
    remedy_of_damage = DAMAGED
    _connection: sqlite3.Connection
    _lock: threading.RLock
    _when_locked: str = (
        "Another process has been writing to it for half a minute; wait for it or give each process its own."
    )

    @property
    def name(self) -> str:
        """The ledger's path, for messages."""
        return str(self.path)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a read-only query. Raises LedgerError if the ledger cannot be read."""
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._failure("read", error) from error

    def hold(self) -> None:
        """Read the ledger from now on as it is now, whatever a run records meanwhile. Not for a ledger that writes."""
        with self._lock, self._translated("read"):
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN")
            self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()

    def check(self) -> None:
        """Raise LedgerError unless SQLite finds the whole ledger file sound."""
        found = self.rows("PRAGMA integrity_check")
        if found != [("ok",)]:
            raise LedgerError(f"{self.path}: the ledger is damaged ({found[0][0]}). {DAMAGED}")

    def _found_format(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _require_readable(self) -> None:
        """Raise LedgerError for a file of another format or program, or with more in it than tables."""
        tables = self._connection.execute("SELECT name, type FROM sqlite_master").fetchall()
        # The format is read after the tables, which another run of calipers may be creating.
        found = self._found_format()
        if tables and found == 0:
            raise LedgerError(f"{self.path}: is another program's database, not a ledger; name another file")
        if found not in (0, FORMAT):
            raise LedgerError(
                f"{self.path}: is a ledger of format {found}, and this version reads only format {FORMAT}: use the "
                "version of calipers that wrote it"
            )
        if odd := [name for name, kind in tables if kind not in ("table", "index")]:
            raise LedgerError(f"{self.path}: has the view or trigger {odd[0]!r}, which no ledger has. {DAMAGED}")

    @contextmanager
    def _translated(self, verb: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._failure(verb, error) from error

    def _failure(self, verb: str, error: sqlite3.DatabaseError) -> LedgerError:
        said = str(error).partition(" with text ")[0]  # SQLite quotes the contents, which may be megabytes
        return LedgerError(f"{self.path}: the ledger cannot be {verb} ({said}). {self._remedy(error)}")

    def _is_json(self) -> bool:
        try:
            with self.path.open("rb") as file:
                return file.read(1) in (b"{", b"[")
        except OSError:
            return False

    def _remedy(self, error: sqlite3.DatabaseError) -> str:
        text = str(error)
        if "locked" in text:
            return self._when_locked
        if any(sign in text for sign in ("not a database", "malformed", "decode")):
            return _NO_LEDGER if self._is_json() else f"It is not a sound SQLite file. {DAMAGED}"
        known = (remedy for sign, remedy in _REMEDIES.items() if sign in text)
        return next(known, "Run the same command again once this is fixed; nothing recorded is lost.")


class FileReader(LedgerFile):
    """A ledger file that is only read, as it is at the moment it is opened. See ``read_ledger``."""

    _when_locked = "Another program has locked it, which no run of calipers does for long; close that program."

    def __init__(self, location: str | Path) -> None:
        self.path = ledger_path(location)
        require_existing(self.path)
        self._lock = threading.RLock()
        with self._translated("read"):
            self._connection = self._opened()
            try:
                self._require_readable()
                self.runs_recorded = self._found_format() == FORMAT
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
            f"{self.path.absolute().as_uri()}?{how}", uri=True, timeout=_PATIENCE, isolation_level=None,
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


def is_locked(error: LedgerError) -> bool:
    """Return whether a ledger could not be read only because another program holds a lock on it."""
    cause = error.__cause__
    return isinstance(cause, sqlite3.OperationalError) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def require_existing(path: Path) -> None:
    """Raise LedgerError, with what writes one, if there is no ledger at ``path``."""
    size = require_regular(path)
    if size is None:
        raise LedgerError(f"{path}: no such ledger. `calipers score ... -o OUT` writes one at OUT.ledger.db.")
    if size == 0 and not Path(f"{path}-wal").exists():  # with that file, this is a ledger that is being made
        raise LedgerError(f"{path}: is empty, so no run is recorded in it.")


def require_regular(path: Path) -> int | None:
    """Return the size of the ledger file at ``path``, None if there is no file.

    Raises LedgerError for what is no regular file: a folder, a pipe, a device, links that lead to themselves.
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise LedgerError(
            f"{path}: the ledger cannot be opened: {getattr(error, 'strerror', None) or error}"
        ) from error
    if not S_ISREG(found.st_mode):
        what = "a folder; name a file in it" if S_ISDIR(found.st_mode) else "not a regular file; name another"
        raise LedgerError(f"{path}: the ledger cannot be opened: it is {what}")
    return found.st_size


def ledger_path(location: str | Path) -> Path:
    """Return the path of a ledger from a path or ``sqlite:///path``. Raises LedgerError for another URL."""
    text = str(location)
    if text.startswith("sqlite:///"):
        return Path(text.removeprefix("sqlite:///"))
    if "://" in text:
        raise LedgerError(
            f"{text.partition('://')[0]}://: a ledger file is SQLite only; write a path, sqlite:///FILE "
            "or postgresql://HOST/DATABASE"
        )
    return Path(text)
