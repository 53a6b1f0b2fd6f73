"""Strict JSON with bounds: repeated keys are kept, long integers become floats, and depth and size cannot hurt."""

from __future__ import annotations

import json
from typing import Any

from calipers.extract.tolerant import Pairs

_MAX_BRACKETS = 20_000
_MAX_COMMAS = 60_000
_LONG_INTEGER = 18


def strict(text: str) -> Any:
    """``text`` as one JSON document, or None; repeated keys are kept, and size is bounded by the marks in it."""
    if text.count("{") + text.count("[") > _MAX_BRACKETS or text.count(",") > _MAX_COMMAS:
        return None
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):  # no JSON, or nested too deep to be a verdict
        return None


def integer(digits: str) -> int | float:
    """The decoder's hook: an int, or a float where converting many digits would take long or be refused."""
    return int(digits) if len(digits) <= _LONG_INTEGER else float(digits)


def unique_pairs(pairs: list[tuple[str, Any]]) -> Any:
    """The decoder's hook: a dict, or ``Pairs`` where a key repeats (a dict would silently keep the last)."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else Pairs(pairs, closed=True)


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=unique_pairs, parse_int=integer)
