"""The scores of a panel's judges combined, as ``aggregators.panel`` does, for many groups at once.

Not responsible for quorums or for learned weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calipers.study.simulation.arrays import Array, Flags
from calipers.study.simulation.settings import Combination

_EDGE = 1e-9


def combine(scores: Sequence[Array], weights: Sequence[float], how: Combination) -> Array:
    """Return one score for each response (S, B, G) from those of several judges; NaN where no judge has one.

    With "mean", it is the weighted mean of the judges that scored the response. With "standardised", each judge's
    scores are standardised within the group first, and the result has the judges' average mean and standard deviation;
    a judge that scored fewer than two responses of a group is omitted there. A response's weights are shared out among
    the judges that scored it.
    """
    rows = np.stack(scores)
    shares = np.array(weights, dtype=float)[:, None, None, None]
    if how == "mean":
        return _weighted_mean(rows, shares)
    known = ~np.isnan(rows)
    count = known.sum(axis=-1, keepdims=True)
    usable = known & (count > 1)
    filled = np.where(usable, rows, 0.0)
    size = np.maximum(count, 1)
    mean = filled.sum(axis=-1, keepdims=True) / size
    centred = np.where(usable, filled - mean, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=-1, keepdims=True) / size)
    standard = np.where(usable, centred / np.where(deviation > _EDGE, deviation, 1.0), np.nan)
    standard = np.where(usable & (deviation <= _EDGE), 0.0, standard)
    combined = _weighted_mean(standard, shares)
    judged = np.where(count > 1, shares, 0.0)
    total = np.maximum(judged.sum(axis=0), _EDGE)
    level, spread = (judged * mean).sum(axis=0) / total, (judged * deviation).sum(axis=0) / total
    return np.asarray(level + np.minimum(spread, _room(rows, usable, level, combined)) * combined)


def _room(rows: Array, usable: Flags, level: Array, combined: Array) -> Array:
    """Return the largest standard deviation at which no response leaves the range of all judges' scores of its group.

    One judge's standard deviation may move another judge's outlier off the scale.
    """
    highest = np.where(usable, rows, -np.inf).max(axis=(0, -1), keepdims=True)[0]
    lowest = np.where(usable, rows, np.inf).min(axis=(0, -1), keepdims=True)[0]
    distance = np.where(combined > 0, highest - level, level - lowest)
    moved = np.where(np.isnan(combined), 0.0, np.abs(combined))
    found = np.where(moved > 0, np.maximum(distance, 0.0) / np.where(moved > 0, moved, 1.0), np.inf)
    return np.asarray(found.min(axis=-1, keepdims=True))


def _weighted_mean(rows: Array, shares: Array) -> Array:
    known = ~np.isnan(rows)
    total = (known * shares).sum(axis=0)
    mean = (np.where(known, rows, 0.0) * shares).sum(axis=0) / np.where(total > 0, total, 1.0)
    return np.asarray(np.where(total > 0, mean, np.nan))
