"""A ledger in Postgres that is only read, as it is at the moment it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

from calipers.ledger.database import ReadableLedger, Row
from calipers.ledger.postgres.address import Address
from calipers.ledger.postgres.connection import Connection, LoopThread
from calipers.ledger.postgres.errors import REMEDY_OF_DAMAGE
from calipers.ledger.postgres.schema import require_ledger
from calipers.ledger.postgres.values import from_postgres, numbered

_PATIENCE = 30.0


class PostgresReader(ReadableLedger):
    """The ledger at a ``postgresql://`` URL, read in one snapshot, which holds up no run that writes meanwhile.

    Raises LedgerError, with the remedy, for one that cannot be read.
    """

    remedy_of_damage = REMEDY_OF_DAMAGE

    def __init__(self, location: str) -> None:
        self._address = Address.of(location)
        self._thread = LoopThread()
        try:
            self._thread.call(self._open())
        except BaseException:
            self.close()
            raise

    async def _open(self) -> None:
        self._connection = Connection(self._address, _PATIENCE)
        await self._connection.run("opened", self._begin, again=False)

    async def _begin(self, connection: asyncpg.Connection) -> None:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        await require_ledger(connection, self._address)

    @property
    def name(self) -> str:
        """The ledger's address without its password, for messages."""
        return self._address.name

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a read-only query to the ledger. Raises LedgerError if it cannot be read."""
        return from_postgres(self._thread.call(self._fetch(numbered(query), values)))

    async def _fetch(self, query: str, values: Sequence[Any]) -> list[asyncpg.Record]:
        # A new connection would have another snapshot, so a lost one is not opened again.
        return await self._connection.run("read", lambda one: one.fetch(query, *values), again=False)

    def has_table(self, name: str) -> bool:
        """Return whether the ledger has a table."""
        return bool(self.rows("SELECT to_regclass(?) IS NOT NULL", (name,))[0][0])

    def close(self) -> None:
        """Close the connection to the ledger's server."""
        self._thread.call(self._connection.close())
        self._thread.stop()
