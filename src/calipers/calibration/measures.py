"""How well scores agree with gold, group by group: one figure per group, so that groups can be resampled.

All functions take ``scores`` and ``gold`` of shape (groups, members), NaN where unknown, and return one number per
group, NaN if the group cannot be measured.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np

from calipers.aggregators.panel_weights import centred_values, correlations

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
Counts: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Interval: TypeAlias = tuple[float, float]

_EDGE = 1e-9
_RESAMPLES = 1000
FEWEST = 6


def mean_of_known(values: Array, *, axis: int) -> Array:
    """Return the mean of the known values in an array over ``axis``; NaN if there are none."""
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def measurable_groups(scores: Array, gold: Array) -> Flags:
    """Return flags of the groups that can be calibrated: two members have a score and gold, and different gold."""
    known = ~(np.isnan(scores) | np.isnan(gold))
    high = np.where(known, gold, -np.inf).max(axis=-1)
    low = np.where(known, gold, np.inf).min(axis=-1)
    return np.asarray((known.sum(axis=-1) >= 2) & (high - low > _EDGE))


def fidelity(scores: Array, gold: Array) -> Array:
    """Return the correlation (Pearson) of scores and gold within each group, 0 if all scores are equal."""
    return np.where(measurable_groups(scores, gold), correlations(scores, gold), np.nan)


def top1(scores: Array, gold: Array) -> Array:
    """Return 1 if the best-scored member has the best gold, else 0; of equal best scores, the share that have it."""
    known = ~(np.isnan(scores) | np.isnan(gold))
    chosen = _best(scores, known)
    right = chosen & _best(gold, known)
    return np.where(measurable_groups(scores, gold), right.sum(axis=-1) / np.maximum(chosen.sum(axis=-1), 1), np.nan)


def _best(values: Array, known: Flags) -> Flags:
    filled = np.where(known, values, -np.inf)
    return np.asarray(known & (filled >= filled.max(axis=-1, keepdims=True) - _EDGE))


def pair_signs(values: Array, known: Flags) -> Array:
    """Return the sign of each difference of two members, (groups, members, members); 0 for ties and unknown values."""
    gaps = np.where(known, values, 0.0)[..., :, None] - np.where(known, values, 0.0)[..., None, :]
    pair_known = known[..., :, None] & known[..., None, :]
    return np.where(pair_known & (np.abs(gaps) > _EDGE), np.sign(gaps), 0.0)


def tau_b(scores: Array, gold: Array) -> Array:
    """Return Kendall's tau-b of scores and gold within each group (*Biometrika* 33, 1945), 0 if all are equal."""
    known = ~(np.isnan(scores) | np.isnan(gold))
    from_scores, from_gold = pair_signs(scores, known), pair_signs(gold, known)
    size = np.sqrt((from_scores**2).sum(axis=(-1, -2)) * (from_gold**2).sum(axis=(-1, -2)))
    tau = np.where(size > 0, (from_scores * from_gold).sum(axis=(-1, -2)) / np.maximum(size, 1.0), 0.0)
    return np.where(measurable_groups(scores, gold), tau, np.nan)


def sign_error(scores: Array, gold: Array) -> Array:
    """Return the share of members whose advantage has the wrong sign, in [0, 1].

    The advantage is the score minus the group's mean. Members whose gold is the group's mean do not count; an advantage
    of 0 where there should be one counts half.
    """
    known = ~(np.isnan(scores) | np.isnan(gold))
    from_scores, from_gold = (
        np.where(np.abs(part) > _EDGE, np.sign(part), 0.0)
        for part in (centred_values(scores, known), centred_values(gold, known))
    )
    counted = (from_gold != 0).sum(axis=-1)
    wrong = (np.abs(from_scores - from_gold) / 2 * (from_gold != 0)).sum(axis=-1)
    return np.where(measurable_groups(scores, gold), wrong / np.maximum(counted, 1), np.nan)


def mean_over_groups(by_group: Array) -> float | None:
    """Return the mean of a calibration measure over the groups that could be measured; None if there are none."""
    known = by_group[~np.isnan(by_group)]
    return float(known.mean()) if len(known) else None


def bootstrap_interval(by_group: Array, ways: int = 1) -> Interval | None:
    """Return a 95 % percentile bootstrap interval (Efron 1979) of a calibration measure's mean over groups.

    From a fixed seed, and Bonferroni's for the best of ``ways``. None below six groups: five agree by chance too often.
    """
    known = by_group[~np.isnan(by_group)]
    if len(known) < FEWEST:
        return None
    means = resample_weights(len(known)) @ known
    low, high = np.percentile(means, [2.5 / ways, 100 - 2.5 / ways])
    return float(low), float(high)


def smallest_shown(interval: Interval | None) -> float:
    """Return the smallest mean that as many groups could show to differ from 0, with a power of 80 %, in calibration.

    It is 1.960 + 0.842 standard errors (Cohen, *Statistical Power Analysis*, 1988); ``interval`` has 2 * 1.960 of them.
    0 if no error is known, as where all groups have the same figure.
    """
    width = 0.0 if interval is None else interval[1] - interval[0]
    return width / 2 * (1.960 + 0.842) / 1.960 if width > _EDGE else 0.0


@lru_cache(maxsize=8)
def resample_weights(count: int) -> Array:
    """Return weights of ``count`` groups in each of 1,000 resamples; each row sums to 1."""
    draws = np.random.default_rng(count).multinomial(count, np.full(count, 1 / count), size=_RESAMPLES)
    return np.asarray(draws / count, dtype=np.float64)
