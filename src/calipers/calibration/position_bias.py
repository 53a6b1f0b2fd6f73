"""Measure a judge's position bias in lists, without labels.

The curve itself is learned as in a run (``aggregators.position_bias``). Not responsible for pairs (``order_bias``).
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from calipers.aggregators.position_bias import PositionBias
from calipers.types import Rating


@dataclass(frozen=True, slots=True)
class PositionFigures:
    """A judge's position bias in lists: ``places`` is the curve, None below 20 groups in several orders.

    ``turned`` is the number of groups in several orders. ``share`` is the share of variance within lists that the
    position explains, in 0-1 (None if there is no variance). The share is also high if members are listed by quality
    and in one order only. ``size`` is the median length of a list.
    """

    places: PositionBias | None
    turned: int
    share: float | None
    size: int

    @classmethod
    def learn(cls, groups: Iterable[Sequence[Rating]]) -> Self:
        """Return, for calibration, the position bias learned from the ratings of each group.

        Every list is a presentation.
        """
        heard = [list(group) for group in groups]
        lists = [found for group in heard for found in _lists(group).values()]
        turned = sum(len({tuple(one.item for one in found) for found in _lists(group).values()}) > 1 for group in heard)
        size = int(statistics.median_low([len(found) for found in lists] or [0]))
        return cls(PositionBias.learn(heard), turned, _share(lists), size)


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
