"""The reward is the expected win rate against the rest of the group, computed from log-odds strengths."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calipers.rewards.identity import map_to_reward_range
from calipers.types import RenderedGroup, Scores

_DIGITS = 9
"""Rates are rounded to this many decimals, so that equal strengths get bit-equal rewards in any order of summation."""


def win_rates(scores: Scores) -> tuple[float | None, ...]:
    """Turn strengths (scores) into win rates for rewards, from 0 to 1; a tie is half a win.

    A win rate is a candidate's expected share of wins against the others that have a strength. The rate is the mean
    over the others j of 1 / (1 + exp(s_j - s)), Bradley & Terry's model (*Biometrika* 39, 1952).
    """
    known = [value for value in scores.values if value is not None]
    if len(known) < 2:
        return (None,) * len(scores.values)
    return tuple(
        None
        if value is None
        else round((math.fsum(_logistic(value - rival) for rival in known) - 0.5) / (len(known) - 1), _DIGITS)
        for value in scores.values
    )


@dataclass(frozen=True, slots=True)
class WinRate:
    """Maps win rates linearly to ``reward_range``; their mean is its middle in every group."""

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:  # noqa: ARG002 - the seam
        """Return one reward per candidate."""
        return map_to_reward_range(win_rates(scores), self.reward_range)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
