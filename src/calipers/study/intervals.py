"""Means of a study's runs with Student's intervals, and differences between runs that are paired by their seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_CONFIDENCE: Final = 0.95
_POWER: Final = 0.8


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean of ``n`` numbers, one from each run, and half the width of its 95 % t-interval (None below two runs).

    ``detectable`` is the smallest true mean that such an interval would exclude 0 for with a probability of 80 %.
    """

    mean: float
    half_width: float | None
    detectable: float | None
    n: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.half_width is not None and abs(self.mean) > self.half_width


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of a study's runs with its interval. Raises ValueError without values."""
    n = len(values)
    if not n:
        raise ValueError("there is no mean of no runs")
    mean = math.fsum(values) / n
    if n < 2:
        return Estimate(mean, None, None, n)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    level = t_quantile((1 + _CONFIDENCE) / 2, n - 1)
    return Estimate(mean, level * error, (level + t_quantile(_POWER, n - 1)) * error, n)


def paired_difference(values: Sequence[float], controls: Sequence[float]) -> Estimate:
    """Return the mean of ``values`` less ``controls``: runs of a study with the same seeds, in the same order."""
    return estimate([value - control for value, control in zip(values, controls, strict=True)])


@lru_cache(maxsize=256)
def t_quantile(level: float, freedom: int) -> float:
    """Return the quantile of Student's t with ``freedom`` (at least 1) at ``level`` in [0.5, 1), for intervals."""
    return _bisect(lambda t: t_distribution(t, freedom) - level, 0.0, 1e9)


def t_distribution(t: float, freedom: int) -> float:
    """Return P(T <= ``t``) of Student's t for a whole number of degrees of freedom, for intervals.

    Abramowitz & Stegun, *Handbook of Mathematical Functions*, 26.7.3 and 26.7.4.
    """
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    total = term = 0.0
    if freedom > 1:
        total = term = cosine if freedom % 2 else 1.0
    for number in range(2 + freedom % 2, freedom - 1, 2):
        term *= (number - 1) / number * cosine**2
        total += term
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if freedom % 2 else math.sin(angle) * total
    return (1 + inside) / 2


def _bisect(rising: Callable[[float], float], low: float, high: float) -> float:
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return middle
