"""Opens a ledger by its location: a path or ``sqlite:///`` URL, or a ``postgresql://`` URL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from calipers.errors import LedgerError
from calipers.ledger.database import ReadableLedger, WritableLedger
from calipers.ledger.sqlite import FileReader, Ledger

_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]*)(:[0-9]{1,5})?")
_DEFAULT_SCHEMA: Final = "calipers"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a ledger in Postgres is: the driver's ``dsn``, the ``schema`` of the tables, the ``name`` for messages."""

    dsn: str = field(repr=False)
    schema: str
    name: str

    @classmethod
    def of(cls, location: str) -> Address:
        """Return the address in a ``postgresql://`` URL. The option ``schema=NAME`` chooses the ledger's schema.

        Raises LedgerError for a URL that cannot be read; the message does not repeat it, because it may contain a
        password.
        """
        parts = urlsplit(location)
        userinfo, _, hosts = parts.netloc.rpartition("@")
        unread = "@" in parts.path + parts.query + parts.fragment  # a special character of the password ended the host
        if unread or parts.fragment or not all(_HOST.fullmatch(host) for host in hosts.split(",")):
            raise LedgerError(
                "the postgresql:// address of the ledger cannot be read; write postgresql://USER:PASSWORD@HOST:PORT/"
                "DATABASE, with the special characters of the password percent-encoded (@ as %40, / as %2F, # as %23)"
            )
        options = parse_qsl(parts.query, keep_blank_values=True)
        schemas = [value for name, value in options if name == "schema"]
        schema = schemas[-1] if schemas else _DEFAULT_SCHEMA
        user = userinfo.partition(":")[0]
        shown = f"postgresql://{user}{'@' if user else ''}{hosts}{parts.path}"
        if schemas:
            shown += f"?schema={quote(schema)}"
        if not _SCHEMA.fullmatch(schema):
            raise LedgerError(f"{shown}: a schema is named by lower-case letters, digits and underscores")
        rest = urlencode([option for option in options if option[0] != "schema"])
        return cls(parts._replace(query=rest).geturl(), schema, shown)


def is_postgres(location: object) -> bool:
    """Return whether a ledger's location is the address of a Postgres database."""
    return str(location).startswith(("postgresql://", "postgres://"))


def ledger_name(location: str | Path) -> str:
    """Return a ledger's location for messages: its path, or its database's address without the password.

    Raises LedgerError for a ``postgresql://`` address that cannot be read; the message does not repeat it.
    """
    return Address.of(str(location)).name if is_postgres(location) else str(location)


def open_ledger(location: str | Path, *, create: bool = True) -> WritableLedger:
    """Open the ledger at ``location`` to record runs; it is created unless ``create`` is False.

    Raises LedgerError, with the remedy, if it cannot be opened.
    """
    if is_postgres(location):
        _require_driver(location)
        from calipers.ledger.postgres.ledger import PostgresLedger  # noqa: PLC0415 - an extra

        return PostgresLedger(str(location), create=create)
    return Ledger(location, create=create)


def read_ledger(location: str | Path) -> ReadableLedger:
    """Return the ledger at ``location``, only to be read, as it is at the moment it is opened: a run that writes to it
    meanwhile changes nothing for this reader, and is not held up by it.

    Use it as a context manager. Raises LedgerError, with the remedy, for a ledger that cannot be read.
    """
    if is_postgres(location):
        _require_driver(location)
        from calipers.ledger.postgres.ledger import PostgresReader  # noqa: PLC0415 - an extra

        return PostgresReader(str(location))
    return FileReader(location)


def _require_driver(location: str | Path) -> None:
    if find_spec("asyncpg") is None:
        raise LedgerError(
            f"{ledger_name(location)}: a ledger in Postgres needs an extra: pip install 'calipers[postgres]'"
        )
