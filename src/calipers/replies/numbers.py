"""Reads the value of one score, alone or with its own scale (``8/10``, ``80 %``), and checks the scale of a verdict.

Scores are checked together: 7, 10 and 15 clamped separately to 1 would be a three-way tie.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Scale: TypeAlias = tuple[float, float]

_DUST: Final = 1e-6
"""The distance from a bound of the scale within which a float counts as equal to the bound."""
_ABSURD: Final = 1e6
NUMBER: Final = r"[-+−]?(?:\d{1,7}(?:[.,]\d{1,12})?|\.\d{1,12})(?:[eE][-+]?\d{1,2})?"
SCORE: Final = rf"{NUMBER}(?:\s{{0,2}}(?:/|out of)\s{{0,2}}\d{{1,4}}(?:\.\d)?|\s?%)?(?!\d)"
"""A pattern of a score: a number, with its scale if it states one."""
_SCORE: Final = re.compile(
    rf"(?P<number>{NUMBER})(?:\s{{0,2}}(?:/|out of)\s{{0,2}}(?P<top>\d{{1,4}}(?:\.\d)?)|\s?(?P<percent>%))?"
)
_WIDE: Final = str.maketrans("０１２３４５６７８９．／％", "0123456789./%")
_AROUND: Final = " \t*_`~\"'[]"


@dataclass(frozen=True, slots=True)
class Value:
    """A score on the scale asked for. ``top`` is that of a scale that the reply stated: 4 and 4/5 of 5 are equal."""

    number: float
    top: float | None = field(default=None, compare=False)


def read_value(raw: object, scale: Scale, top: float | None = None) -> Value | str:
    """Return the score that a JSON scalar or a text states, or the reason why it is none.

    ``top`` is the top of the scale that the object around it states.
    """
    if raw is None or isinstance(raw, bool):
        return "its score is no number"
    if isinstance(raw, int | float):
        return _value(float(raw), top, scale)
    if not isinstance(raw, str):
        return "its score cannot be read"
    match = _SCORE.fullmatch(raw[:60].translate(_WIDE).strip(_AROUND))
    if match is None:
        return "its score cannot be read"
    number = _number(match["number"])
    if number is None or (match["percent"] and 0 < number < 1):
        return "its score cannot be read"
    stated = 100.0 if match["percent"] else float(match["top"]) if match["top"] else top
    return _value(number, stated, scale)


def _number(text: str) -> float | None:
    whole = text.lstrip("+-−").partition(".")[0].partition(",")[0]
    comma = text.partition(",")[2]
    if (len(whole) > 1 and whole[0] == "0") or len(comma) > 2:
        return None
    return float(text.replace(",", ".").replace("−", "-"))


def _value(number: float, top: float | None, scale: Scale) -> Value | str:
    low, high = scale
    if not math.isfinite(number) or abs(number) > _ABSURD or top == 0:
        return "its score is no usable number"
    if top is None:
        return Value(
            float(low) if abs(number - low) <= _DUST else float(high) if abs(number - high) <= _DUST else number
        )
    if top == high:
        return Value(number, top)
    if not 0 <= number <= top:
        return Value(high + (high - low), top)  # off the scale that it states, and so off any other
    return Value(low + (high - low) * number / top, top)


def why_off_scale(values: Mapping[str, Value], scale: Scale) -> str | None:
    """Return why the scores of a verdict may be on another scale than the one asked for, or None."""
    low, high = scale
    bare: list[float] = []
    tops: list[float] = []
    has_fraction = False
    for value in values.values():
        if not low <= value.number <= high:
            return f"scale: {value.number:g} is not between {low:g} and {high:g}"
        if value.top is None:
            bare.append(value.number)
            has_fraction = has_fraction or 0 < value.number < 1
        elif value.top != high:
            tops.append(value.top)
    asked = f"where {low:g} to {high:g} was asked for"
    if tops and any(bare):
        return f"scale: a score with another scale beside one without {asked}"
    if not bare or not any(bare) or high < 10:
        return None
    if (high >= 100 and max(bare) <= high / 10) or (has_fraction and (high >= 100 or max(bare) <= 1)):
        return f"scale: {min(bare):g} to {max(bare):g} {asked}"
    return None
