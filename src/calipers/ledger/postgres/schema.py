"""Creates a ledger's tables in Postgres, and rejects a database that is none."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from importlib.resources import files
from typing import Final

import asyncpg

from calipers.errors import LedgerError
from calipers.ledger.database import FORMAT, steps_back
from calipers.ledger.postgres.address import Address


def _sql(name: str) -> str:
    return files("calipers.ledger.postgres").joinpath(name).read_text(encoding="utf-8")


_BY_NAME: Final = "CREATE INDEX groups_by_name ON groups USING hash (group_id);"
"""Servers find groups by name. Names may be longer than an index of another kind takes."""

STEPS: Final[Mapping[int, tuple[str, str]]] = {
    5: (_BY_NAME, "DROP INDEX groups_by_name"),
}
"""By format: what takes the tables from the format before to this one, and back. Format 4 was the first in Postgres."""


def lock_of(address: Address, purpose: str) -> int:
    """Return the number of the advisory lock that serves ``purpose`` in a ledger's schema."""
    digest = blake2b(f"calipers {purpose} {address.schema}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


async def found_format(connection: asyncpg.Connection, address: Address, newest: int = FORMAT) -> int | None:
    """Return the format of the ledger in the schema, None if there is no ledger.

    Raises LedgerError for one of a newer calipers, and for a schema with other tables.
    """
    exists = await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", f'"{address.schema}".ledger_format')
    if exists:
        found = await connection.fetchval("SELECT max(format) FROM ledger_format")
        if found is not None and found > newest:
            raise LedgerError(
                f"{address.name}: written by a newer calipers (format {found}). Upgrade calipers to read it."
            )
        return int(found or 0)
    query = "SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1 LIMIT 1"
    if (other := await connection.fetchval(query, address.schema)) is not None:
        raise LedgerError(
            f"{address.name}: the schema {address.schema} holds another program's tables ({other}), not a ledger; name "
            "another with ?schema=NAME"
        )
    return None


async def require_ledger(connection: asyncpg.Connection, address: Address, newest: int = FORMAT) -> int:
    """Return the format of the ledger in the schema. Raises LedgerError if there is no ledger."""
    found = await found_format(connection, address, newest)
    if found is None:
        raise LedgerError(f"{address.name}: no such ledger. `calipers score ... --ledger URL` begins one.")
    return found


async def prepare(
    connection: asyncpg.Connection,
    address: Address,
    newest: int = FORMAT,
    steps: Mapping[int, tuple[str, str]] = STEPS,
) -> None:
    """Create the ledger's tables, or bring older ones to the ``newest`` format with ``steps``.

    Several processes may do so at the same moment.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", lock_of(address, "schema"))
        if (found := await found_format(connection, address, newest)) is not None:
            for number in range(found + 1, newest + 1):
                await connection.execute(steps[number][0])
                await connection.execute("UPDATE ledger_format SET format = $1", number)
            return
        if not await connection.fetchval("SELECT to_regnamespace($1) IS NOT NULL", f'"{address.schema}"'):
            await connection.execute(f'CREATE SCHEMA "{address.schema}"')
        await connection.execute(_sql("tables.sql") + _BY_NAME)
        await connection.execute("INSERT INTO ledger_format VALUES ($1)", FORMAT)


async def roll_back(
    connection: asyncpg.Connection, address: Address, to: int, steps: Mapping[int, tuple[str, str]] = STEPS
) -> None:
    """Bring the ledger's tables back to the older format ``to``."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", lock_of(address, "schema"))
        found = await require_ledger(connection, address, max((FORMAT, *steps)))
        for statement in steps_back(address.name, found, to, {number: back for number, (_, back) in steps.items()}):
            await connection.execute(statement)
        await connection.execute("UPDATE ledger_format SET format = $1", to)
