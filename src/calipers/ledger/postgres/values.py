"""How a ledger's values are stored in Postgres, whose text cannot contain the character NUL, and read back unchanged.

A NUL is stored as ``␀0`` and the character ``␀`` as ``␀␀``. Columns that may hold compressed data are bytes; text in
them is UTF-8. JSON does not begin like compressed data; a text that does is stored with a byte 0 before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, Final

from calipers.ledger.database import Row, as_stored

_MARK: Final = "␀"
_COMPRESSED: Final = (b"\x28\xb5\x2f\xfd", b"\x78")
"""The first bytes of Zstandard's and zlib's data."""
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
        return _TEXT + data if data.startswith((*_COMPRESSED, _TEXT)) else data
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
    if type(value) is bytes and not value.startswith(_COMPRESSED):
        return value.removeprefix(_TEXT).decode("utf-8", "surrogateescape")
    return value
