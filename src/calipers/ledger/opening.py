"""Opens a ledger by its location: a path or ``sqlite:///`` URL, or a ``postgresql://`` URL."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from calipers.errors import LedgerError
from calipers.ledger.database import ReadableLedger, Row, WritableLedger
from calipers.ledger.reading import FileReader
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


class LedgerReader(ReadableLedger):
    """The ledger at ``location``, only read, as it is at the moment it is opened: a run that writes to it meanwhile
    changes nothing for this reader, and is not held up by it.

    A ledger of an older version is read without converting it. ``runs_recorded`` is False for a file that has no tables
    yet. Use it as a context manager. Raises LedgerError, with the remedy, for a ledger that cannot be read.
    """

    def __init__(self, location: str | Path) -> None:
        self._source: ReadableLedger = _opened_to_read(location)
        self.remedy_of_damage = self._source.remedy_of_damage
        self.runs_recorded = self.has_table("runs")

    @property
    def name(self) -> str:
        """The ledger's path, or its address without a password."""
        return self._source.name

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a read-only query to the ledger. Raises LedgerError if it cannot be read."""
        return self._source.rows(query, values)

    def has_table(self, name: str) -> bool:
        """Return whether the ledger has a table; those of older versions have fewer."""
        return self._source.has_table(name)

    def check(self) -> None:
        """Raise LedgerError unless the ledger's database finds itself sound."""
        self._source.check()

    def hold(self) -> None:
        """Read the ledger from now on as it is now, whatever a run records meanwhile."""
        self._source.hold()

    def close(self) -> None:
        """Close the ledger."""
        self._source.close()


def _opened_to_read(location: str | Path) -> ReadableLedger:
    if is_postgres(location):
        _require_driver(location)
        from calipers.ledger.postgres.reader import PostgresReader  # noqa: PLC0415 - an extra

        return PostgresReader(str(location))
    return FileReader(location)


def _require_driver(location: str | Path) -> None:
    if find_spec("asyncpg") is None:
        raise LedgerError(
            f"{ledger_name(location)}: a ledger in Postgres needs an extra: pip install 'calipers[postgres]'"
        )
