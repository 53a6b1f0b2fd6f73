"""Opens a ledger by its location: a path or ``sqlite:///`` URL, or a ``postgresql://`` URL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from calipers.errors import ConfigError, LedgerError
from calipers.ledger.database import ReadableLedger, WritableLedger
from calipers.ledger.reading import FileReader, ledger_path
from calipers.ledger.sqlite import Ledger


def is_postgres(location: object) -> bool:
    """Return whether a ledger's location is the address of a Postgres database."""
    return str(location).startswith(("postgresql://", "postgres://"))


def ledger_name(location: str | Path) -> str:
    """Return a ledger's location for messages: its path, or its database's address without the password.

    Raises LedgerError for a ``postgresql://`` address that cannot be read; the message does not repeat it.
    """
    if not is_postgres(location):
        return str(location)
    from calipers.ledger.postgres.address import Address  # noqa: PLC0415 - a judge that records in a file needs none

    return Address.of(str(location)).name


def open_ledger(location: str | Path, *, create: bool = True) -> WritableLedger:
    """Open the ledger at ``location`` to record runs; it is created unless ``create`` is False.

    Raises LedgerError, with the remedy, if it cannot be opened.
    """
    if is_postgres(location):
        _require_driver(location)
        from calipers.ledger.postgres.ledger import PostgresLedger  # noqa: PLC0415 - an extra

        return PostgresLedger(str(location), create=create)
    return Ledger(location, create=create)


def read_ledger(location: str | Path) -> ReadableLedger:
    """Return the ledger at ``location``, only to be read, as it is at the moment it is opened: a run that writes to it
    meanwhile changes nothing for this reader, and is not held up by it.

    Use it as a context manager. Raises LedgerError, with the remedy, for a ledger that cannot be read.
    """
    if is_postgres(location):
        _require_driver(location)
        from calipers.ledger.postgres.ledger import PostgresReader  # noqa: PLC0415 - an extra

        return PostgresReader(str(location))
    return FileReader(location)


def _require_driver(location: str | Path) -> None:
    if find_spec("asyncpg") is None:
        raise LedgerError(
            f"{ledger_name(location)}: a ledger in Postgres needs an extra: pip install 'calipers[postgres]'"
        )


_RECORDED: Final = ("runs", "answers", "groups")
_PAID: Final = ("answers", "failed_calls WHERE input_tokens + output_tokens > 0")
"""What is worth keeping of a command that ended because its configuration is wrong: its groups can only have failed."""


@contextmanager
def no_unused_ledger(location: str | None) -> Iterator[None]:
    """If the block fails and made the ledger's file, remove that file again.

    A file in which something was recorded, or which another process has open, stays.
    """
    path = None if location is None or is_postgres(location) else ledger_path(location)
    if path is None or path.exists():
        yield
        return
    try:
        yield
    except BaseException as error:
        kept = _PAID if isinstance(error, ConfigError) else _RECORDED
        if path.is_file():
            # What cannot be opened or locked is another process's, and stays.
            with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as ledger:
                ledger.execute("PRAGMA locking_mode=EXCLUSIVE")
                ledger.execute("BEGIN EXCLUSIVE")
                made = ledger.execute("SELECT 1 FROM sqlite_master WHERE name = 'failed_before'").fetchone()
                if not (made and any(ledger.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in kept)):  # noqa: S608 - ours
                    path.unlink()
                    for suffix in ("-wal", "-shm"):
                        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
        raise
