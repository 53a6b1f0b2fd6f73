"""Figures from sums over groups: a statistic of the summed groups, with a bootstrap interval over groups.

Every statistic of a profile is a function of sums, so that a resample of the groups is one row of a matrix product.
Not responsible for which sums (``scale_use``, ``repeats``, ``positions``, ``preferences``, ``agreement``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.measures import resample_weights
from calipers.study.profiles.answers import Numbers
from calipers.study.profiles.figures import Figure

Statistic: TypeAlias = Callable[[Array], Array]
"""A function of sums (..., columns) that returns one number for each, NaN where the sums do not show it."""


def sum_by_group(values: Array, group: Numbers, groups: int) -> Array:
    """Return the sums of a profile's ``values`` (rows, columns) by ``group``, as (groups, columns); NaN counts as 0."""
    found = np.zeros((groups, values.shape[1]))
    np.add.at(found, group, np.nan_to_num(values))
    return found


def estimate(sums: Array, statistic: Statistic, *, n: float, reason: str) -> Figure:
    """Return the profile's figure that ``statistic`` computes from ``sums`` (groups, columns) over all groups.

    Its interval is a 95 % percentile bootstrap over the groups that have any sum (Efron 1979), from a fixed seed. ``n``
    is the number of observations, and ``reason`` says why there is no figure if the statistic is NaN.
    """
    (found,) = estimates(sums, lambda one: statistic(one)[..., None], n=n, reason=reason)
    return found


def estimates(sums: Array, statistics: Statistic, *, n: float, reason: str) -> list[Figure]:
    """Return, as ``estimate``, the figures of a profile that ``statistics`` computes together, in a last axis."""
    used = sums[sums.any(axis=1)]
    values = statistics(used.mean(axis=0) if len(used) else np.zeros(sums.shape[1]))
    drawn = statistics(resample_weights(len(used)) @ used) if len(used) > 1 else values[None]
    found = []
    for place, value in enumerate(values):
        if not len(used) or np.isnan(value):
            found.append(Figure(None, reason=reason))
        elif len(used) < 2:
            found.append(Figure(float(value) + 0.0, n=int(n), groups=len(used)))
        else:
            known = drawn[~np.isnan(drawn[:, place]), place]
            low, high = np.percentile(known, [2.5, 97.5])
            middle, least, most = (float(one) + 0.0 for one in (value, low, high))  # + 0.0: no -0.0
            found.append(Figure(middle, least, most, int(n), len(used)))
    return found


def ratio(top: int, bottom: int, *, root: bool = False) -> Statistic:
    """Return the statistic of a profile that divides two columns of sums, and takes the square root of it on demand.

    Negative ratios have the root 0.
    """

    def statistic(sums: Array) -> Array:
        below = sums[..., bottom]
        found = np.where(below > 0, sums[..., top] / np.where(below > 0, below, 1.0), np.nan)
        return np.sqrt(np.maximum(found, 0.0)) if root else found

    return statistic
