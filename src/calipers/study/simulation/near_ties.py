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


def near_tied(scores: Array, *, stderr: float | Array, within: float) -> Clusters:
    """Return the clusters in which any two scores (S, B, G) differ by at most ``within`` standard errors.

    ``stderr`` is that of every score, or an array: (S, 1, 1), or (S, B, G) where scores have errors of their own, of
    which equal scores take the least. Where it is 0, only equal scores are tied. NaN scores are in no cluster. The two
    nearest neighbours by score are joined first, by complete linkage, and of equally near ones those with the higher
    scores.
    """
    values = np.where(np.isnan(scores), -np.inf, scores)
    order = np.argsort(-values, axis=-1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=-1)
    joined = (ranked[..., :-1] == ranked[..., 1:]) & np.isfinite(ranked[..., 1:])
    errors = np.asarray(stderr)
    linkage = _Linkage(ranked, np.take_along_axis(errors, order, axis=-1)) if _differ(errors) else None
    while True:
        start, end = _bounds(joined)
        if linkage is None:
            top = np.take_along_axis(ranked, start[..., :-1], axis=-1)
            bottom = np.take_along_axis(ranked, end[..., 1:], axis=-1)
            distance = _in_errors(top, bottom, math.sqrt(2) * errors)
        else:
            distance = linkage.distances(start)
        open_ = ~joined & (distance <= within)
        if not open_.any():
            return Clusters(order, start, end)
        nearest = np.argmin(np.where(open_, np.round(distance, _DIGITS), np.inf), axis=-1)[..., None]
        joins = np.take_along_axis(open_, nearest, axis=-1)
        if linkage is not None:
            linkage.join(start, nearest, np.where(joins, nearest + 1, nearest))
        np.put_along_axis(joined, nearest, np.take_along_axis(joined, nearest, axis=-1) | joins, axis=-1)


def _differ(errors: Array) -> bool:
    """Whether scores of a group may have different standard errors."""
    return errors.ndim > 0 and errors.shape[-1] > 1


def _in_errors(higher: Array, lower: Array, error: Array) -> Array:
    """Return the differences of scores in standard errors; NaN between missing scores."""
    with np.errstate(invalid="ignore", divide="ignore"):  # between missing scores, and without error
        return np.asarray((higher - lower) / error)


class _Linkage:
    """The distances between clusters where scores have standard errors of their own, each at its clusters' starts.

    The distance of two clusters is the largest between their scores, in standard errors of the difference.
    """

    def __init__(self, ranked: Array, errors: Array) -> None:
        equal = ranked[..., :, None] == ranked[..., None, :]
        least = np.where(equal, errors[..., None, :], np.inf).min(axis=-1)
        error = np.hypot(least[..., :, None], least[..., None, :])
        usable = (least[..., :, None] > 0) & (least[..., None, :] > 0)
        distance = np.abs(_in_errors(ranked[..., :, None], ranked[..., None, :], error))
        self._between = np.where(usable, distance, np.inf)

    def distances(self, start: Integers) -> Array:
        """Return the distances between the clusters of neighbouring places, (S, B, G - 1)."""
        size = start.shape[-1]
        flat = self._between.reshape(*start.shape[:-1], size * size)
        return np.asarray(np.take_along_axis(flat, start[..., :-1] * size + start[..., 1:], axis=-1))

    def join(self, start: Integers, one: Integers, other: Integers) -> None:
        """Join the clusters of two places (S, B, 1) of each group; the same place twice changes nothing."""
        one, other = (np.take_along_axis(start, place, axis=-1)[..., None] for place in (one, other))
        for axis in (-2, -1):
            largest = np.maximum(*(np.take_along_axis(self._between, place, axis=axis) for place in (one, other)))
            np.put_along_axis(self._between, one, largest, axis=axis)


def _bounds(joined: Flags) -> tuple[Integers, Integers]:
    """Return the first and the last place of each place's cluster, given whether neighbours are joined."""
    places = np.arange(joined.shape[-1] + 1)
    edge = np.ones((*joined.shape[:-1], 1), dtype=bool)
    starts = np.concatenate([edge, ~joined], axis=-1)
    ends = np.concatenate([~joined, edge], axis=-1)
    start = np.maximum.accumulate(np.where(starts, places, 0), axis=-1)
    end = np.minimum.accumulate(np.where(ends, places, places[-1])[..., ::-1], axis=-1)[..., ::-1]
    return start, end
