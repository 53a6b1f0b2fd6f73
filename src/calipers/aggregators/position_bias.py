"""Position bias in lists, learned from groups that a judge rated in several orders, and taken out of its ratings.

No label is used: a candidate's rating that changes with its position between two presentations of a group shows the
bias. It is a slope from first to last and an extra for the first position, shrunk to zero as far as chance may explain
it (positive-part shrinkage: James & Stein 1961). Not responsible for pairs (``pair_bias``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self

from calipers.types import Rating

_FEWEST = 20
"""Groups rated in several orders below which nothing is corrected."""

_CAUTION = 2.0
"""A coefficient counts only beyond this many times its sampling variance."""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """A judge's bias in the ratings' units: ``slope`` from the first position to the last, ``first`` for the first one.

    ``groups`` is how many it was learned from.
    """

    slope: float
    first: float
    groups: int

    @classmethod
    def learn(cls, groups: Iterable[Sequence[Rating]]) -> Self | None:
        """From the ratings of each group; None below 20 groups rated in more than one order."""
        rows, moves, used = [], [], 0
        for ratings in groups:
            found = list(_moves(ratings))
            used += bool(found)
            for place, move in found:
                rows.append(place)
                moves.append(move)
        if used < _FEWEST:
            return None
        import numpy as np  # noqa: PLC0415 - a run that has nothing to learn from begins without it

        x, y = np.array(rows), np.array(moves)
        inverse = np.linalg.pinv(x.T @ x)
        coefficients = inverse @ (x.T @ y)
        # The moves of one group depend on each other; moves counted as independent would make the variance too small.
        variance = float(np.mean((y - x @ coefficients) ** 2)) * len(y) / used
        slope, first = (
            float(one) * max(0.0, 1 - _CAUTION * variance * float(inverse[index, index]) / float(one) ** 2)
            if one
            else 0.0
            for index, one in enumerate(coefficients)
        )
        return cls(round(slope, 6), round(first, 6), used)

    def without(self, ratings: Sequence[Rating]) -> list[Rating]:
        """The ratings without the bias; the mean of a whole answer stays."""
        sizes: dict[int, int] = {}
        for one in ratings:
            sizes[one.presentation] = max(sizes.get(one.presentation, 0), one.place + 1)
        return [replace(one, value=one.value - self._at(one.place, sizes[one.presentation])) for one in ratings]

    def curve(self, size: int) -> tuple[float, ...]:
        """The bias at each position of a list of ``size``, first to last, in the ratings' units; 0 on average."""
        return tuple(self._at(position, size) for position in range(size))

    def _at(self, position: int, size: int) -> float:
        slope, first = _basis(position, size)
        return self.slope * slope + self.first * first


def _basis(position: int, size: int) -> tuple[float, float]:
    """A position on the two parts of the bias, each with mean 0 over a list of ``size``."""
    if size < 2:
        return 0.0, 0.0
    return position / (size - 1) - 0.5, (position == 0) - 1 / size


def _moves(ratings: Sequence[Rating]) -> Iterable[tuple[tuple[float, float], float]]:
    """How a candidate's position and its rating changed between two presentations, each less the mean of the list."""
    table: dict[int, dict[int, Rating]] = {}
    for rating in ratings:
        table.setdefault(rating.presentation, {})[rating.item] = rating
    for one, other in combinations(table.values(), 2):
        shared = sorted(one.keys() & other.keys())
        if len(shared) < 2 or all(one[item].place == other[item].place for item in shared):
            continue
        size = max(max(row[item].place for item in shared) + 1 for row in (one, other))
        moves = [
            tuple(a - b for a, b in zip(_basis(one[i].place, size), _basis(other[i].place, size), strict=True))
            for i in shared
        ]
        values = [one[item].value - other[item].value for item in shared]
        level = [sum(part) / len(shared) for part in zip(*moves, strict=True)]
        mean = sum(values) / len(values)
        for move, value in zip(moves, values, strict=True):
            yield (move[0] - level[0], move[1] - level[1]), value - mean
