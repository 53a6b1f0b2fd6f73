"""How a judge uses its scale: which scores it gives, and how often it ties candidates.

Not responsible for agreement with gold (``agreement``).
"""

from __future__ import annotations

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.measures import pair_signs, resample_weights
from calipers.study.profiles.answers import Answers
from calipers.study.profiles.estimates import estimate_share, sum_by_group
from calipers.study.profiles.figures import Figure, untold
from calipers.study.profiles.profile import Level, ScaleUse

_STEPS = 100
"""Scores are counted on this many steps of the scale, which is what calipers asks judges for."""

_EDGE = 1e-12


def scale_use(table: Answers) -> ScaleUse:
    """Return the use of the scale in a judge's answers, for its profile."""
    groups = len(table.frame.groups)
    # Finer differences than the steps cannot be written in a reply, so they are ties to a run.
    tied = sum_by_group(_ties(np.rint(table.scores * _STEPS)), table.group, groups)
    counts = sum_by_group(_level_counts(table.scores), table.group, groups)
    shares = counts.sum(axis=0) / counts.sum()
    levels = tuple(Level(place / _STEPS, float(share)) for place, share in enumerate(shares) if share)
    return ScaleUse(
        table.kind,
        () if table.kind == "ranks" else levels,
        _used(counts),
        estimate_share(tied, 0, 1, n=tied[:, 1].sum(), reason="no answer scores two members of a group"),
        estimate_share(tied, 2, 3, n=tied[:, 3].sum(), reason="no answer scores two members of a group"),
    )


def _level_counts(scores: Array) -> Array:
    """Return how often each list has each of the levels from 0 to 1 in hundredths, (lists, 101)."""
    steps = np.where(np.isnan(scores), -1, np.rint(scores * _STEPS)).astype(np.int64)
    return np.stack([(steps == level).sum(axis=1) for level in range(_STEPS + 1)], axis=1).astype(np.float64)


def _used(counts: Array) -> Figure:
    """Return the effective number of levels from each group's ``counts`` of them, (groups, 101).

    It is 1 / sum of the squared shares, Hill's number of order 2 (*Ecology* 54, 1973). The square of a share is how
    often two scores are equal. Only scores of different groups are compared, in the interval's resamples as well, since
    those of one group are alike. Neither it nor its interval is above the number of levels that were given.
    """
    counts = counts[counts.any(axis=1)]
    if len(counts) < 2:
        return untold("only one group was judged")
    values = _effective_levels(counts, np.full((1, len(counts)), 1.0))
    drawn = _effective_levels(counts, resample_weights(len(counts)))
    found, known = float(values[0]), drawn[~np.isnan(drawn)]
    low, high = np.percentile(known, [2.5, 97.5])
    return Figure(found, float(min(low, found)), float(max(high, found)), int(counts.sum()), len(counts))


def _effective_levels(counts: Array, weights: Array) -> Array:
    """Return the effective levels with each of ``weights`` (resamples, groups); NaN for a resample of one group."""
    both = (weights @ counts) ** 2
    equal = (both - weights**2 @ counts**2).sum(axis=1)
    pairs = (weights @ counts.sum(axis=1)) ** 2 - weights**2 @ counts.sum(axis=1) ** 2
    several = pairs > _EDGE * pairs.max()
    found = pairs / np.where(equal > _EDGE * pairs.max(), equal, np.nan)
    most = float((counts.sum(axis=0) > 0).sum())
    # Where no two scores are equal, there are as many levels as could be.
    return np.where(several, np.clip(np.nan_to_num(found, nan=most), 1.0, most), np.nan)


def _ties(scores: Array) -> Array:
    """Return, for each list, its tied and all pairs of scored members, and 1s where all are tied and where two are."""
    known = ~np.isnan(scores)
    count = known.sum(axis=1)
    pairs = count * (count - 1) / 2
    decided = (pair_signs(scores, known) != 0).sum(axis=(1, 2)) / 2
    several = pairs > 0
    return np.stack([pairs - decided, pairs, several & (decided == 0), several], axis=1).astype(np.float64)
