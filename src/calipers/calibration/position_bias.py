"""Measure a judge's position bias in lists, without labels.

The curve itself is learned as in a run (``aggregators.position_bias``).
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from calipers.aggregators.position_bias import PositionBias
from calipers.calibration.arrays import Array
from calipers.calibration.measures import resample_weights
from calipers.types import Rating

_FEWEST_GROUPS = 20


@dataclass(frozen=True, slots=True)
class PositionEffect:
    """What a judge adds to a score at a position, in units of its scores, with its 95 % interval over groups.

    The mean over positions is 0.
    """

    worth: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class PositionFigures:
    """A judge's position bias in lists: ``places`` is the curve, None below 20 groups in several orders.

    ``turned`` is the number of groups in several orders. ``share`` is the share of variance within lists that the
    position explains, in 0-1 (None if there is no variance). The share is also high if members are listed by quality
    and in one order only. ``size`` is the median length of a list, and ``effects`` the bias in lists of this length as
    it was measured, while the curve is shrunk.
    """

    places: PositionBias | None
    turned: int
    share: float | None
    size: int
    effects: tuple[PositionEffect, ...] = ()

    @classmethod
    def learn(cls, groups: Iterable[Sequence[Rating]]) -> Self:
        """Return, for calibration, the position bias learned from the ratings of each group.

        Every list is a presentation.
        """
        heard = [list(group) for group in groups]
        lists = [found for group in heard for found in _lists(group).values()]
        turned = sum(len({tuple(one.item for one in found) for found in _lists(group).values()}) > 1 for group in heard)
        size = int(statistics.median_low([len(found) for found in lists] or [0]))
        return cls(PositionBias.learn(heard), turned, _share(lists), size, position_effects(heard, size))


def _lists(ratings: Sequence[Rating]) -> dict[int, list[Rating]]:
    found: dict[int, list[Rating]] = defaultdict(list)
    for one in ratings:
        found[one.presentation].append(one)
    return found


def _share(lists: Sequence[Sequence[Rating]]) -> float | None:
    by_place: dict[int, list[float]] = defaultdict(list)
    for found in lists:
        mean = statistics.fmean(one.value for one in found)
        for one in found:
            by_place[one.place].append(one.value - mean)
    total = sum(value**2 for values in by_place.values() for value in values)
    between = sum(len(values) * statistics.fmean(values) ** 2 for values in by_place.values())
    return between / total if total > 1e-12 else None


def position_effects(groups: Sequence[Sequence[Rating]], size: int) -> tuple[PositionEffect, ...]:
    """Return the measured position bias in lists of ``size``; empty below 20 groups in several orders.

    Ratings are explained by candidate and position with least squares, over all groups; the interval is a bootstrap
    over groups (Efron 1979).
    """
    parts = [part for one in groups if (part := _normal_equations(one, size)) is not None]
    if len(parts) < _FEWEST_GROUPS or size < 2:
        return ()
    sums = np.array([one for one, _ in parts]).reshape(len(parts), -1)
    targets = np.array([one for _, one in parts])
    # Every fit is determined up to a constant; the pseudo-inverse chooses the one whose mean is 0.
    measured = np.linalg.pinv(sums.sum(axis=0).reshape(size, size)) @ targets.sum(axis=0)
    drawn = resample_weights(len(parts))
    fits = (np.linalg.pinv((drawn @ sums).reshape(-1, size, size)) @ (drawn @ targets)[:, :, None])[:, :, 0]
    low, high = np.percentile(fits, [2.5, 97.5], axis=0)
    ends = zip(measured, low, high, strict=True)
    return tuple(PositionEffect(float(one), (float(start), float(end))) for one, start, end in ends)


def _normal_equations(ratings: Sequence[Rating], size: int) -> tuple[Array, Array] | None:
    """Return X'X and X'y of a group's lists of ``size``; None in one order only.

    X has the position of each rating, less the mean of its candidate's positions.
    """
    lists = [found for found in _lists(ratings).values() if len(found) == size]
    if len({tuple(one.item for one in found) for found in lists}) < 2:
        return None
    rows: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for one in (one for found in lists for one in found):
        if one.place < size:
            rows[one.item].append((one.place, one.value))
    square, target = np.zeros((size, size)), np.zeros(size)
    for seen in rows.values():
        places = np.eye(size)[[place for place, _ in seen]]
        values = np.array([value for _, value in seen])
        places, values = places - places.mean(axis=0), values - values.mean()
        square += places.T @ places
        target += places.T @ values
    return square, target
