"""Figures from sums over groups: a statistic of the summed groups, with a bootstrap interval over groups.

Every statistic of a profile is a function of sums, so that a resample of the groups is one row of a matrix product.
Not responsible for which sums (``scale_use``, ``repeats``, ``positions``, ``preferences``, ``agreement``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from typing import TypeAlias

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.measures import resample_weights
from calipers.study.profiles.answers import Numbers
from calipers.study.profiles.figures import Figure

Statistic: TypeAlias = Callable[[Array], Array]
"""A function of sums (..., columns) that returns one number for each, NaN where the sums do not show it."""

_NORMAL = 1.959964
_MANY = 10


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
            # A percentile interval of a biased statistic may leave out the value itself.
            ends = (value, min(low, value), max(high, value))
            middle, least, most = (float(one) + 0.0 for one in ends)  # + 0.0: no -0.0
            found.append(Figure(middle, least, most, int(n), len(used)))
    return found


def estimate_share(sums: Array, top: int, bottom: int, *, n: float, reason: str) -> Figure:
    """Return, as ``estimate``, the profile's figure of a share: the column ``top`` of ``sums`` over ``bottom``.

    If fewer than 10 groups have any of what is counted, or fewer than 10 anything else, resampled groups hardly show
    it. The interval is then Wilson's (*J. Am. Stat. Assoc.* 22, 1927), at the observations that groups which are alike
    are worth (Kish's design effect); at 0 and 1, at the number of groups.
    """
    found = estimate(sums, ratio(top, bottom), n=n, reason=reason)
    counted, all_ = sums[:, top], sums[:, bottom]
    if found.value is None or found.low is None or min((counted > 0).sum(), (counted < all_).sum()) >= _MANY:
        return found
    low, high = _wilson(found.value, _effective_count(counted, all_, found.value))
    return replace(found, low=low, high=high)


def _effective_count(counted: Array, every: Array, share: float) -> float:
    groups, total = int((every > 0).sum()), float(every.sum())
    if not 0 < share < 1:
        return groups
    variance = float(((counted - share * every) ** 2).sum()) / total**2 * groups / (groups - 1)
    if variance == 0:  # every group has the same share
        return total
    return min(total, share * (1 - share) / variance)


def _wilson(share: float, count: float) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a ``share`` of ``count`` independent observations."""
    square = _NORMAL**2 / count
    middle = (share + square / 2) / (1 + square)
    half = _NORMAL * sqrt((share * (1 - share) + square / 4) / count) / (1 + square)
    return min(share, max(middle - half, 0.0)), max(share, min(middle + half, 1.0))


def ratio(top: int, bottom: int, *, root: bool = False) -> Statistic:
    """Return the statistic of a profile that divides two columns of sums, and takes the square root of it on demand.

    Negative ratios have the root 0.
    """

    def statistic(sums: Array) -> Array:
        below = sums[..., bottom]
        found = np.where(below > 0, sums[..., top] / np.where(below > 0, below, 1.0), np.nan)
        return np.sqrt(np.maximum(found, 0.0)) if root else found

    return statistic
