"""Rewards for engines that take one float a rollout and nothing else: a group's rewards, or one constant for all of it.

Not responsible for how an engine's rollouts come together (its own module), or for what the numbers are (``no_signal``).
"""

from __future__ import annotations

import logging
import sys
from typing import Final

from calipers.judge import Judge
from calipers.trainers.cohort import Cohorts, GroupJudge, Share
from calipers.trainers.no_signal import EVEN, constant, unscored, why
from calipers.types import GroupResult, TrajectoryGroup

_log = logging.getLogger(__name__)

_ALL: Final = sys.maxsize
"""As quorum: a group is judged when all of it is there, because a float cannot say that a late member has no reward."""


def floats(result: GroupResult) -> list[float]:
    """A finite reward each, in the group's order; if any has none, the same for all, and a warning in the log says why."""
    tell(result)
    return constant(result)


def tell(result: GroupResult) -> None:
    """Warn in the log of a group that is given a constant."""
    if missing := unscored(result.trajectories):
        total = len(result.trajectories)
        _log.warning(
            "group %s: %d of %d rollouts could not be scored, so all get the same reward: %s",
            result.group_id,
            len(missing),
            total,
            why(missing),
        )


def is_scored(share: Share) -> bool:
    """Whether the member's whole group was scored, so that its reward is an opinion and not the constant."""
    return share.reward is not None and share.group is not None and not unscored(share.group.trajectories)


def as_float(share: Share) -> float:
    """A member's reward, or the constant its whole group gets."""
    return share.reward if share.reward is not None and is_scored(share) else EVEN


def whole_cohorts(judge: Judge, *, size: int, deadline: float | None) -> Cohorts:
    """Cohorts that are judged when all members are there; after ``deadline`` seconds (None: never) without, none of them is."""

    async def judging(group: TrajectoryGroup) -> GroupResult:
        result = await judge.score_group(group)
        tell(result)
        return result

    asked: GroupJudge = judging
    return Cohorts(asked, size=size, preparing=judge.preparing, quorum=_ALL, deadline=deadline)
