"""Convert foreign Python objects to plain data: dicts, lists, strings, numbers, None.

A pydantic model, a dataclass, a numpy array or an object with attributes is recognised by its methods, so that no
library is imported for it.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from calipers.errors import InputError

MAX_DEPTH = 100
"""The largest number of levels of nested lists and objects. Real data has a dozen; Python's own JSON module fails
between 300 and 1,000 levels, depending on the call stack.
"""
TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"
_ATOMS = frozenset((str, int, float, bool, type(None)))
_ADDRESS = re.compile(" at 0x[0-9A-Fa-f]{1,16}")
"""Where an object is in memory, which differs in every run."""


def plain_data(value: Any, depth: int = 0) -> Any:
    """Return a deep copy of ``value``, a foreign object that was read, as JSON-like data.

    Raises InputError for values without a plain form, and for values nested so deeply that writing, hashing or reading
    them could exceed the call stack.
    """
    kind = type(value)
    if kind in _ATOMS:
        return value if kind is not float or math.isfinite(value) else None  # a ledger cannot store NaN
    if depth >= MAX_DEPTH:
        raise InputError(TOO_DEEP)
    if isinstance(value, Mapping):
        return {str(key): plain_data(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_data(item, depth + 1) for item in value]
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode("ascii")
    return _plain_object(value, depth + 1)


def _plain_object(value: Any, depth: int) -> Any:  # noqa: PLR0911 - one return per kind
    if isinstance(value, enum.Enum):
        return plain_data(value.value, depth)
    for base in (str, int, float):
        if isinstance(value, base):
            return plain_data(base(value), depth)  # numpy's NaN is one, too
    fields = record_fields(value)
    if fields is not None:
        return {key: plain_data(item, depth) for key, item in fields.items()}
    for name in ("tolist", "isoformat", "total_seconds"):  # arrays and scalars of NumPy, times
        if callable(read := getattr(value, name, None)):
            return plain_data(read(), depth)
    if callable(getattr(value, "as_integer_ratio", None)):  # a decimal or a fraction
        number = float(value)
        return plain_data(int(value) if number.is_integer() else number, depth)
    if isinstance(value, Iterable):
        return [plain_data(item, depth) for item in value]
    return _ADDRESS.sub("", str(value))  # UUIDs, URLs


def record_fields(value: Any) -> dict[str, Any] | None:
    """Return the fields of a foreign pydantic model, dataclass or object with attributes; None for any other object."""
    if isinstance(value, type):
        raise InputError(f"is the class {value.__name__}, not an instance of it")
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        fields = dump(warnings=False)  # pydantic warns of union members that it serialises by their form
        return fields if isinstance(fields, dict) else None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    bag = getattr(value, "__dict__", None)
    if isinstance(bag, dict) and not bag.keys().isdisjoint(("role", "type", "content")):
        return {key: item for key, item in bag.items() if not key.startswith("_")}
    return None


def compact_json(value: Any) -> str:
    """Return foreign data as JSON without spaces, in the order of its keys, with non-ASCII characters unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def is_encodable(text: str) -> bool:
    """Return whether foreign ``text`` can be written as UTF-8, which a lone surrogate (from JSON escapes) cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def without_surrogates(value: Any) -> Any:
    """Return foreign data with U+FFFD for every lone surrogate, so that it can be hashed, sent and stored."""
    if isinstance(value, str):
        return value if is_encodable(value) else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    return value


def type_in_words(value: Any) -> str:
    """Return the type of a foreign value in words for error messages: ``[]`` -> "a list"."""
    names = {str: "text", bool: "true or false", int: "a number", float: "a number", type(None): "null"}
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, float) and math.isnan(value):
        return "NaN"  # how a data frame writes a missing value
    return names.get(type(value), f"a {type(value).__name__}")
