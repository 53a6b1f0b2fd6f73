"""Bounds on the mean of values from 0 to 1 that hold at any time, by bets against a limit.

A gambler who bets a share of the capital on every value has, after values x, the capital ∏ (1 + λ (x - m)). While the
values' conditional means are at most m, its expectation never rises, so it ever reaches 1/α with probability α at most
(Ville 1939). So a capital of 1/α is evidence at level α that a mean exceeds m, whenever one looks, whatever the values
depend on (Waudby-Smith & Ramdas, "Estimating means of bounded random variables by betting", *JRSS B* 86, 2024). Here
several shares are bet side by side, and the mean of their capitals counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_SHARES: Final = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 15 / 16)
"""The shares of the largest allowed bet, which is 1 / m: with it, the lowest value takes the whole capital."""
_LEAST_LIMIT: Final = 1e-6
_MOST_CAPITAL: Final = 1e300
_STEPS: Final = 100
"""Bounds are rounded outwards to this many steps from 0 to 1."""


def evidence_above(values: Sequence[float], limit: float) -> float:
    """Return the largest capital won on scores' ``values`` (0-1) against a mean of at most ``limit``.

    1 over it is a p-value for independent values, whatever their number (Ville).
    """
    bets = [share / max(limit, _LEAST_LIMIT) for share in _SHARES]
    capitals, most = [1.0] * len(bets), 1.0
    for value in values:
        capitals = [
            min(capital * (1 + bet * (value - limit)), _MOST_CAPITAL)
            for capital, bet in zip(capitals, bets, strict=True)
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
