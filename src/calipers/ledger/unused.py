"""Removes the file of a ledger in which nothing was recorded, after a command that failed before its first question."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Final

from calipers.errors import ConfigError
from calipers.ledger.opening import is_postgres
from calipers.ledger.reading import ledger_path

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
