"""Compute with arrays that have gaps: means over known values, and ratings of incomplete lists made comparable.

The arithmetic of ``series``; it does not depend on judges or records.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from calipers.aggregators.two_way import two_way
from calipers.types import Rating

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def mean_of_known(values: Array, *, axis: int) -> Array:
    """Return, for calibration, the mean of the known values in an array over ``axis``; NaN if there are none."""
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def remove_list_effects(means: Array, picked: Array) -> None:
    """Correct mean ratings in calibration for lists that omit members of their group.

    A generous list must not favour its members. ``means`` has the mean ratings and is changed in place.

    This is the least squares fit of ``two_way`` for many groups at once, with the lists' effects eliminated; a group's
    mean is arbitrary. Groups whose lists do not link all members are passed to ``two_way``, which uses the largest
    linked set.
    """
    known = ~np.isnan(picked)
    empty = ~known.any(axis=2, keepdims=True)
    full = np.asarray(known.any(axis=1, keepdims=True) & ~empty)
    uneven = [row for row, same in enumerate((known == full).reshape(len(known), -1).all(axis=1)) if not same]
    linked = [row for row in uneven if _links_all(known[row])]
    for row in sorted(set(uneven) - set(linked)):
        ratings = [
            Rating(int(item), float(picked[row, call, item]), int(call)) for call, item in np.argwhere(known[row])
        ]
        means[row] = [math.nan if one is None else one for one in two_way(ratings, means.shape[1]).values]
    if linked:
        means[linked] = _member_effects(picked[linked])


def _links_all(known: Flags) -> bool:
    """Return whether the known ratings of a judge's lists, (calls, members), link all members that occur in them."""
    held = known.any(axis=0)
    reached = known[int(known.any(axis=1).argmax())]
    while True:
        touched = known[(known & reached).any(axis=1)].any(axis=0)
        if (touched == reached).all():
            return bool((reached == held).all())
        reached = touched


def _member_effects(picked: Array) -> Array:
    """Return members' effects (groups, members), zero on average; ``picked`` has the shape (groups, calls, members)."""
    known = ~np.isnan(picked)
    held = np.asarray(known.any(axis=1))
    share = known / np.maximum(known.sum(axis=2, keepdims=True), 1)
    off = np.where(known, picked - mean_of_known(picked, axis=2)[:, :, None], 0.0)
    tall = np.swapaxes(known.astype(np.float64), 1, 2)
    system = known.sum(axis=1)[:, :, None] * np.eye(known.shape[2]) - tall @ share
    system += held[:, :, None] * held[:, None, :] / np.maximum(held.sum(axis=1), 1)[:, None, None]
    system += np.where(held, 0.0, 1.0)[:, :, None] * np.eye(known.shape[2])
    solved = np.linalg.solve(system, off.sum(axis=1)[:, :, None])[:, :, 0]
    return np.where(held, solved, np.nan)
