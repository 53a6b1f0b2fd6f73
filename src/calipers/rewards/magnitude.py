"""Arithmetic for rewards of any magnitude: sums and squares that do not overflow, and rounding relative to size.

Rewards of a user's own and reward ranges are finite, but may be as large or as small as floats can be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_DIGITS: Final = 9


def exponent_of(values: Sequence[float]) -> int:
    """Return the power of two just above the largest magnitude of the rewards; 0 if there are none."""
    return math.frexp(max(map(abs, values), default=0.0))[1]


def scaled(values: Sequence[float]) -> list[float]:
    """Return rewards divided by one power of two, so that all are in [-1, 1]; no digit of the larger ones changes."""
    exponent = exponent_of(values)
    return [math.ldexp(value, -exponent) for value in values]


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of at least one reward, which is finite if all of them are."""
    return math.ldexp(math.fsum(scaled(values)) / len(values), exponent_of(values))


def rounded(value: float, values: Sequence[float]) -> float:
    """Return a reward rounded to nine decimals, or to more if the largest of the group's ``values`` is below 0.1."""
    largest = max(map(abs, values), default=0.0)
    return round(value, _DIGITS + max(0, -math.ceil(math.log10(largest))) if largest else _DIGITS)
