"""Finds clusters of near-tied scores: their differences are within their standard errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.types import Scores

_DIGITS = 9
"""Distances are rounded to this many decimals, so that the last bits of a float do not decide which clusters join."""


@dataclass(frozen=True, slots=True)
class _Level:
    """All candidates (``items``) with the same score. ``error`` is their least standard error, 0 if any is unknown."""

    value: float
    error: float
    items: tuple[int, ...]


def near_tied_clusters(scores: Scores, *, within: float) -> list[list[int]]:
    """Return clusters of near-tied scores, best first, as a step from scores to rewards.

    Any two scores in one cluster differ by at most ``within`` standard errors. The standard error is that of the
    difference. The method is complete linkage (Sørensen 1948) over neighbours by score: the nearest clusters are joined
    first, and of equally near pairs the one with the higher scores. So the clusters depend on the scores alone, not on
    their order. A score between two scores of a cluster belongs to the cluster, equal scores are always together, and a
    candidate without a score is in no cluster. A candidate whose error is unknown is clustered only with candidates of
    the same score.
    """
    clusters = [[level] for level in _levels(scores)]
    while (at := _nearest_clusters(clusters, within)) is not None:
        clusters[at : at + 2] = [clusters[at] + clusters[at + 1]]
    return [[item for level in cluster for item in level.items] for cluster in clusters]


def _nearest_clusters(clusters: Sequence[Sequence[_Level]], within: float) -> int | None:
    """Return the index of the first of the two nearest clusters; None if no two are within ``within`` errors."""
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
    """Return the largest difference between scores of two clusters, in standard errors of the difference.

    Infinite if an error is unknown.
    """
    return max(_difference_in_errors(one, other) for one in upper for other in lower)


def _difference_in_errors(one: _Level, other: _Level) -> float:
    error = math.hypot(one.error, other.error) if one.error and other.error else 0.0
    return (one.value - other.value) / error if error else math.inf
