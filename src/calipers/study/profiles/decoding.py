"""Makes frozen dataclasses of JSON data, strictly: every key known, every type right, every number finite.

Not responsible for files (``files``), or for whether the values fit together.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Path = tuple[str, ...]
"""The keys that lead to a value of a JSON document."""


class DecodingError(Exception):
    """A value of a profile's document that does not fit, at ``path``."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def decode(kind: Any, value: Any, path: Path = ()) -> Any:
    """Return ``value``, part of a profile's JSON document, as the type ``kind``: a dataclass, a container or plain.

    Raises DecodingError for a value that does not fit.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind, value, path)
    if origin in (Union, types.UnionType):
        (inner,) = (one for one in arguments if one is not type(None))
        return None if value is None else decode(inner, value, path)
    if origin is tuple:
        return _tuple(arguments, value, path)
    if origin is Mapping:
        return _mapping(arguments, value, path)
    return _plain(kind, value, path)


def _dataclass(kind: type, value: Any, path: Path) -> Any:
    entries = _require(value, Mapping, "an object", path)
    known = {one.name: one for one in fields(kind)}
    for key in entries:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(known)}"
            raise DecodingError(f"is an unknown key; {hint}", (*path, key))
    for name, one in known.items():
        if name not in entries and one.default is MISSING and one.default_factory is MISSING:
            raise DecodingError(f"lacks {name!r}", path)
    hints = get_type_hints(kind)
    return kind(**{key: decode(hints[key], one, (*path, key)) for key, one in entries.items()})


def _tuple(arguments: tuple[Any, ...], value: Any, path: Path) -> tuple[Any, ...]:
    entries = _require(value, list, "a list", path)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(decode(arguments[0], one, path) for one in entries)
    if len(entries) != len(arguments):
        raise DecodingError(f"must have {len(arguments)} entries, not {len(entries)}", path)
    return tuple(decode(kind, one, path) for kind, one in zip(arguments, entries, strict=True))


def _mapping(arguments: tuple[Any, ...], value: Any, path: Path) -> dict[Any, Any]:
    keys, values = arguments
    entries = _require(value, Mapping, "an object", path)
    return {decode(keys, key, (*path, key)): decode(values, one, (*path, key)) for key, one in entries.items()}


def _plain(kind: Any, value: Any, path: Path) -> Any:
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise DecodingError(f"is {value!r:.40}; known: {', '.join(map(repr, get_args(kind)))}", path)
        return value
    if kind is str:
        return _require(value, str, "text", path)
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    words = {int: "a whole number", float: "a finite number"}[kind]
    raise DecodingError(f"must be {words}, not {value!r:.40}", path)


def _require(value: Any, kind: Any, words: str, path: Path) -> Any:
    if not isinstance(value, kind):
        raise DecodingError(f"must be {words}, not {value!r:.40}", path)
    return value


def line_of(text: str, path: Sequence[str]) -> int:
    """Return the 1-based line of a profile's document ``text`` on which the value at ``path`` begins.

    Each key is looked for after the one before it, so a document that repeats the keys in other places above may give
    an earlier line.
    """
    at = 0
    for key in path:
        found = text.find(f'"{key}"', at)
        if found < 0:
            break
        at = found
    return text.count("\n", 0, at) + 1
