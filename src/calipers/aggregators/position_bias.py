"""Learns a judge's position bias in lists from groups that it rated in several orders, and removes it from its ratings.

No labels are used: if a candidate's rating changes with its position between two presentations of a group, that shows
the bias. The bias has two parts, a slope from first to last and an extra for the first position. Both are shrunk to
zero as far as chance may explain them (positive-part shrinkage: James & Stein 1961).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self

from calipers.types import Rating

_FEWEST = 20
"""The least number of groups rated in several orders from which a bias is learned."""

_CAUTION = 2.0
"""A coefficient counts only if its square exceeds this many times its sampling variance."""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """A judge's position bias in the ratings' units, learned from ``groups`` groups.

    ``slope`` is the difference between the last and the first position of a list, and ``first`` an extra for the first
    position.
    """

    slope: float
    first: float
    groups: int

    @classmethod
    def learn(cls, groups: Iterable[Sequence[Rating]]) -> Self | None:
        """Learn a judge's bias, to aggregate ratings into scores without it, from its ratings of each group.

        Returns None below 20 groups rated in more than one order.
        """
        changes = [shifts for ratings in groups if (shifts := list(_changes_between_presentations(ratings)))]
        if len(changes) < _FEWEST:
            return None
        import numpy as np  # noqa: PLC0415 - a run that has nothing to learn from begins without it

        blocks = [
            (np.array([place for place, _ in change]), np.array([move for _, move in change])) for change in changes
        ]
        inverse = np.linalg.pinv(sum(x.T @ x for x, _ in blocks))
        coefficients = inverse @ sum(x.T @ y for x, y in blocks)
        # The changes within a group depend on each other, so that groups are what counts as independent: the variance
        # is that of clustered data (Liang & Zeger 1986).
        errors = np.array([x.T @ (y - x @ coefficients) for x, y in blocks])
        used = len(blocks)
        variances = np.diag(inverse @ (errors.T @ errors) @ inverse) * used / (used - 1)
        slope, first = (
            float(slope) * max(0.0, 1 - _CAUTION * float(variance) / float(slope) ** 2) if slope else 0.0
            for slope, variance in zip(coefficients, variances, strict=True)
        )
        return cls(round(slope, 6), round(first, 6), used)

    def without_bias(self, ratings: Sequence[Rating]) -> list[Rating]:
        """Return the ratings without the position bias, to aggregate them into scores.

        The mean of a whole answer stays the same.
        """
        sizes: dict[int, int] = {}
        for rating in ratings:
            sizes[rating.presentation] = max(sizes.get(rating.presentation, 0), rating.place + 1)
        curves = {presentation: self.curve(size) for presentation, size in sizes.items()}
        return [replace(one, value=one.value - curves[one.presentation][one.place]) for one in ratings]

    def curve(self, size: int) -> tuple[float, ...]:
        """Return the bias at each position of a list of ``size``, which is removed before ratings are aggregated.

        It is in the ratings' units; its mean is 0.
        """
        weights = [_bias_weights(position, size) for position in range(size)]
        return tuple(self.slope * slope + self.first * first for slope, first in weights)


def _bias_weights(position: int, size: int) -> tuple[float, float]:
    """Return the weights of slope and first-position extra at ``position``; their mean over a list is 0."""
    if size < 2:
        return 0.0, 0.0
    return position / (size - 1) - 0.5, (position == 0) - 1 / size


def _changes_between_presentations(ratings: Sequence[Rating]) -> Iterable[tuple[tuple[float, float], float]]:
    """Yield the changes of each candidate's position and rating between two presentations, less their means."""
    table: dict[int, dict[int, Rating]] = {}
    for rating in ratings:
        table.setdefault(rating.presentation, {})[rating.item] = rating
    for first, second in combinations(table.values(), 2):
        shared = sorted(first.keys() & second.keys())
        if len(shared) < 2 or all(first[item].place == second[item].place for item in shared):
            continue
        size = max(max(row[item].place for item in shared) + 1 for row in (first, second))
        moves = [
            tuple(
                a - b
                for a, b in zip(_bias_weights(first[i].place, size), _bias_weights(second[i].place, size), strict=True)
            )
            for i in shared
        ]
        values = [first[item].value - second[item].value for item in shared]
        level = [sum(part) / len(shared) for part in zip(*moves, strict=True)]
        mean = sum(values) / len(values)
        for move, value in zip(moves, values, strict=True):
            yield (move[0] - level[0], move[1] - level[1]), value - mean
