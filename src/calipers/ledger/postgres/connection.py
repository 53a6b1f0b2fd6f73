"""A connection to Postgres on a thread of its own, for callers on any thread or event loop; it outlives the server's
restarts. And the ledger's tables: they are created, a database that has others is rejected, and rows are translated.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from itertools import count
from typing import Any, Final, TypeVar

import asyncpg

from calipers.errors import LedgerError
from calipers.ledger.database import COMPRESSED, FORMAT, Row, as_stored
from calipers.ledger.opening import Address

_LOST: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # as the driver calls it when the server ends a connection between two statements
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
)
FAILURES: Final = (*_LOST, asyncpg.PostgresError, ValueError, TypeError)
"""All errors that the driver raises."""

_REMEDIES: Final[tuple[tuple[tuple[type[BaseException], ...], str], ...]] = (
    (
        (asyncpg.InvalidAuthorizationSpecificationError,),
        "Check the user and the password in the address, in PGPASSWORD or in ~/.pgpass.",
    ),
    ((asyncpg.InvalidCatalogNameError,), "Create the database with `createdb`, or name another."),
    (
        (asyncpg.InsufficientPrivilegeError,),
        (
            "Its owner must allow it: GRANT CREATE ON DATABASE to a user who begins the ledger, and USAGE on its "
            "schema with SELECT, INSERT, UPDATE and DELETE on its tables to one who records runs."
        ),
    ),
    (_LOST, "Check that the server runs at that host and port, and run the same command again; nothing is lost."),
)


def is_lost(error: BaseException | None) -> bool:
    """Return whether a ledger's server restarts or is out of reach, so that the same work may succeed later."""
    return isinstance(error, _LOST) and not isinstance(error, ValueError)  # ValueErrors are about addresses and values


def ledger_failure(name: str, verb: str, error: BaseException) -> LedgerError:
    """Return the LedgerError for what Postgres or the network said, with the remedy. ``name`` is the ledger's."""
    remedy = next(
        (text for kinds, text in _REMEDIES if isinstance(error, kinds)),
        "Run the same command again once this is fixed; nothing recorded is lost.",
    )
    reason = getattr(error, "message", None) or getattr(error, "strerror", None)
    if reason is None and isinstance(error, TimeoutError):
        reason = "the server does not answer"
    reason = reason or str(error).partition("\n")[0][:200] or type(error).__name__
    return LedgerError(f"{name}: the ledger cannot be {verb} ({reason}). {remedy}")


T = TypeVar("T")

_CONNECT_SECONDS: Final = 10.0
_AGAIN: Final = 0.2
_KEEPALIVE: Final = {"tcp_keepalives_idle": "15", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}
"""How the server notices, within half a minute, that the machine of a client is gone."""


class LoopThread:
    """A thread with an event loop, on which connections of a ledger live longer than the loops of their users."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="calipers-ledger", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self.loop.run_forever()
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        if left:
            self.loop.run_until_complete(asyncio.wait(left))
        self.loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the ledger's ``work`` on the thread and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def awaited(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the ledger's ``work`` on the thread, without blocking the caller's event loop.

        Cancelling the caller does not cancel the work.
        """
        return await asyncio.shield(asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop)))

    def stop(self) -> None:
        """End the thread; the ledger's connections are closed by then."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()


Begin = Callable[[asyncpg.Connection], Awaitable[None]]


class Connection:
    """A connection of a ledger that is opened again when it is lost. All methods run on the ledger's thread.

    ``begin`` prepares each new connection. The server may take ``patience`` seconds to answer, and a lost server is
    waited for as long. Work that the loss of a connection interrupts is done again, so it must be repeatable.
    """

    def __init__(self, address: Address, patience: float, begin: Begin | None = None) -> None:
        self._address = address
        self._patience = patience
        self._begin = begin
        self._connection: asyncpg.Connection | None = None
        self._in_use = asyncio.Lock()
        self._lost_at: float | None = None

    async def run(self, verb: str, work: Callable[[asyncpg.Connection], Awaitable[T]], *, again: bool = True) -> T:
        """Return the result of ``work`` with a connection; ``verb`` is for messages ("read", "written").

        After a loss it is tried again, unless ``again`` is False and the server is not starting. Raises LedgerError,
        with the remedy.
        """
        async with self._in_use:
            while True:
                try:
                    async with asyncio.timeout(self._patience):
                        result = await work(await self._connected())
                except FAILURES as error:
                    again = again or isinstance(error, asyncpg.CannotConnectNowError)
                    if is_lost(error):
                        await self._discard()
                    if not (is_lost(error) and again and self._may_wait()):
                        raise ledger_failure(self._address.name, verb, error) from error
                else:
                    self._lost_at = None
                    return result
                await asyncio.sleep(_AGAIN)

    def _may_wait(self) -> bool:
        now = asyncio.get_running_loop().time()
        self._lost_at = self._lost_at or now
        return now - self._lost_at < self._patience

    async def _connected(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            connection = await asyncpg.connect(
                self._address.dsn,
                timeout=_CONNECT_SECONDS,
                server_settings={"search_path": self._address.schema, "application_name": "calipers"} | _KEEPALIVE,
            )
            self._connection = connection
            if self._begin is not None:
                await self._begin(connection)
        return self._connection

    async def _discard(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        """Close the ledger's connection; a server that does not answer is not waited for."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            try:
                await connection.close(timeout=2)
            except FAILURES:
                connection.terminate()


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
        return re.sub(f"{_MARK}(.)", lambda escape: "\0" if escape[1] == "0" else escape[1], value, flags=re.DOTALL)
    if type(value) is bytes and not value.startswith(COMPRESSED):
        return value.removeprefix(_TEXT).decode("utf-8", "replace")
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
        stored = await connection.fetchval("SELECT max(format) FROM ledger_format")
        if stored != FORMAT:
            raise LedgerError(
                f"{address.name}: is a ledger of format {stored}, and this version reads only format {FORMAT}: use the "
                "version of calipers that wrote it, or name another schema with ?schema=NAME"
            )
        return True
    query = "SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1 LIMIT 1"
    if (table := await connection.fetchval(query, address.schema)) is not None:
        raise LedgerError(
            f"{address.name}: the schema {address.schema} holds another program's tables ({table}), not a ledger; name "
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
