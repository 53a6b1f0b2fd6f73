"""The address of a ledger in Postgres: which server, database and schema; and how messages name it, without secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from calipers.errors import LedgerError

_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]*)(:[0-9]{1,5})?")
_DEFAULT_SCHEMA: Final = "calipers"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a ledger is: the ``dsn`` for the driver, the ``schema`` with the tables, and the ``name`` for messages."""

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
        given = [value for name, value in options if name == "schema"]
        schema = given[-1] if given else _DEFAULT_SCHEMA
        user = userinfo.partition(":")[0]
        shown = f"postgresql://{user}{'@' if user else ''}{hosts}{parts.path}"
        if given:
            shown += f"?schema={quote(schema)}"
        if not _SCHEMA.fullmatch(schema):
            raise LedgerError(f"{shown}: a schema is named by lower-case letters, digits and underscores")
        rest = urlencode([one for one in options if one[0] != "schema"])
        return cls(parts._replace(query=rest).geturl(), schema, shown)
