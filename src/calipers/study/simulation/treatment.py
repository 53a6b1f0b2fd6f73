"""From scores to rewards and to the weights of advantages: what calipers, or a careless pipeline, makes of scores.

The transforms are those of ``calipers.rewards``, for many groups at once. Not responsible for standard errors
(``standard_errors``).
"""

from __future__ import annotations

import numpy as np

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.judge import Judged
from calipers.study.simulation.near_ties import near_tied
from calipers.study.simulation.policy import Responses
from calipers.study.simulation.settings import Arm, OnFailure, Reward

_DIGITS = 9
_RELIABILITY_DIGITS = 6


def rewards_of(arm: Arm, judged: Judged, responses: Responses) -> Array:
    """Return the rewards (S, B, G) of a step's scores; NaN is no signal."""
    scores, error = judged.scores, judged.stderr
    rewards = transform(scores, arm.treatment.reward)
    if arm.treatment.length_control:
        rewards = control_length(
            rewards,
            scores,
            responses.length,
            stderr=error,
            strength=arm.treatment.length_control,
            within=arm.treatment.length_within,
        )
    if arm.treatment.ties:
        rewards = tie(rewards, scores, stderr=error, within=arm.treatment.ties)
    return without_failures(rewards, arm.treatment.failures)


def group_weights(arm: Arm, judged: Judged, responses: Responses) -> Array:
    """Return what each group's advantages are multiplied by, (S, B, 1)."""
    match arm.treatment.weights:
        case "reliability":
            return np.sqrt(reliability(judged.scores, stderr=judged.stderr))
        case "oracle":
            return np.asarray(np.ptp(responses.quality, axis=-1, keepdims=True) > 0, dtype=float)
    return np.ones((*judged.scores.shape[:2], 1))


def reliability(scores: Array, *, stderr: float | Array) -> Array:
    """Return R = max(0, 1 - mean stderr² / s²) of each group (..., 1), with the variance s² of its scores (..., G).

    ``stderr`` is that of every score, or an array of theirs. The variance has ddof 1, and NaN scores are left out. R is
    the estimated share of that variance that is not noise, and 0 for groups of equal scores or with fewer than two.
    """
    known = ~np.isnan(scores)
    count = known.sum(axis=-1, keepdims=True)
    filled = np.where(known, scores, 0.0)
    centred = np.where(known, filled - filled.sum(axis=-1, keepdims=True) / np.maximum(count, 1), 0.0)
    variance = (centred**2).sum(axis=-1, keepdims=True) / np.maximum(count - 1, 1)
    errors = np.where(known, np.square(stderr), 0.0).sum(axis=-1, keepdims=True) / np.maximum(count, 1)
    return np.asarray(np.where(variance > 0, np.maximum(0.0, 1 - errors / np.where(variance > 0, variance, 1.0)), 0.0))


def transform(scores: Array, reward: Reward) -> Array:
    """Return rewards of scores (S, B, G), as ``rewards.identity``, ``rank`` and ``min_max`` make them on [0, 1].

    A "score" is not clipped. NaN stays NaN.
    """
    known = ~np.isnan(scores)
    match reward:
        case "rank":
            others = np.maximum(known.sum(axis=-1, keepdims=True) - 1, 1)
            shares = _beaten(scores) / others
            return np.asarray(np.where(known, np.where(known.sum(axis=-1, keepdims=True) > 1, shares, 0.5), np.nan))
        case "min_max":
            high = np.where(known, scores, -np.inf).max(axis=-1, keepdims=True)
            low = np.where(known, scores, np.inf).min(axis=-1, keepdims=True)
            spread = np.where(high > low, high - low, 1.0)
            return np.asarray(np.where(known, np.where(high > low, (scores - low) / spread, 0.5), np.nan))
    return scores


def _beaten(values: Array) -> Array:
    """Return how many others of its group each value is above; equal ones count half. Missing ones do not count."""
    one, other = values[..., :, None], values[..., None, :]
    return np.asarray((one > other).sum(axis=-1) + ((one == other).sum(axis=-1) - 1) / 2)


def tie(rewards: Array, scores: Array, *, stderr: float | Array, within: float) -> Array:
    """Return rewards (S, B, G) with near ties made exact, as ``rewards.ties`` does: each cluster gets its mean."""
    clusters = near_tied(scores, stderr=stderr, within=within)
    ranked = clusters.sorted(rewards)
    same = clusters.same()
    mean = np.where(same, np.where(np.isnan(ranked), 0.0, ranked)[..., None, :], 0.0).sum(axis=-1) / same.sum(axis=-1)
    alone = same.sum(axis=-1) == 1
    return clusters.unsorted(np.where(alone, ranked, np.round(mean, _DIGITS)))


def control_length(
    rewards: Array, scores: Array, lengths: Array, *, stderr: float | Array, strength: float, within: float
) -> Array:
    """Return rewards (S, B, G) under length control, as ``rewards.length`` does.

    Within a cluster of near-tied scores, shorter responses move up in the cluster's range of rewards. The changes have
    at most the share ``strength`` of a group's variance, and a group without reliability has none.
    """
    clusters = near_tied(scores, stderr=stderr, within=within)
    ranked, length = clusters.sorted(rewards), clusters.sorted(lengths)
    same = clusters.same()
    others = same.sum(axis=-1) - 1
    longer = (same & (length[..., None, :] > length[..., :, None])).sum(axis=-1)
    equal = (same & (length[..., None, :] == length[..., :, None])).sum(axis=-1) - 1
    shorter = (longer + equal / 2) / np.maximum(others, 1)
    high = np.where(same, ranked[..., None, :], -np.inf).max(axis=-1)
    low = np.where(same, ranked[..., None, :], np.inf).min(axis=-1)
    alone = others == 0
    with np.errstate(invalid="ignore"):  # missing rewards are alone
        moved = (1 - strength) * ranked + strength * (low + shorter * (high - low))
    moved = np.where(alone, ranked, np.clip(np.round(moved, _DIGITS), low, high))
    factor = _share_of_change(ranked, moved, most=strength)
    factor = np.where(np.round(reliability(scores, stderr=stderr), _RELIABILITY_DIGITS) > 0, factor, 0.0)
    with np.errstate(invalid="ignore"):  # missing rewards are alone
        smaller = np.clip(np.round(ranked + factor * (moved - ranked), _DIGITS), low, high)
    changed = np.where(factor < 1, np.where(alone | (factor == 0), ranked, smaller), moved)
    return clusters.unsorted(changed)


def _share_of_change(before: Array, after: Array, *, most: float) -> Array:
    """Return the factors (..., 1) of ``rewards.length.share_of_change``; NaN rewards are left out."""
    known = ~np.isnan(before) & ~np.isnan(after)
    count = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    reward, shift = np.where(known, before, 0.0), np.where(known, after - before, 0.0)
    reward = np.where(known, reward - reward.sum(axis=-1, keepdims=True) / count, 0.0)
    shift = np.where(known, shift - shift.sum(axis=-1, keepdims=True) / count, 0.0)
    variance, change, both = (
        (a * b).sum(axis=-1, keepdims=True) for a, b in ((reward, reward), (shift, shift), (reward, shift))
    )
    root = np.sqrt((most * both) ** 2 + (1 - most) * most * change * variance)
    divisor = root - most * both
    bounded = np.where(divisor > 0, np.minimum(most * variance / np.where(divisor > 0, divisor, 1.0), 1.0), 0.0)
    return np.asarray(np.where(change <= most * (variance + 2 * both + change), 1.0, bounded))


def without_failures(rewards: Array, how: OnFailure) -> Array:
    """Return rewards (S, B, G) in which missing ones are treated: left missing, made zero, or their group dropped."""
    missing = np.isnan(rewards)
    match how:
        case "zero":
            return np.where(missing, 0.0, rewards)
        case "drop":
            return np.where(missing.any(axis=-1, keepdims=True), np.nan, rewards)
    return rewards
