"""The messages between the fork server and its client, and plain Python data in them with its types, as JSON.

Pure, and safe for data from foreign code: no name is looked up, no function called and no object built except those
here.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

_LENGTH = struct.Struct(">I")


def pack_message(message: Any) -> bytes:
    """Encode a message between sandbox and client. Escaping it to ASCII keeps half a surrogate pair."""
    text = json.dumps(message, separators=(",", ":")).encode("ascii")
    return _LENGTH.pack(len(text)) + text


def unpack_message(buffer: bytearray) -> Any | None:
    """Remove the sandbox's first complete message from ``buffer`` and return it. None if no message is complete yet."""
    if len(buffer) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(buffer)
    end = _LENGTH.size + length
    if len(buffer) < end:
        return None
    message = json.loads(buffer[_LENGTH.size : end])
    del buffer[:end]
    return message


_DEEPEST: Final = 50
MOST_MEMBERS: Final = 10_000
"""The most members that all sets and dicts of a value may have together. Numbers can be chosen so that each costs a
comparison with all others: 75,000 of them took 15 s.
"""
_MOST_COLLISIONS: Final = 64
"""The most members that may share a hash, because they are compared with each other and may be long."""
_TABLES: Final = frozenset({"set", "frozenset", "dict"})
_WHOLE: Final = slice(None)
_PLAIN_TYPES: Final[Mapping[type, Callable[[Any], Any]]] = {
    int: int.__pos__,
    float: float.__pos__,
    complex: complex.__pos__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, _WHOLE),
    list: lambda value: list.__getitem__(value, _WHOLE),
    tuple: lambda value: tuple.__getitem__(value, _WHOLE),
    dict: dict.copy,
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
}
"""For each plain type, the method that returns the plain value of an object of a subclass, ignoring
overridden methods.
"""


class UnplainError(Exception):
    """Raised for a value that is not plain data. The message names its type."""


def encode_plain(value: Any, depth: int = 0) -> Any:
    """Encode plain data for the sandbox as JSON with types as tags. Raises UnplainError for any other type.

    An object of a subclass, such as a Counter or a named tuple, is encoded as its plain type, ignoring overridden
    methods.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind not in _PLAIN_TYPES:
        return encode_plain(_as_plain_type(value), depth)
    if depth > _DEEPEST:
        raise UnplainError("a value nested too deeply")
    if kind is list:
        return [encode_plain(item, depth + 1) for item in value]
    return {kind.__name__: _parts(value, depth + 1)}


def _parts(value: Any, depth: int) -> list[Any]:
    """Return the encoded parts of a value that is written with a tag."""
    match value:
        case complex():
            return [value.real, value.imag]
        case bytes():
            return [value.hex()]
        case dict():
            return [[encode_plain(key, depth), encode_plain(item, depth)] for key, item in value.items()]
    return [encode_plain(item, depth) for item in value]


def _as_plain_type(value: Any) -> Any:
    """Convert an object of a subclass into its plain type."""
    for kind, part in _PLAIN_TYPES.items():
        if issubclass(type(value), kind):
            return part(value)
    raise UnplainError(f"a value of type {type(value).__name__}")


def decode_plain(value: Any) -> Any:
    """Decode the sandbox's plain data, in time bounded by its length, because foreign code may have written it.

    Raises UnplainError for an invalid encoding, and for sets and dicts with too many members or equal hashes.
    """
    if _member_count(value) > MOST_MEMBERS:
        raise UnplainError(f"sets and dicts of more than {MOST_MEMBERS:,} members")
    return _decoded(value, 0)


def _without_collisions(members: list[Any]) -> list[Any]:
    if len(members) > _MOST_COLLISIONS and max(Counter(map(hash, members)).values()) > _MOST_COLLISIONS:
        raise UnplainError("a set or dict whose members share a hash")
    return members


def _member_count(value: Any) -> int:
    """Return the number of members of all sets and dicts in encoded data."""
    count, left = 0, [value]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += one
        elif isinstance(one, dict):
            count += sum(len(parts) for tag, parts in one.items() if tag in _TABLES and isinstance(parts, list))
            left += one.values()
    return count


def _decoded(value: Any, depth: int) -> Any:
    # One level more than when encoding, because the values of a job are in a list.
    if depth > _DEEPEST + 1 and isinstance(value, list | dict):
        raise UnplainError("a value nested too deeply")
    match value:
        case list():
            return [_decoded(item, depth + 1) for item in value]
        case dict() if len(value) == 1:
            ((tag, items),) = value.items()
            return _tagged(tag, items, depth)
        case dict():
            raise UnplainError("an object without a tag")
    return value


def _tagged(tag: str, items: Any, depth: int) -> Any:
    if not isinstance(items, list):
        raise UnplainError("a tag without items")
    try:
        match tag:
            case "tuple":
                return tuple(_decoded(item, depth + 1) for item in items)
            case "set":
                return set(_without_collisions([_decoded(item, depth + 1) for item in items]))
            case "frozenset":
                return frozenset(_without_collisions([_decoded(item, depth + 1) for item in items]))
            case "dict":
                pairs = [(_decoded(key, depth + 1), _decoded(item, depth + 1)) for key, item in items]
                _without_collisions([key for key, _ in pairs])
                return dict(pairs)
            case "complex":
                return complex(*items)
            case "bytes":
                (text,) = items
                return bytes.fromhex(text)
    except (TypeError, ValueError, OverflowError):
        raise UnplainError(f"a {tag} that cannot be one") from None
    raise UnplainError("an unknown tag")
