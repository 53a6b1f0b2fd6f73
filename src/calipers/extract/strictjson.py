"""JSON as replies write it: strict, with bounds, and the nodes that damaged JSON is read into.

Repeated keys are kept, long integers become floats, and depth and size cannot hurt. Damaged JSON is read by ``tolerant``.
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
    """An object as it was written: (key, value) in order, repeated keys kept, key None for a value without one."""

    __slots__ = ("closed",)

    def __init__(self, pairs: Any = (), *, closed: bool = False) -> None:
        super().__init__(pairs)
        self.closed = closed


class Items(list[Any]):
    """A list as it was written."""

    __slots__ = ("closed",)

    def __init__(self) -> None:
        super().__init__()
        self.closed = False


class Cut:
    """Stands in a parsed document for a scalar at which the text ended."""

    __slots__ = ()


CUT = Cut()


def strict(text: str) -> Any:
    """``text`` as one JSON document, or None; repeated keys are kept, and size is bounded by the marks in it."""
    if text.count("{") + text.count("[") > _MAX_BRACKETS or text.count(",") > _MAX_COMMAS:
        return None
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):  # no JSON, or nested too deep to be a verdict
        return None


def pairs_of(node: Any) -> Collection[tuple[Any, Any]]:
    """The (key, value) pairs of an object, strict or mended; none of anything else."""
    if isinstance(node, Pairs):
        return node
    return node.items() if isinstance(node, dict) else ()


def plain_key(key: object) -> str:
    """A key as keys are compared: in lower case, with ``_`` between its words."""
    return re.sub(r"[\W_]+", "_", str(key)[:80]).strip("_").lower()


def _integer(digits: str) -> int | float:
    """An int, or a float where converting many digits would take long or be refused."""
    return int(digits) if len(digits) <= _LONG_INTEGER else float(digits)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    """A dict, or ``Pairs`` where a key repeats (a dict would silently keep the last)."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else Pairs(pairs, closed=True)


DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_int=_integer)
