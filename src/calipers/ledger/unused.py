"""Removes the file of a ledger in which nothing was recorded, after a command that failed before its first question."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Final

from calipers.ledger.opening import is_postgres
from calipers.ledger.reading import ledger_path

_RECORDED: Final = ("runs", "answers", "groups")


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
    except BaseException:
        if path.is_file():
            # What cannot be opened or locked is another process's, and stays.
            with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as ledger:
                ledger.execute("PRAGMA locking_mode=EXCLUSIVE")
                ledger.execute("BEGIN EXCLUSIVE")
                if not any(ledger.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in _RECORDED):  # noqa: S608 - ours
                    path.unlink()
                    for suffix in ("-wal", "-shm"):
                        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
        raise
