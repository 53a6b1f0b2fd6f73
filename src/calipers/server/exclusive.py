"""Keeps a second server away from a ledger that only one may have: groups of one id would be judged at both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from calipers.errors import LedgerError
from calipers.ledger.opening import is_postgres
from calipers.ledger.reading import FileReader, ledger_path, require_regular


@contextmanager
def only_server_of(ledgers: Iterable[str | None]) -> Iterator[None]:
    """Be the only server of these ledgers while the block runs; a killed server holds nothing. Postgres is shared.

    Raises LedgerError if another server has one of them. A file beside the ledger is locked, where the system can.
    """
    with ExitStack() as held:
        for one in ledgers:
            if one is not None and not is_postgres(one):
                path = ledger_path(one)
                _require_ledger(path)
                beside = path.with_name(f"{path.name}.server")
                try:
                    file = held.enter_context(beside.open("ab"))
                except OSError as error:
                    raise LedgerError(f"{path}: the ledger cannot be opened: {error.strerror}") from error
                _lock(file, path)
        yield


def _require_ledger(path: Path) -> None:
    """Raise LedgerError for a ledger that cannot be opened, before a file is put beside it."""
    if require_regular(path if path.name else Path()) is not None:
        FileReader(path).close()


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise LedgerError(
            f"{path}: another server has this ledger. Several servers need a ledger in Postgres: --ledger postgresql://..."
        ) from error
