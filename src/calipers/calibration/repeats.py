"""Learn from repeated calls of a judge, without gold: noise, accuracy of standard errors, cost of stopping early.

The rules themselves are in ``aggregators`` (``Noise``, ``StoppingRule``); here they are run over recorded calls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calipers.aggregators.noise import Noise
from calipers.aggregators.resolution import StoppingRule
from calipers.calibration.measures import Array, Flags, fidelity, mean_of_known

_EDGE = 1e-12


@dataclass(frozen=True, slots=True)
class Learned:
    """What a judge's repeated calls show: its noise, and the usual spread of its stable scores within a group."""

    noise: Noise
    spread: float

    def rule(self, *, tolerance: float, budget: int) -> StoppingRule:
        """Return the stopping rule for this judge."""
        return StoppingRule(self.spread, tolerance=tolerance, budget=budget)


def squared_residuals(calls: Array, *, shared: bool) -> tuple[Array, Array]:
    """Return each group's sum of squared residuals and degrees of freedom.

    ``calls`` are (groups, calls, members).

    With ``shared``, one answer rated all members. An answer's mean then does not count as noise (two-way residuals).
    """
    known = ~np.isnan(calls)
    if shared:
        calls = calls - mean_of_known(calls, axis=2)[:, :, None]
    off = np.where(known, calls - mean_of_known(calls, axis=1)[:, None, :], 0.0)
    members = known.any(axis=1).sum(axis=1)
    answers = known.any(axis=2).sum(axis=1) if shared else np.ones(len(calls), dtype=np.int64)
    freedom = known.sum(axis=(1, 2)) - members - np.where(members > 0, answers - 1, 0)
    return (off**2).sum(axis=(1, 2)), np.maximum(freedom, 0)


def learn_noise(calls: Array, *, shared: bool) -> Learned | None:
    """Return a judge's noise and spread, which need no gold.

    None if too few groups were asked twice.
    """
    squares, freedom = squared_residuals(calls, shared=shared)
    noise = Noise.learn(squares.tolist(), freedom.tolist())
    if noise is None:
        return None
    return Learned(noise, max(_single_spread(calls) - noise.variance, 0.0))


def _single_spread(calls: Array) -> float:
    """Return the mean variance within a group of single calls' scores."""
    spreads = _variance(calls)
    known = spreads[~np.isnan(spreads)]
    return float(known.mean()) if len(known) else 0.0


def _variance(scores: Array) -> Array:
    """Return the sample variance over the last axis of the known scores; NaN below two."""
    known = ~np.isnan(scores)
    count = known.sum(axis=-1)
    off = np.where(known, scores - mean_of_known(scores, axis=-1)[..., None], 0.0)
    return np.where(count > 1, (off**2).sum(axis=-1) / np.maximum(count - 1, 1), np.nan)


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
    learned = learn_noise(calls, shared=shared)
    if learned is None:
        return None
    squares, freedom = squared_residuals(calls, shared=shared)
    variance = np.array([learned.noise.variance_of(float(s), int(f)) for s, f in zip(squares, freedom, strict=True)])
    known = ~np.isnan(calls)
    count = known.sum(axis=1)
    scores = mean_of_known(calls, axis=1)
    errors = np.where(count > 0, variance[:, None] / np.maximum(count, 1), np.nan)
    if shared:
        members = np.maximum((count > 0).sum(axis=1), 1)
        scores = scores - mean_of_known(scores, axis=1)[:, None]
        errors = errors * (1 - 1 / members)[:, None]
    return scores, errors


def simulate_stopping(
    calls: Array, gold: Array, learned: Learned, rule: StoppingRule, *, shared: bool
) -> tuple[Array, Array]:
    """Return each group's mean calls and fidelity if the judge is asked until ``rule`` stops.

    Both are means over all cyclic starts of the calls. The rule does not use ``gold``.
    """
    groups, most = calls.shape[:2]
    used, levels = np.zeros((most, groups)), np.zeros((most, groups))
    for start in range(most):
        rolled = np.roll(calls, -start, axis=1)
        open_groups = np.ones(groups, dtype=bool)
        for count in range(1, min(rule.budget, most) + 1):
            stops = _should_stop(rolled[:, :count], learned, rule, open_groups, shared=shared) | (count == most)
            now = open_groups & stops
            used[start, now] = count
            levels[start, now] = fidelity(mean_of_known(rolled[now, :count], axis=1), gold[now])
            open_groups &= ~now
    return used.mean(axis=0), mean_of_known(levels, axis=0)


def _should_stop(calls: Array, learned: Learned, rule: StoppingRule, asked: Flags, *, shared: bool) -> Flags:
    count = calls.shape[1]
    squares, freedom = squared_residuals(calls, shared=shared)
    spreads = _variance(mean_of_known(calls, axis=1))
    members = (~np.isnan(calls)).any(axis=1).sum(axis=1)
    settled = np.ones(len(calls), dtype=bool)
    if count >= rule.budget:
        return settled
    for row in np.flatnonzero(asked & (members > 1)):
        noise = learned.noise.variance_of(float(squares[row]), int(freedom[row]))
        gain = rule.gain(float(spreads[row]), noise, freedom=int(members[row]) - 1, calls=count)
        settled[row] = gain < rule.tolerance
    return settled
