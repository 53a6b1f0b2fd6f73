"""Parses the JSON of judges' replies strictly and within bounds, and defines the nodes for damaged JSON.

Repeated keys are all returned, long integers become floats, and depth and size are bounded. Damaged JSON is read by
``tolerant``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

_MAX_BRACKETS = 20_000
_MAX_COMMAS = 60_000
_LONG_INTEGER = 18


class Pairs(list[tuple[Any, Any]]):
    """A JSON object of a reply as (key, value) pairs, which keep repeated keys. A key that was lost is None."""

    __slots__ = ("closed",)

    def __init__(self, pairs: Any = (), *, closed: bool = False) -> None:
        super().__init__(pairs)
        self.closed = closed


class Items(list[Any]):
    """A JSON list of a reply, perhaps without its closing bracket."""

    __slots__ = ("closed",)

    def __init__(self) -> None:
        self.closed = False


class Cut:
    """The type of ``CUT``, which replaces a JSON scalar at which the reply ended."""

    __slots__ = ()


CUT = Cut()


def parse_strict_json(text: str) -> Any:
    """Extract the JSON document that a reply is. None if it is no JSON, or has too many brackets or commas."""
    if text.count("{") + text.count("[") > _MAX_BRACKETS or text.count(",") > _MAX_COMMAS:
        return None
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):  # no JSON, or nested too deep to be a verdict
        return None


def pairs_of(node: Any) -> Collection[tuple[Any, Any]]:
    """Extract the (key, value) pairs of a reply's JSON object, valid or repaired; no pairs for any other node."""
    if isinstance(node, Pairs):
        return node
    return node.items() if isinstance(node, dict) else ()


def plain_key(key: object) -> str:
    """Return an extracted JSON key in the form in which keys are compared: lower case, ``_`` between words."""
    return re.sub(r"[\W_]+", "_", str(key)[:80]).strip("_").lower()


def _integer(digits: str) -> int | float:
    """Convert digits to an int, or to a float if they are so many that Python would convert them slowly or refuse."""
    return int(digits) if len(digits) <= _LONG_INTEGER else float(digits)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    """Build a dict, or ``Pairs`` if a key repeats, because a dict would silently drop all but the last value."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else Pairs(pairs, closed=True)


DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_int=_integer)
