"""Rewards to advantages, as GRPO trainers compute them; NaN marks a reward that is missing.

TRL and verl center by the mean of the group and divide by its standard deviation with ddof 1 plus a small number. A
missing reward has the advantage 0 and changes neither mean nor standard deviation (TRL since 1.6).
"""

from __future__ import annotations

import numpy as np

from calipers.study.simulation.arrays import Array, Flags
from calipers.study.simulation.settings import Scale


def advantages(rewards: Array, *, scale: Scale, epsilon: float) -> Array:
    """Return the advantages of rewards (S, B, G), 0 where a reward is NaN.

    ``scale`` says what the centred rewards are divided by: "group", the standard deviation of the group; "batch", that
    of the run's whole batch; "none", 1. A group with fewer than two rewards has no advantages. A standard deviation
    that is not known (fewer than two rewards) leaves no advantages either.
    """
    known = ~np.isnan(rewards)
    filled = np.where(known, rewards, 0.0)
    count = known.sum(axis=-1, keepdims=True)
    mean = filled.sum(axis=-1, keepdims=True) / np.maximum(count, 1)
    centred = np.where(known & (count > 1), filled - mean, 0.0)
    # Rounding of the mean must not become an advantage in a group of equal rewards.
    equal = np.where(known, rewards, -np.inf).max(axis=-1) == np.where(known, rewards, np.inf).min(axis=-1)
    centred[equal] = 0.0
    match scale:
        case "group":
            deviation = np.sqrt((centred**2).sum(axis=-1, keepdims=True) / np.maximum(count - 1, 1))
        case "batch":
            deviation = _batch_deviation(filled, known)[:, None, None]
        case _:
            return centred
    divisor = deviation + epsilon
    return np.asarray(centred / np.where(divisor > 0, divisor, 1.0))


def _batch_deviation(filled: Array, known: Flags) -> Array:
    count = np.maximum(known.sum(axis=(1, 2)), 1)
    mean = filled.sum(axis=(1, 2)) / count
    squares = (np.where(known, filled - mean[:, None, None], 0.0) ** 2).sum(axis=(1, 2))
    return np.asarray(np.sqrt(squares / np.maximum(count - 1, 1)))
