"""What is true of the rollouts of tests with verl, for ``+watch.truth``."""

from __future__ import annotations

from calipers.types import Trajectory


def is_worth_half(rollout: Trajectory) -> bool:
    """Whether a rollout says that it is worth 50 or more."""
    return int(str(rollout.messages[-1]["content"]).rpartition(" ")[2]) >= 50
