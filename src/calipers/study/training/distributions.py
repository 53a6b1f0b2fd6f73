"""The functions of probability that the policy is made of, and the first policy's distribution of lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from calipers.study.training.settings import ClosedForm

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Integers: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.intp]]

_FARTHEST = 1e9


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + e^-x), a probability of a policy, without overflow."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def logit(p: Array) -> Array:
    """Return the log-odds log(p / (1 - p)) of a policy's probability strictly between 0 and 1."""
    return np.asarray(np.log(p) - np.log1p(-p))


def softplus(x: Array) -> Array:
    """Return log(1 + e^x), which normalises a policy's choice between two, without overflow."""
    return np.asarray(np.logaddexp(0.0, x))


def binary_divergence(logit: Array, first: Array) -> Array:
    """Return the Kullback-Leibler divergence of a policy's choice between two from the first policy's, in nats.

    Both are given by their log-odds, so that probabilities may be as near 0 and 1 as they like.
    """
    return np.asarray(sigmoid(logit) * (logit - first) - softplus(logit) + softplus(first))


def log_length_distribution(settings: ClosedForm) -> Array:
    """Return log h, the first policy's log-probabilities of the lengths from ``length_floor`` to ``length_cap``.

    With the tail "geometric" or "pareto", the tail's parameter follows from ``length_mean``; with "normal", the
    location does, and the standard deviation before truncation is ``length_sd``.
    """
    above = np.arange(settings.length_cap - settings.length_floor + 1, dtype=float)

    def logs(parameter: float) -> Array:
        match settings.length_tail:
            case "geometric":
                found = -parameter * above
            case "pareto":
                found = -parameter * np.log1p(above)
            case _:
                found = -0.5 * (above / settings.length_sd) ** 2 - parameter * above
        return np.asarray(found - log_sum(found))

    wanted = settings.length_mean - settings.length_floor
    return logs(_root(lambda parameter: float((np.exp(logs(parameter)) * above).sum()) - wanted))


def log_sum(x: Array) -> Array:
    """Return log Σ e^x over the last axis, which normalises a policy's choice of a length, without overflow."""
    highest = x.max(axis=-1)
    return np.asarray(np.log(np.exp(x - highest[..., None]).sum(axis=-1)) + highest)


def _root(falling: Callable[[float], float]) -> float:
    """Return where a falling function of one variable is 0, by bisection; the nearest end of [-1e9, 1e9] if nowhere."""
    low, high = -100.0, 100.0
    while low > -_FARTHEST and falling(low) < 0:
        low *= 2
    while high < _FARTHEST and falling(high) > 0:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return middle
