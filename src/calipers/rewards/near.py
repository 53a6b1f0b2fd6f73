"""Clusters of scores whose differences are within their standard errors.

Not responsible for what is done with them (``ties``, ``length``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.types import Scores

_DIGITS = 9
"""Distances are compared with this many decimals, so that the last bits of a float do not decide which clusters to
join."""


@dataclass(frozen=True, slots=True)
class _Level:
    """All ``items`` with one score; ``error`` is their smallest standard error, 0 where one is unknown."""

    value: float
    error: float
    items: tuple[int, ...]


def near_tied(scores: Scores, *, within: float) -> list[list[int]]:
    """Clusters of candidates, best first: any two of a cluster are within ``within`` standard errors of their
    difference.

    Complete linkage (Sørensen 1948) over neighbours by score, the nearest joined first and of equally near ones the
    better: it depends on the scores alone, not on their order. A score between two of a cluster is in it, equal scores
    are always together, and a candidate without a score is in none. A candidate whose error is unknown is clustered
    with its equals only.
    """
    clusters = [[level] for level in _levels(scores)]
    while (at := _nearest(clusters, within)) is not None:
        clusters[at : at + 2] = [clusters[at] + clusters[at + 1]]
    return [[item for level in cluster for item in level.items] for cluster in clusters]


def _nearest(clusters: Sequence[Sequence[_Level]], within: float) -> int | None:
    """The index of the first of the two nearest neighbours; None where none are near enough."""
    distances = [_distance(upper, lower) for upper, lower in itertools.pairwise(clusters)]
    near = [(round(one, _DIGITS), index) for index, one in enumerate(distances) if one <= within and one < math.inf]
    return min(near)[1] if near else None


def _levels(scores: Scores) -> list[_Level]:
    known = sorted((-value, item) for item, value in enumerate(scores.values) if value is not None)
    return [
        _Level(-value, min(scores.stderrs[item] or 0.0 for _, item in level), tuple(item for _, item in level))
        for value, group in itertools.groupby(known, key=lambda one: one[0])
        for level in [list(group)]
    ]


def _distance(upper: Sequence[_Level], lower: Sequence[_Level]) -> float:
    """The largest difference between two of either, in standard errors of the difference; inf where one is unknown."""
    return max(_apart(one, other) for one in upper for other in lower)


def _apart(one: _Level, other: _Level) -> float:
    error = math.hypot(one.error, other.error) if one.error and other.error else 0.0
    return (one.value - other.value) / error if error else math.inf
