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
_KINDS: Final = (list, tuple, dict, set, frozenset, complex, bytes)
"""The types that are encoded with a tag, or as a JSON list."""
_SUBCLASSES: Final[Mapping[type, Callable[[Any], Any]]] = {
    int: int.__pos__, float: float.__pos__, str: str.__str__, complex: complex.__pos__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)), dict: dict.copy,
    list: lambda value: list.__getitem__(value, slice(None)),
    tuple: lambda value: tuple.__getitem__(value, slice(None)),
    set: lambda value: set(set.__iter__(value)), frozenset: lambda value: frozenset(frozenset.__iter__(value)),
}  # fmt: skip
"""How an object of a subclass becomes its plain type, ignoring overridden methods."""


class UnplainError(Exception):
    """Raised for a value that is not plain data. The message names its type."""


def encode_plain(value: Any, depth: int = 0) -> Any:
    """Encode plain data for the sandbox as JSON with types as tags. Raises UnplainError for any other type.

    An object of a subclass, such as a Counter or a named tuple, is encoded as its plain type.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind not in _KINDS:
        plain = next((part for base, part in _SUBCLASSES.items() if issubclass(kind, base)), None)
        if plain is None:
            raise UnplainError(f"a value of type {kind.__name__}")
        return encode_plain(plain(value), depth)
    if depth > _DEEPEST:
        raise UnplainError("a value nested too deeply")
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if kind is bytes:
        return {"bytes": [value.hex()]}
    items = value.items() if kind is dict else value
    parts = [encode_plain(list(item) if kind is dict else item, depth + 1) for item in items]
    return parts if kind is list else {kind.__name__: parts}


def decode_plain(value: Any) -> Any:
    """Decode the sandbox's plain data, in time bounded by its length, because foreign code may have written it.

    Raises UnplainError for an invalid encoding, and for sets and dicts with too many members or equal hashes.
    """
    if _member_count(value) > MOST_MEMBERS:
        raise UnplainError(f"sets and dicts of more than {MOST_MEMBERS:,} members")
    return _decoded(value, 0)


def _member_count(value: Any) -> int:
    """Return the number of members of all sets and dicts in encoded data."""
    count, left = 0, [value]
    while left:
        node = left.pop()
        if isinstance(node, list):
            left += node
        elif isinstance(node, dict):
            count += sum(len(parts) for tag, parts in node.items() if tag in _TABLES and isinstance(parts, list))
            left += node.values()
    return count


def _decoded(value: Any, depth: int) -> Any:
    # One level more than when encoding, because the values of a job are in a list.
    if depth > _DEEPEST + 1 and isinstance(value, list | dict):
        raise UnplainError("a value nested too deeply")
    if isinstance(value, list):
        return [_decoded(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    tag, items = next(iter(value.items()), ("", None))
    if len(value) != 1 or not isinstance(items, list):
        raise UnplainError("an object without one tag and its items")
    return _tagged(tag, items, depth)


def _tagged(tag: str, items: list[Any], depth: int) -> Any:
    try:
        match tag:
            case "complex":
                return complex(*items)
            case "bytes":
                (text,) = items
                return bytes.fromhex(text)
            case "tuple" | "set" | "frozenset" | "dict":
                parts = [_decoded(item, depth + 1) for item in items]
                members = [key for key, _ in parts] if tag == "dict" else parts
                if tag != "tuple" and max(Counter(map(hash, members)).values(), default=0) > _MOST_COLLISIONS:
                    raise UnplainError("a set or dict whose members share a hash")
                return _MAKE[tag](parts)
    except (TypeError, ValueError, OverflowError):
        raise UnplainError(f"a {tag} that cannot be one") from None
    raise UnplainError("an unknown tag")


_MAKE: Final[Mapping[str, Callable[[Any], Any]]] = {"tuple": tuple, "set": set, "frozenset": frozenset, "dict": dict}
