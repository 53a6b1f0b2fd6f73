"""How a judge's failures depend on the length of what it judges: a logistic regression.

Not responsible for the rate and its correlations (``agreement``).
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from calipers.calibration.arrays import Array
from calipers.study.profiles.answers import Answers
from calipers.study.profiles.movers import is_clear
from calipers.study.profiles.profile import Profile

_STEPS = 40


def failure_odds(profile: Profile, table: Answers, length: Array) -> tuple[float, float, float | None]:
    """Return the share of failures at the usual length, what a doubling adds to its log-odds, and the usual length.

    ``length`` is log2(characters + 1) of each member of the frame. Without a clear correlation of failures with length
    in ``profile``, it is the share of all, 0 and None.
    """
    rate = profile.failures.rate.value or 0.0
    if not is_clear(profile.failures.with_length):
        return rate, 0.0, None
    by_list = table.of_members(length)
    known = ~np.isnan(by_list)
    lists = known.any(axis=1)
    mean = np.where(known, by_list, 0.0).sum(axis=1)[lists] / known.sum(axis=1)[lists]
    failed = (np.isnan(table.scores) & table.asked)[lists].sum(axis=1) / table.asked[lists].sum(axis=1)
    usual = float(mean.mean())
    odds = _logistic(mean - usual, failed)
    return 1 / (1 + exp(-odds[0])), float(odds[1]), usual


def _logistic(x: Array, share: Array) -> Array:
    """Return intercept and slope of a logistic regression, by Newton's method."""
    design = np.stack([np.ones_like(x), x], axis=1)
    mean = float(np.clip(share.mean(), 1e-6, 1 - 1e-6))
    found = np.array([log(mean / (1 - mean)), 0.0])
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        weights = np.maximum(expected * (1 - expected), 1e-9)
        found = found + np.linalg.pinv(design.T @ (design * weights[:, None])) @ (design.T @ (share - expected))
    return found
