"""Learns how noisy a judge is: a variance from many groups, adjusted by the few repeats in each group.

Two or three repeats contain little information about the noise in a group (often they are equal, which would be an
error of zero). So a group's variance is shrunk towards the judge's: linear credibility (Bühlmann, "Experience rating
and credibility", *ASTIN Bulletin* 4, 1967). Learned from repeats without labels.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

_FEWEST = 8
"""The least number of groups with repeats from which a judge's noise is learned."""

_OUTLIER = 100.0
"""A group's variance counts as at most so many times the median: one misread score would outweigh all others."""

_NO_DIFFERENCE = 1e6


@dataclass(frozen=True, slots=True)
class Noise:
    """A judge's noise: ``variance`` is that of one call's score of one candidate, in the scores' squared units.

    ``strength`` is how many degrees of freedom of a group's own repeats weigh as much as this prior. It is small if
    groups differ in noise, and large if they do not.
    """

    variance: float
    strength: float

    @classmethod
    def learn(cls, squares: Sequence[float], freedom: Sequence[int]) -> Self | None:
        """Learn a judge's noise, to aggregate ratings into scores, from sums of squared residuals.

        ``squares`` and ``freedom`` are each group's sum and its degrees of freedom. Returns None if fewer than 8 groups
        have any degrees of freedom.
        """
        known = [(square, count) for square, count in zip(squares, freedom, strict=True) if count > 0]
        if len(known) < _FEWEST:
            return None
        middle = statistics.median([square / count for square, count in known if square > 0] or [0.0])
        known = [(min(square, _OUTLIER * middle * count), count) for square, count in known]
        pooled = math.fsum(square for square, _ in known) / sum(count for _, count in known)
        if pooled <= 0:
            return cls(0.0, _NO_DIFFERENCE)
        # For normal noise, Var(s²) = Var(σ²) + 2 E(σ⁴)/d. Variance beyond the second term is a real difference between
        # groups.
        typical = len(known) / math.fsum(1 / count for _, count in known)
        between = statistics.pvariance([square / count for square, count in known])
        real = (between - 2 * pooled**2 / typical) / (1 + 2 / typical)
        strength = 2 * (1 + pooled**2 / real) if real > 0 else _NO_DIFFERENCE
        return cls(pooled, min(strength, _NO_DIFFERENCE))

    def variance_of(self, squares: float, freedom: int) -> float:
        """Return the variance of one call's score in a group with these residuals, to aggregate ratings into scores.

        Without residuals, returns the judge's variance.
        """
        return (self.strength * self.variance + squares) / (self.strength + freedom)
