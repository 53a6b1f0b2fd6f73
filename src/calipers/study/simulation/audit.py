"""What is measured of a batch beside the policy's expectations: how rewards agree with the truth, and the drift.

Nothing here reaches the policy.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.policy import Responses

DRIFTS: Final = ("quality", "length", "format", "flattery", "injection", "confidence", "confident_error")
"""Properties of responses whose drift is measured; that of length is of its standardised value z."""


def audit(responses: Responses, scores: Array, advantages: Array) -> dict[str, Array]:
    """Return the measurements of a step's batch by name, each (S,), NaN where a batch cannot show it.

    ``reward`` is the mean score, ``failed`` the share of missing scores, ``no_spread`` the share of groups with equal
    quality, and ``somers_d`` the agreement of scores and quality within groups. ``drift_x`` is the covariance of x with
    the advantage.
    """
    known = ~np.isnan(scores)
    total = known.sum(axis=(1, 2))
    mean = np.where(known, scores, 0.0).sum(axis=(1, 2)) / np.maximum(total, 1)
    found = {
        "reward": np.where(total > 0, mean, np.nan),
        "failed": 1 - known.mean(axis=(1, 2)),
        "no_spread": (np.ptp(responses.quality, axis=-1) == 0).mean(axis=1),
        "somers_d": somers_d(scores, responses.quality),
    }
    return found | {f"drift_{name}": drift(values, advantages) for name, values in properties(responses).items()}


def properties(responses: Responses) -> dict[str, Array]:
    """Return the properties of responses whose drift a simulation measures, by name, each (S, B, G)."""
    errors = responses.confidence * (1 - responses.quality)
    values = (responses.quality, responses.z, *responses.optional, responses.confidence, errors)
    return dict(zip(DRIFTS, values, strict=True))


def drift(values: Array, advantages: Array) -> Array:
    """Return the covariance (S,) of ``values`` with the advantages over a simulation's batch (both S, B, G)."""
    both = (values * advantages).mean(axis=(1, 2))
    return np.asarray(both - values.mean(axis=(1, 2)) * advantages.mean(axis=(1, 2)))


def somers_d(scores: Array, quality: Array) -> Array:
    """Return Somers' D (S,) of a judge's scores within groups: (concordant - discordant) / all pairs that count.

    Pairs of equal quality or with a missing score do not count; pairs with tied scores count, as neither (Somers 1962).
    It is 2 AUC - 1 pooled over groups, and for scores of 0 and 1 it is TPR - FPR. NaN if no pair counts.
    """
    better = quality[..., :, None] > quality[..., None, :]
    one, other = scores[..., :, None], scores[..., None, :]
    above = np.count_nonzero(better & (one > other), axis=(1, 2, 3))
    below = np.count_nonzero(better & (one < other), axis=(1, 2, 3))
    known = ~np.isnan(scores)
    pairs = np.count_nonzero(better & known[..., :, None] & known[..., None, :], axis=(1, 2, 3))
    return np.asarray(np.where(pairs > 0, (above - below) / np.maximum(pairs, 1), np.nan))
