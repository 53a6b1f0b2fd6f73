"""Large sets and dicts written by foreign code, which are built in time linear in their size.

Python hashes a number by its value, and numbers can be chosen so that each collides with all others. A dict of 75,000
such keys, 600 kB of text, took 15 s to build, although no two hashes were equal. Here the key of a member is a text
with a salt that nobody outside this process can predict. Pure except for the salt.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

_SALT: Final = os.urandom(16).hex()


class LargeSet(AbstractSet[Any]):
    """A set that equals the plain set or frozenset of the same members."""

    __slots__ = ("_members", "frozen")

    def __init__(self, members: Iterable[Any], *, frozen: bool) -> None:
        self._members = {_salted_key(member): member for member in members}
        self.frozen = frozen

    def __contains__(self, member: object) -> bool:
        return _salted_key(member) in self._members

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members.values())

    def __len__(self) -> int:
        return len(self._members)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        return self._members.keys() == {_salted_key(member) for member in other}

    __hash__ = None  # type: ignore[assignment]  # no set or dict of these is ever built by hashes

    def __repr__(self) -> str:
        return f"a set of {len(self):,}"


class LargeDict(Mapping[Any, Any]):
    """A dict that equals the plain dict of the same items."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[tuple[Any, Any]]) -> None:
        self._items = {_salted_key(key): (key, value) for key, value in items}

    def __getitem__(self, key: object) -> Any:
        return self._items[_salted_key(key)][1]

    def __contains__(self, key: object) -> bool:
        return _salted_key(key) in self._items

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return len(self) == len(other) and all(key in self and self[key] == value for key, value in other.items())

    __hash__ = None  # type: ignore[assignment]  # likewise

    def __repr__(self) -> str:
        return f"a dict of {len(self):,}"


def _salted_key(member: object) -> str:
    return _SALT + _canonical_text(member)


def _canonical_text(value: object) -> str:
    """Return a text that is the same for equal values only. Raises TypeError for an unhashable value."""
    match value:
        case None:
            return "none"
        case int() | float() | complex():
            return _number_text(value)
        case str():
            return f"s{len(value)}:{value}"
        case bytes():
            return f"b{value.hex()}"
        case tuple():
            return f"({','.join(map(_canonical_text, value))})"
        case frozenset() | LargeSet(frozen=True):
            return f"{{{','.join(sorted(map(_canonical_text, value)))}}}"
    raise TypeError(f"unhashable type: {type(value).__name__!r}")


def _number_text(value: complex) -> str:
    """Return the text of a number. 1, 1.0 and True have the same text, because they are the same member of a set."""
    if isinstance(value, complex):
        return f"{_number_text(value.real)}+{_number_text(value.imag)}j" if value.imag else _number_text(value.real)
    if isinstance(value, float) and not value.is_integer():
        return value.hex()
    return hex(int(value))
