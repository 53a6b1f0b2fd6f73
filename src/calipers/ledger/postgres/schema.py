"""Creates a ledger's tables in Postgres, and rejects a database that is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from itertools import count
from typing import Any, Final

import asyncpg

from calipers.errors import LedgerError
from calipers.ledger.database import COMPRESSED, FORMAT, Row, as_stored
from calipers.ledger.opening import Address

_MARK: Final = "␀"
_TEXT: Final = b"\0"
_PARAMETER: Final = re.compile(r"\?")


@lru_cache(maxsize=256)
def numbered(statement: str) -> str:
    """Return a ledger's SQL ``statement`` with Postgres' signs for values: ``$1`` for the first ``?``."""
    numbers = count(1)
    return _PARAMETER.sub(lambda _: f"${next(numbers)}", statement)


def to_postgres(values: Sequence[Any], in_bytes: frozenset[int]) -> Row:
    """Return a row of the ledger for Postgres; texts at the positions ``in_bytes`` are stored as bytes.

    Raises ValueError or TypeError for values that cannot be stored.
    """
    return tuple([_stored(value, at in in_bytes) for at, value in enumerate(values)])


def _stored(value: Any, as_bytes: bool) -> Any:  # noqa: FBT001 - a flag of each column
    if type(value) is not str:
        return as_stored(value)
    if not value.isascii():
        value = as_stored(value)
    if as_bytes:
        data = value.encode()
        return _TEXT + data if data.startswith((COMPRESSED, _TEXT)) else data
    return _marked(value) if "\0" in value or _MARK in value else value


def _marked(text: str) -> str:
    return text.replace(_MARK, _MARK * 2).replace("\0", _MARK + "0")


def from_postgres(rows: Iterable[Iterable[Any]]) -> list[Row]:
    """Return rows that Postgres returned as the ledger had them."""
    return [tuple([_read(value) for value in row]) for row in rows]


def _read(value: Any) -> Any:
    if type(value) is str:
        if _MARK not in value:
            return value
        return re.sub(f"{_MARK}(.)", lambda found: "\0" if found[1] == "0" else found[1], value, flags=re.DOTALL)
    if type(value) is bytes and not value.startswith(COMPRESSED):
        return value.removeprefix(_TEXT).decode("utf-8", "surrogateescape")
    return value


def lock_of(address: Address, purpose: str) -> int:
    """Return the number of the advisory lock that serves ``purpose`` in a ledger's schema."""
    digest = blake2b(f"calipers {purpose} {address.schema}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


async def require_ledger(connection: asyncpg.Connection, address: Address) -> None:
    """Raise LedgerError if there is no ledger in the schema, or one of another format."""
    if not await _has_ledger(connection, address):
        raise LedgerError(f"{address.name}: no such ledger. `calipers score ... --ledger URL` begins one.")


async def _has_ledger(connection: asyncpg.Connection, address: Address) -> bool:
    if await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", f'"{address.schema}".ledger_format'):
        found = await connection.fetchval("SELECT max(format) FROM ledger_format")
        if found != FORMAT:
            raise LedgerError(
                f"{address.name}: is a ledger of format {found}, and this version reads only format {FORMAT}: use the "
                "version of calipers that wrote it, or name another schema with ?schema=NAME"
            )
        return True
    query = "SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1 LIMIT 1"
    if (other := await connection.fetchval(query, address.schema)) is not None:
        raise LedgerError(
            f"{address.name}: the schema {address.schema} holds another program's tables ({other}), not a ledger; name "
            "another with ?schema=NAME"
        )
    return False


async def prepare(connection: asyncpg.Connection, address: Address) -> None:
    """Create the ledger's tables unless they are there. Several processes may do so at the same moment."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", lock_of(address, "schema"))
        if await _has_ledger(connection, address):
            return
        if not await connection.fetchval("SELECT to_regnamespace($1) IS NOT NULL", f'"{address.schema}"'):
            await connection.execute(f'CREATE SCHEMA "{address.schema}"')
        tables = files("calipers.ledger.postgres").joinpath("tables.sql").read_text(encoding="utf-8")
        await connection.execute(tables)
        await connection.execute("INSERT INTO ledger_format VALUES ($1)", FORMAT)
