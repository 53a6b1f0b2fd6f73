"""Means of a study's runs with Student's intervals, and differences between runs that are paired by their seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from calipers.rewards.reliability import f_quantile

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
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half_width = t_quantile((1 + _CONFIDENCE) / 2, n - 1) * deviation / math.sqrt(n)
    return Estimate(mean, half_width, smallest_effect(n) * deviation, n)


def paired_difference(values: Sequence[float], controls: Sequence[float]) -> Estimate:
    """Return the mean of ``values`` less ``controls``: runs of a study with the same seeds, in the same order."""
    return estimate([value - control for value, control in zip(values, controls, strict=True)])


def smallest_effect(n: int) -> float:
    """Return the smallest mean that ``n`` runs (at least two), or pairs of runs, can detect, in standard deviations."""
    return (t_quantile((1 + _CONFIDENCE) / 2, n - 1) + t_quantile(_POWER, n - 1)) / math.sqrt(n)


@lru_cache(maxsize=256)
def t_quantile(level: float, freedom: int) -> float:
    """Return the quantile of Student's t with ``freedom`` (at least 1) at ``level`` in [0.5, 1), for intervals.

    T squared has the F distribution with 1 and ``freedom`` degrees of freedom.
    """
    return math.sqrt(f_quantile(2 * level - 1, 1, freedom))
