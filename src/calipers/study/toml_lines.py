"""The lines of a TOML file on which its tables, keys and list elements begin.

tomllib returns values without lines. Not responsible for values, or for whether the file is valid.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Place: TypeAlias = tuple[str | int, ...]
"""The keys that lead to a value of a TOML file; an element of a list has a number from 0."""

DEEPEST: Final = 50
"""Values that are nested deeper are not looked at: no setting is, and a hostile file may nest without end."""
_PART: Final = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_NAME: Final = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_HEADER: Final = re.compile(rf"[ \t]*(\[\[?)[ \t]*({_NAME})[ \t]*\]\]?")
_KEY: Final = re.compile(rf"[ \t]*({_NAME})[ \t]*=")
_SKIPPED: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)+")
_TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}|" + r""""(?:\\.|[^"\\])*"|'[^'\n]*'|[\[\]{},]|[^\s\[\]{},#"']+""",
    re.DOTALL,
)
"""A whole text, a mark of a list or an inline table, or a part of any other value."""


def lines_of(text: str, content: Mapping[str, Any]) -> dict[Place, int]:
    """Return the line on which each table, key and list element of a TOML file begins.

    ``content`` is what the file holds. Values within braces or a list have places, too.
    """
    return _Scan(text, content).found


class _Scan:
    """A walk through the text of a valid TOML file; ``found`` has the lines of what was passed."""

    def __init__(self, text: str, content: Mapping[str, Any]) -> None:
        self.text, self.content = text, content
        self.found: dict[Place, int] = {}
        self._at, self._counted, self._line = 0, 0, 1
        self._rows: dict[Place, int] = {}
        table: Place = ()
        while self._next():
            if header := _HEADER.match(text, self._at):
                table = self._header(header[1], header[2], table)
                self._at = header.end()
            elif key := _KEY.match(text, self._at):
                place = self._note_key(key[1], table)
                self._at = key.end()
                self._value(place)
            else:  # the rest of what is no TOML
                break

    def _next(self) -> bool:
        """Skip blanks and remarks; return whether anything of the text is left."""
        if skipped := _SKIPPED.match(self.text, self._at):
            self._at = skipped.end()
        self._line += self.text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._at < len(self.text)

    def _header(self, mark: str, name: str, table: Place) -> Place:
        """Note a [table] or [[table]], and return its place; ``table`` if the file has no such table."""
        place = self._place(name, ())
        if mark == "[[":
            self._rows[place] = self._rows.get(place, -1) + 1
            self.found.setdefault(place, self._line)
            place = (*place, self._rows[place])
        if not isinstance(value_at(self.content, place), Mapping):
            return table
        for size in range(1, len(place) + 1):
            self.found.setdefault(place[:size], self._line)
        return place

    def _note_key(self, name: str, table: Place) -> Place:
        """Note the places of a dotted key within ``table``, and return that of its value."""
        place = self._place(name, table)
        for size in range(len(table) + 1, len(place) + 1):
            self.found.setdefault(place[:size], self._line)
        return place

    def _value(self, place: Place) -> None:
        """Pass the value at ``place``, with all lists and inline tables in it."""
        around: list[tuple[Place, int | None]] = []  # the open lists, with the number of an element, and tables (None)
        while len(place) <= DEEPEST and self._next() and (token := _TOKEN.match(self.text, self._at)):
            mark = token[0]
            if mark not in ("]", "}", ",") and around and around[-1][1] is not None:
                self.found.setdefault(place, self._line)
            self._at = token.end()
            if mark in ("[", "{"):
                around.append((place, 0 if mark == "[" else None))
            elif mark in ("]", "}"):
                place = around.pop()[0] if around else place
            elif mark == "," and around:
                outer, number = around[-1]
                around[-1] = (outer, None if number is None else number + 1)
            if not around:
                break
            if mark in ("[", "{", ","):
                place = self._inner(*around[-1])
        if len(place) > DEEPEST:
            self._next()
            self.found.setdefault(place, self._line)
        while self._at < len(self.text) and self.text[self._at] not in "\r\n#":  # such as the time behind a date
            self._at += 1

    def _inner(self, outer: Place, number: int | None) -> Place:
        """Return the place of a list's next element, or of an inline table's next value, whose key is noted."""
        if number is not None:
            return (*outer, number)
        self._next()
        key = _KEY.match(self.text, self._at)
        if key is None:  # an empty table
            return outer
        self._at = key.end()
        return self._note_key(key[1], outer)

    def _place(self, name: str, table: Place) -> Place:
        """Return the place of a dotted ``name`` within ``table``; a list of tables stands for its last one so far."""
        place = table
        for part in re.findall(_PART, name)[: DEEPEST + 1]:
            if place in self._rows and len(place) > len(table):
                place = (*place, self._rows[place])
            place = (*place, _unquoted(part))
        return place


def _unquoted(part: str) -> str:
    if part.startswith('"') and "\\" in part:
        value: str = tomllib.loads(f"key = {part}")["key"]
        return value
    return part.strip("\"'")


def value_at(content: object, place: Sequence[str | int]) -> Any:
    """Return the value at a place of a TOML file's ``content``, or None, which no value of TOML is."""
    found: Any = content
    for part in place:
        if isinstance(part, int):
            found = found[part] if isinstance(found, list) and part < len(found) else None
        else:
            found = found.get(part) if isinstance(found, Mapping) else None
    return found
