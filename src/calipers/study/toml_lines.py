"""The lines of a TOML file on which its tables and keys begin.

tomllib tells values without lines. Not responsible for values, or for whether the file is valid.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Place: TypeAlias = tuple[str | int, ...]
"""The keys that lead to a value of a TOML file; a table in a list has a number from 0."""

_PART: Final = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_NAME: Final = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER: Final = re.compile(rf"\s*(\[\[?)\s*({_NAME})\s*\]\]?\s*(?:#.*)?$")
_KEY: Final = re.compile(rf"\s*({_NAME})\s*=")
_LONG_TEXT: Final = re.compile("\"\"\"|'''")


def lines_of(text: str, content: Mapping[str, Any]) -> dict[Place, int]:
    """Return the line on which each table and each key of a TOML file begins, as far as lines show it.

    ``content`` is what the file holds. Keys within braces or a list have no line of their own.
    """
    found: dict[Place, int] = {}
    table: Place = ()
    rows: dict[Place, int] = {}
    in_text = False
    for number, line in enumerate(text.splitlines(), 1):
        begins_in_text = in_text
        in_text ^= len(_LONG_TEXT.findall(line)) % 2 == 1
        if begins_in_text:
            continue
        if header := _HEADER.match(line):
            place = _place(header[2], (), rows)
            if header[1] == "[[":
                rows[place] = rows.get(place, -1) + 1
                found.setdefault(place, number)
                place = (*place, rows[place])
            if isinstance(value_at(content, place), Mapping):
                table = place
                found.setdefault(table, number)
        elif key := _KEY.match(line):
            place = _place(key[1], table, rows)
            for size in range(len(table) + 1, len(place) + 1):
                if value_at(content, place[:size]) is not None:
                    found.setdefault(place[:size], number)
    return found


def value_at(content: object, place: Sequence[str | int]) -> Any:
    """Return the value at a place of a TOML file's ``content``, or None, which no value of TOML is."""
    found: Any = content
    for part in place:
        if isinstance(part, int):
            found = found[part] if isinstance(found, list) and part < len(found) else None
        else:
            found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _place(name: str, table: Place, rows: Mapping[Place, int]) -> Place:
    """Return the place of a dotted ``name`` within ``table``; a list of tables stands for its last one so far."""
    place = table
    for part in re.findall(_PART, name):
        if place in rows and len(place) > len(table):
            place = (*place, rows[place])
        place = (*place, part.strip("\"'"))
    return place
