"""Learn from repeated calls of a judge, without gold: its noise, and how accurate its standard errors are."""

from __future__ import annotations

import numpy as np

from calipers.aggregators.noise import Noise
from calipers.calibration.measures import Array, mean_of_known

_EDGE = 1e-12


def squared_residuals(calls: Array, *, shared: bool) -> tuple[Array, Array]:
    """Return each group's sum of squared residuals and degrees of freedom.

    ``calls`` are (groups, calls, members). With ``shared``, one answer rated all members. An answer's mean then does
    not count as noise (two-way residuals).
    """
    known = ~np.isnan(calls)
    if shared:
        calls = calls - mean_of_known(calls, axis=2)[:, :, None]
    off = np.where(known, calls - mean_of_known(calls, axis=1)[:, None, :], 0.0)
    members = known.any(axis=1).sum(axis=1)
    answers = known.any(axis=2).sum(axis=1) if shared else np.ones(len(calls), dtype=np.int64)
    freedom = known.sum(axis=(1, 2)) - members - np.where(members > 0, answers - 1, 0)
    return (off**2).sum(axis=(1, 2)), np.maximum(freedom, 0)


def learn_noise(calls: Array, *, shared: bool) -> Noise | None:
    """Return a judge's noise, which needs no gold; None if too few groups were asked twice."""
    squares, freedom = squared_residuals(calls, shared=shared)
    return Noise.learn(squares.tolist(), freedom.tolist())


def stderr_ratio(calls: Array, *, shared: bool) -> float | None:
    """Return how honest standard errors are: the mean of (a-b)² / (se_a² + se_b²) over candidates; 1 is honest.

    a and b come from the two halves of the calls. Each half learns its own noise and has at least two calls; None if
    there are fewer, or if neither half has any noise.
    """
    half = calls.shape[1] // 2
    parts = [_scores_and_errors(part, shared=shared) for part in (calls[:, :half], calls[:, half : 2 * half])]
    if half < 2 or parts[0] is None or parts[1] is None:
        return None
    (a, a_error), (b, b_error) = parts[0], parts[1]
    expected = a_error + b_error
    ratio = (a - b) ** 2 / np.where(expected > _EDGE, expected, np.nan)
    known = ratio[~np.isnan(ratio)]
    return float(known.mean()) if len(known) else None


def _scores_and_errors(calls: Array, *, shared: bool) -> tuple[Array, Array] | None:
    """Return scores and squared standard errors, (groups, members); ``shared`` subtracts each group's mean."""
    noise = learn_noise(calls, shared=shared)
    if noise is None:
        return None
    squares, freedom = squared_residuals(calls, shared=shared)
    variance = np.array([noise.variance_of(float(s), int(f)) for s, f in zip(squares, freedom, strict=True)])
    known = ~np.isnan(calls)
    count = known.sum(axis=1)
    scores = mean_of_known(calls, axis=1)
    errors = np.where(count > 0, variance[:, None] / np.maximum(count, 1), np.nan)
    if shared:
        members = np.maximum((count > 0).sum(axis=1), 1)
        scores = scores - mean_of_known(scores, axis=1)[:, None]
        errors = errors * (1 - 1 / members)[:, None]
    return scores, errors
