"""What a failure of Postgres means for a ledger: which failures pass, and what a person can do about the others."""

from __future__ import annotations

from typing import Final

import asyncpg

from calipers.errors import LedgerError

REMEDY_OF_DAMAGE: Final = "Restore a backup, or begin another with ?schema=NAME."
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
    (
        (asyncpg.DiskFullError,),
        "The server's disk is full: free some space and run the same command again, nothing recorded is lost.",
    ),
    ((asyncpg.ReadOnlySQLTransactionError,), "The server is a read-only copy; name the primary server."),
    (
        (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError),
        "Its tables were changed by another program; restore a backup, or name another schema.",
    ),
    (
        (asyncpg.TooManyConnectionsError,),
        "The server has no free connection: close some, or raise its max_connections.",
    ),
    (
        _LOST,
        (
            "Check that the server runs and that host and port are right, then run the same command again; nothing "
            "recorded is lost."
        ),
    ),
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
    said = getattr(error, "message", None) or getattr(error, "strerror", None) or _said(error)
    return LedgerError(f"{name}: the ledger cannot be {verb} ({said}). {remedy}")


def _said(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "the server does not answer"
    return str(error).partition("\n")[0][:200] or type(error).__name__
