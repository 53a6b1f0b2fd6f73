"""Compute with arrays that have gaps: means over known values, and ratings of incomplete lists made comparable."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from calipers.aggregators.two_way import two_way
from calipers.types import Rating

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def mean_of_known(values: Array, *, axis: int) -> Array:
    """Return the mean of the known values in an array over ``axis``; NaN if there are none."""
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def remove_list_effects(means: Array, picked: Array) -> None:
    """Correct mean ratings for lists that omit members of their group: a generous list must not favour its members.

    ``means`` (groups, members) has the mean ratings and is changed in place; ``picked`` has the shape (groups, calls,
    members). A group's mean is arbitrary.
    """
    known = ~np.isnan(picked)
    full = known.any(axis=1, keepdims=True) & known.any(axis=2, keepdims=True)
    for row in np.flatnonzero((known != full).reshape(len(known), -1).any(axis=1)):
        ratings = [
            Rating(int(item), float(picked[row, call, item]), int(call)) for call, item in np.argwhere(known[row])
        ]
        means[row] = [math.nan if one is None else one for one in two_way(ratings, means.shape[1]).values]
