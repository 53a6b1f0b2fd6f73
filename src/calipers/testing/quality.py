"""The hidden quality that a simulated judge judges from. Not responsible for how a judge distorts it (``biases``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from calipers.errors import ConfigError, PermanentError
from calipers.types import TrajectoryGroup

Quality: TypeAlias = Mapping[str, float] | Callable[[str, str], float]
"""The true quality of trajectories, in [0, 1]: a mapping by trajectory id, or a function of (group, trajectory id)."""


def gold_quality(
    groups: Iterable[TrajectoryGroup], *, low: float | None = None, high: float | None = None
) -> Callable[[str, str], float]:
    """Return a simulated judge's Quality made from the trajectories' gold scores: (gold - low) / (high - low).

    ``low`` and ``high`` are in the units of the gold scores; by default the least and the greatest found. Trajectories
    without gold have no quality, and a simulated judge fails the call about such a trajectory. Raises ConfigError if
    there is no gold score, if all are equal and no bounds are given, or if a score is outside the bounds.
    """
    gold = {
        (group.group_id, trajectory.id): trajectory.gold
        for group in groups
        for trajectory in group.trajectories
        if trajectory.gold is not None
    }
    if not gold:
        raise ConfigError("no trajectory has gold; give the judge a quality of your own")
    least = min(gold.values()) if low is None else low
    most = max(gold.values()) if high is None else high
    if not least < most:
        raise ConfigError(f"gold from {least:g} to {most:g} has no spread; give low= and high=")
    scaled = {key: (value - least) / (most - least) for key, value in gold.items()}
    if not all(0 <= value <= 1 for value in scaled.values()):
        raise ConfigError(f"some gold is outside {least:g} to {most:g}; widen low= and high=")
    return lambda group_id, trajectory_id: scaled[group_id, trajectory_id]


def require_quality(quality: Quality) -> None:
    """Raise ConfigError for a simulated judge's mapping with qualities outside [0, 1].

    A function is checked when it is called.
    """
    if isinstance(quality, Mapping):
        bad = {key: value for key, value in quality.items() if not 0 <= value <= 1}
        if bad:
            raise ConfigError(f"quality must be from 0 to 1, not {bad}")


def quality_of_trajectory(quality: Quality, group_id: str, trajectory_id: str) -> float:
    """Return the hidden quality of a trajectory for a simulated judge.

    Raises PermanentError if it is missing or outside [0, 1].
    """
    try:
        value = quality[trajectory_id] if isinstance(quality, Mapping) else quality(group_id, trajectory_id)
    except KeyError:
        message = f"the simulated judge was given no quality for trajectory {trajectory_id!r} of group {group_id!r}"
        raise PermanentError("internal", message) from None
    if not (math.isfinite(value) and 0 <= value <= 1):
        message = f"quality of trajectory {trajectory_id!r} of group {group_id!r} must be from 0 to 1, not {value!r}"
        raise PermanentError("internal", message)
    return value
