"""Clusters of near-tied scores in many groups at once, as ``rewards.near_ties`` finds them in one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calipers.study.simulation.arrays import Array, Flags, Integers

_DIGITS = 9
"""Distances are rounded to this many decimals, as in ``rewards.near_ties``."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of every group, over its scores sorted from best to worst; missing scores are last and alone.

    ``order`` (S, B, G) sorts the responses. ``start`` and ``end`` are, for each sorted score, the first and the last
    place of its cluster.
    """

    order: Integers
    start: Integers
    end: Integers

    def sorted(self, values: Array) -> Array:
        """Return values of the responses (S, B, G), such as rewards, in the order of the clusters."""
        return np.asarray(np.take_along_axis(values, self.order, axis=-1))

    def unsorted(self, values: Array) -> Array:
        """Return values in the order of the clusters, such as rewards, in the order of the responses."""
        found = np.empty_like(values)
        np.put_along_axis(found, self.order, values, axis=-1)
        return found

    def same(self) -> Flags:
        """Return, for rewards by cluster, which sorted places are in one cluster with which: (S, B, G, G)."""
        return np.asarray(self.start[..., :, None] == self.start[..., None, :])


def near_tied(scores: Array, *, stderr: float, within: float) -> Clusters:
    """Return the clusters in which any two scores (S, B, G) differ by at most ``within`` standard errors.

    ``stderr`` (above 0) is that of every score. NaN scores are in no cluster. The two nearest neighbours by score are
    joined first, by complete linkage, and of equally near ones those with the higher scores.
    """
    values = np.where(np.isnan(scores), -np.inf, scores)
    order = np.argsort(-values, axis=-1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=-1)
    joined = (ranked[..., :-1] == ranked[..., 1:]) & np.isfinite(ranked[..., 1:])
    unit = math.sqrt(2) * stderr
    while True:
        start, end = _bounds(joined)
        top = np.take_along_axis(ranked, start[..., :-1], axis=-1)
        bottom = np.take_along_axis(ranked, end[..., 1:], axis=-1)
        with np.errstate(invalid="ignore"):  # between missing scores
            distance = (top - bottom) / unit
        open_ = ~joined & (distance <= within)
        if not open_.any():
            return Clusters(order, start, end)
        nearest = np.argmin(np.where(open_, np.round(distance, _DIGITS), np.inf), axis=-1)[..., None]
        np.put_along_axis(joined, nearest, np.take_along_axis(joined | open_, nearest, axis=-1), axis=-1)


def _bounds(joined: Flags) -> tuple[Integers, Integers]:
    """Return the first and the last place of each place's cluster, given whether neighbours are joined."""
    places = np.arange(joined.shape[-1] + 1)
    edge = np.ones((*joined.shape[:-1], 1), dtype=bool)
    starts = np.concatenate([edge, ~joined], axis=-1)
    ends = np.concatenate([~joined, edge], axis=-1)
    start = np.maximum.accumulate(np.where(starts, places, 0), axis=-1)
    end = np.minimum.accumulate(np.where(ends, places, places[-1])[..., ::-1], axis=-1)[..., ::-1]
    return start, end
