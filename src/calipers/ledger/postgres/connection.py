"""A connection to Postgres on a thread of its own, for callers on any thread or event loop; it outlives the server's
restarts.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

import asyncpg

from calipers.errors import LedgerError
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


def is_lost(error: BaseException) -> bool:
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
