"""The rewards of a judged group in the forms that training engines take.

Pure. Rewards are one entry per trajectory, in the group's order, and every number is finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from calipers.types import GroupResult, TrajectoryResult

NEUTRAL: Final = 0.5
"""The reward of trajectories that could not be compared. Any constant gives the same advantage: 0."""

_BITS: Final = 16
_TOLERANCE: Final = 1e-9


def trajectory_rewards(result: GroupResult) -> list[float | None]:
    """Return each trajectory's reward, or None, for trainers that exclude a row without a reward from the baseline.

    If all are equal (to 1e-9), each becomes their common value in 16 significant bits. Engines compute means in single
    precision. There the mean of equal numbers need not be that number, and the difference is divided by an equally
    small deviation. So eight rewards of 0.97 get an advantage of 0.93 each where 1e-9 is added to the deviation
    (OpenRLHF), and of 0.11 where 1e-6 is added (verl, slime, SkyRL). Sums of up to 256 equal numbers of 16 bits are
    exact, so their advantage is 0. No reward changes by more than 2^-16 of its value.
    """
    rewards = [_finite(trajectory.reward) for trajectory in result.trajectories]
    known = [reward for reward in rewards if reward is not None]
    if len(known) < 2 or max(known) - min(known) > _TOLERANCE * max(1.0, abs(known[0])):
        return rewards
    mantissa, exponent = math.frexp(known[0])
    even = math.ldexp(round(mantissa * 2**_BITS), exponent - _BITS)
    return [None if reward is None else even for reward in rewards]


def rewards_or_none(result: GroupResult) -> list[float | None]:
    """Return each trajectory's reward for the trainer if all have one, otherwise None for all.

    For engines in which a missing row changes the other rows' advantages.
    """
    rewards = trajectory_rewards(result)
    return [None] * len(rewards) if None in rewards else rewards


def rewards_or_constant(result: GroupResult) -> list[float]:
    """Return each trajectory's reward for the trainer if all have one, otherwise NEUTRAL, bit for bit, for all.

    For engines that take floats only. Equal rewards have advantage 0 if the engine subtracts the group's mean. If an
    engine does not subtract it (some do not for a group of one), or sums several rewards, no constant is neutral: do
    not pass such a group to the trainer.
    """
    rewards = [reward for reward in trajectory_rewards(result) if reward is not None]
    return rewards if len(rewards) == len(result.trajectories) else [NEUTRAL] * len(result.trajectories)


def unscored_trajectories(trajectories: Iterable[TrajectoryResult]) -> list[TrajectoryResult]:
    """Return the trajectories of a judged group that have no reward for the trainer."""
    return [trajectory for trajectory in trajectories if _finite(trajectory.reward) is None]


def _finite(reward: float | None) -> float | None:
    # A judge's rewards are finite, but a hand-made result, or a user's own reward transform, may hold other values.
    return None if reward is None or not math.isfinite(reward) else reward
