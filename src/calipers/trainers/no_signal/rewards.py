"""What a judged group becomes for an engine that learns from it: *no signal* in the form that engine can take.

Pure. Each function gives one entry a trajectory, in the group's order, and every number in it is finite. Not
responsible for how an engine is reached, nor for which of these forms it takes (its own module, ``docs/trainers/``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Final

from calipers.types import GroupResult, TrajectoryResult

EVEN = 0.5
"""The reward of trajectories that nothing tells apart: any constant gives the same advantage, which is none."""

_BITS: Final = 16
_DUST: Final = 1e-9


def rows(result: GroupResult) -> list[float | None]:
    """Each row's reward, None for a row without one: for engines that leave such a row out of its group's baseline.

    Rewards that are all equal are levelled: see ``levelled``.
    """
    return levelled([_number(one.reward) for one in result.trajectories])


def levelled(rewards: Sequence[float | None]) -> list[float | None]:
    """The same rewards, unless they are all equal (to 1e-9): then all are their common value, to 16 significant bits.

    Engines take means in single precision, where the mean of equal numbers need not be that number, and divide what is
    left by a deviation as small: eight rewards of 0.97 come out with an advantage of 0.93 each where 1e-9 is added to
    the deviation (OpenRLHF), and of 0.11 where 1e-6 is (verl, slime, SkyRL). Sums of up to 256 equal numbers of 16
    bits are exact, so their advantage is 0. No reward moves by more than 2^-16 of itself.
    """
    known = [reward for reward in rewards if reward is not None]
    if len(known) < 2 or max(known) - min(known) > _DUST * max(1.0, abs(known[0])):
        return list(rewards)
    mantissa, exponent = math.frexp(known[0])
    even = math.ldexp(round(mantissa * 2**_BITS), exponent - _BITS)
    return [None if reward is None else even for reward in rewards]


def whole(result: GroupResult) -> list[float | None]:
    """Each row's reward if every row has one, else None for all: for engines where one missing row moves the others."""
    rewards = rows(result)
    return [None] * len(rewards) if None in rewards else rewards


def constant(result: GroupResult, *, value: float = EVEN) -> list[float]:
    """Each row's reward if every row has one, else ``value``, bit for bit the same, for all: for floats-only engines.

    Equal rewards have advantage 0 wherever the group's mean is taken off. Where an engine does not take it off (as some
    do for a group of one), or sums several rewards, no constant is neutral: keep such a group from the trainer.
    """
    rewards = [reward for reward in rows(result) if reward is not None]
    return rewards if len(rewards) == len(result.trajectories) else [value] * len(result.trajectories)


def imputed(result: GroupResult, *, value: float = EVEN) -> list[float]:
    """Each row's reward, its siblings' mean where it has none, ``value`` for all where none has one. Opt-in only.

    An imputed row has no advantage of its own, but it narrows the group's standard deviation, by which advantages are
    divided: with one row of eight imputed, its siblings' advantages are 7 to 8 % too large. ``constant`` does no such
    thing.
    """
    rewards = rows(result)
    known = [reward for reward in rewards if reward is not None]
    mean = fmean(known) if known else value
    return [mean if reward is None else reward for reward in rewards]


def unscored(trajectories: Iterable[TrajectoryResult]) -> list[TrajectoryResult]:
    """Those that got no reward."""
    return [one for one in trajectories if _number(one.reward) is None]


def why(trajectories: Iterable[TrajectoryResult]) -> str:
    """Who got no reward, each reason once: ``1, 3 failed: no answer came; 2 abstained: ...``. Empty if nobody."""
    ids: dict[str, list[str]] = {}
    for one in unscored(trajectories):
        ids.setdefault(f"{one.status}: {one.reason}", []).append(one.id)
    return "; ".join(f"{', '.join(names)} {reason}" for reason, names in ids.items())


def _number(reward: float | None) -> float | None:
    # A judge's rewards are finite; a result built by hand, or by a reward transform of one's own, is held to it here.
    return None if reward is None or not math.isfinite(reward) else reward
