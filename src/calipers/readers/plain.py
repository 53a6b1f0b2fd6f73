"""Foreign Python objects to plain data: dicts, lists, strings, numbers, None.

By duck typing: a pydantic model, a dataclass, a numpy array or an object with attributes is recognised by its methods,
so that no library is imported for it. Not responsible for what the data means.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from calipers.errors import InputError

MAX_DEPTH = 100
"""Levels of nested lists and objects. Real data has a dozen; Python's own JSON fails between 300 and 1,000, depending
on the call stack.
"""
TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"
_ATOMS = frozenset((str, int, float, bool, type(None)))


def plain(value: Any, depth: int = 0) -> Any:
    """``value`` as JSON-like data; containers are copied, deeply.

    Raises InputError for values without a plain form, and for values nested too deeply to be written, hashed and read
    again whatever the call stack.
    """
    kind = type(value)
    if kind in _ATOMS:
        return value if kind is not float or math.isfinite(value) else None  # a ledger cannot store NaN
    if depth > MAX_DEPTH:
        raise InputError(TOO_DEEP)
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth + 1) for item in value]
    return _plain_object(value, depth + 1)


def _plain_object(value: Any, depth: int) -> Any:  # noqa: PLR0911 - one return a kind
    if isinstance(value, enum.Enum):
        return plain(value.value, depth)
    for base in (str, int, float):
        if isinstance(value, base):
            return base(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    fields = attributes(value)
    if fields is not None:
        return {key: plain(item, depth) for key, item in fields.items()}
    if callable(getattr(value, "tolist", None)):  # numpy arrays and scalars, without importing numpy
        return plain(value.tolist(), depth)
    if isinstance(value, Iterable):
        return [plain(item, depth) for item in value]
    return str(value)  # dates, decimals, UUIDs, URLs


def attributes(value: Any) -> dict[str, Any] | None:
    """The fields of a record-like object (pydantic model, dataclass, object with attributes), or None for any other."""
    if isinstance(value, type):
        raise InputError(f"is the class {value.__name__}, not an instance of it")
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        fields = dump(warnings=False)  # pydantic warns of union members that it serialises by shape
        return fields if isinstance(fields, dict) else None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    bag = getattr(value, "__dict__", None)
    if isinstance(bag, dict) and not bag.keys().isdisjoint(("role", "type", "content")):
        return {key: item for key, item in bag.items() if not key.startswith("_")}
    return None


def compact(value: Any) -> str:
    """JSON without spaces, in the order of the keys, characters unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def is_encodable(text: str) -> bool:
    """Whether ``text`` can be written as UTF-8; a lone surrogate, which JSON escapes can bring in, cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def without_surrogates(value: Any) -> Any:
    """Plain data with every lone surrogate replaced by U+FFFD, so that it can be hashed, sent and stored."""
    if isinstance(value, str):
        return value if is_encodable(value) else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    return value


def finite(value: Any, depth: int = 0) -> Any:
    """Plain data with NaN and infinities as None, which JSON cannot express and result files must not hold.

    Raises InputError for values nested too deeply, as ``plain`` does.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > MAX_DEPTH:
        raise InputError(TOO_DEEP)
    if isinstance(value, dict):
        return {key: finite(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item, depth + 1) for item in value]
    return value


def kind_of(value: Any) -> str:
    """The type of a value in words, for error messages."""
    names = {str: "text", bool: "true or false", int: "a number", float: "a number", type(None): "null"}
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return names.get(type(value), f"a {type(value).__name__}")
