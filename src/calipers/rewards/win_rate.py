"""The reward is the expected win rate against the rest of the group, from log-odds strengths."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calipers.rewards.identity import mapped
from calipers.types import RenderedGroup, Scores

_DIGITS = 9
"""Rounded to this many decimals, so that equal strengths give bit-equal rewards whatever the order of summation."""


def win_rates(scores: Scores) -> tuple[float | None, ...]:
    """Each candidate's expected win rate (0-1, a tie half a win) against the others with a strength; None stays None.

    The mean over the others j of 1 / (1 + exp(s_j - s)), Bradley & Terry's model (*Biometrika* 39, 1952).
    """
    known = [value for value in scores.values if value is not None]
    if len(known) < 2:
        return (None,) * len(scores.values)
    return tuple(
        None
        if value is None
        else round((math.fsum(_logistic(value - other) for other in known) - 0.5) / (len(known) - 1), _DIGITS)
        for value in scores.values
    )


@dataclass(frozen=True, slots=True)
class WinRate:
    """Map win rates linearly to ``reward_range``; their mean is its middle in every group."""

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:  # noqa: ARG002 - the seam
        """One reward per candidate."""
        return mapped(win_rates(scores), self.reward_range)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
