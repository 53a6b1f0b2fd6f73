"""How a judge uses its scale: which scores it gives, and how often it ties candidates.

Not responsible for agreement with gold (``agreement``).
"""

from __future__ import annotations

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.measures import pair_signs
from calipers.study.profiles.answers import Answers
from calipers.study.profiles.estimates import estimate, ratio, sum_by_group
from calipers.study.profiles.profile import Level, ScaleUse

_STEPS = 100
"""Scores are counted on this many steps of the scale, which is what calipers asks judges for."""


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
        estimate(_level_sums(counts), _effective_levels, n=counts.sum(), reason="only one group was judged"),
        estimate(tied, ratio(0, 1), n=tied[:, 1].sum(), reason="no answer scores two members of a group"),
        estimate(tied, ratio(2, 3), n=tied[:, 3].sum(), reason="no answer scores two members of a group"),
    )


def _level_counts(scores: Array) -> Array:
    """Return how often each list has each of the levels from 0 to 1 in hundredths, (lists, 101)."""
    steps = np.where(np.isnan(scores), -1, np.rint(scores * _STEPS)).astype(np.int64)
    return np.stack([(steps == level).sum(axis=1) for level in range(_STEPS + 1)], axis=1).astype(np.float64)


def _level_sums(counts: Array) -> Array:
    """Return each group's ``counts`` of levels, and what its own pairs of scores add to the squares of the sums."""
    groups = max(int((counts.sum(axis=1) > 0).sum()), 1)
    squares = [(counts**2).sum(axis=1), counts.sum(axis=1) ** 2]
    return np.concatenate([counts, np.stack(squares, axis=1) / groups], axis=1)


def _effective_levels(sums: Array) -> Array:
    """Return 1 / sum of the squared shares, Hill's number of order 2 (*Ecology* 54, 1973).

    The square of a share is how often two scores are equal. Only scores of different groups are compared, since those
    of one group are alike.
    """
    counts, same, within = sums[..., : _STEPS + 1], sums[..., _STEPS + 1], sums[..., _STEPS + 2]
    pairs = counts.sum(axis=-1) ** 2 - within
    equal = (counts**2).sum(axis=-1) - same
    return np.where(equal > 0, pairs / np.where(equal > 0, equal, 1.0), np.nan)


def _ties(scores: Array) -> Array:
    """Return, for each list, its tied and all pairs of scored members, and 1s where all are tied and where two are."""
    known = ~np.isnan(scores)
    count = known.sum(axis=1)
    pairs = count * (count - 1) / 2
    decided = (pair_signs(scores, known) != 0).sum(axis=(1, 2)) / 2
    several = pairs > 0
    return np.stack([pairs - decided, pairs, several & (decided == 0), several], axis=1).astype(np.float64)
