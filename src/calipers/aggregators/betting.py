"""Bounds on a mean that hold at any time: bets against a limit, for values from 0 to 1 that arrive one after another.

A gambler who bets a share of the capital on every value has, after values x, the capital ∏ (1 + λ (x - m)). While the
values' conditional means are at most m, its expectation never rises, so it ever reaches 1/α with probability α at most
(Ville 1939). So a capital of 1/α is evidence at level α that a mean exceeds m, whenever one looks, whatever the values
depend on (Waudby-Smith & Ramdas, "Estimating means of bounded random variables by betting", *JRSS B* 86, 2024). Here
several shares are bet side by side, and the mean of their capitals counts. ``Evidence`` also splits the capital over
the times at which a change may begin (a mixture as in Shin, Ramdas & Rinaldo, "E-detectors", 2022), so that a late rise
is noticed after a good start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_SHARES: Final = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 15 / 16)
"""The shares of the largest allowed bet, which is 1 / m: with it, the lowest value takes the whole capital."""
_LEAST_LIMIT: Final = 1e-6
_STEPS: Final = 100
"""Bounds are rounded outwards to this many steps from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """How much ``count`` scores' errors, seen one after another, speak against a mean of at most ``limit``.

    ``capitals`` are those of the bets that have begun, one for each share. ``value`` is the capital of all, 1 at the
    start; that it ever reaches 1/α has probability α at most while every error's mean, given those before it, is at
    most ``limit``. An error counts from 0 to 1.
    """

    limit: float
    count: int = 0
    capitals: tuple[float, ...] = (0.0,) * len(_SHARES)

    def after(self, error: float) -> Evidence:
        """Return the evidence with one more error of a score."""
        begins = 1 / ((self.count + 1) * (self.count + 2))  # these sum to 1 over all times at which a change may begin
        capitals = (
            (capital + begins) * factor
            for capital, factor in zip(self.capitals, _factors(error, self.limit), strict=True)
        )
        return Evidence(self.limit, self.count + 1, tuple(min(one, 1e300) for one in capitals))

    @property
    def value(self) -> float:
        """The capital of all bets on scores' errors, those that have not begun included."""
        return math.fsum(self.capitals) / len(self.capitals) + 1 / (self.count + 1)


def evidence_above(values: Sequence[float], limit: float) -> float:
    """Return the largest capital won on scores' ``values`` (0-1) against a mean of at most ``limit``.

    1 over it is a p-value for independent values, whatever their number (Ville).
    """
    capitals, most = [1.0] * len(_SHARES), 1.0
    for value in values:
        capitals = [
            min(capital * factor, 1e300) for capital, factor in zip(capitals, _factors(value, limit), strict=True)
        ]
        most = max(most, math.fsum(capitals) / len(capitals))
    return most


def lower_bound(values: Sequence[float], level: float = 0.05) -> float:
    """Return a number that the mean of scores' ``values`` (0-1) exceeds, but for an error of probability ``level``.

    It is rounded down to a hundredth, and 0 without values.
    """
    low, high = 0, _STEPS  # the evidence against a limit falls as the limit rises
    while high - low > 1:
        middle = (low + high) // 2
        if evidence_above(values, middle / _STEPS) >= 1 / level:
            low = middle
        else:
            high = middle
    return low / _STEPS


def upper_bound(values: Sequence[float], level: float = 0.05) -> float:
    """Return a number that the mean of scores' ``values`` (0-1) is below, but for an error of probability ``level``."""
    return 1 - lower_bound([1 - value for value in values], level)


def _factors(value: float, limit: float) -> list[float]:
    """Return what each bet against a mean of at most ``limit`` multiplies its capital by."""
    most = 1 / max(limit, _LEAST_LIMIT)
    return [1 + share * most * (value - limit) for share in _SHARES]
