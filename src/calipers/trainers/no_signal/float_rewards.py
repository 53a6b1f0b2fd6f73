"""Rewards for engines that take a float per rollout and cannot take None: a group's rewards, or a constant for all.

Not responsible for how an engine's rollouts come together (its own module), or for logging lost groups (``run``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from typing import Final

from calipers.judging.judge import Judge
from calipers.trainers.cohorts.cohort import Cohorts, MemberResult
from calipers.trainers.no_signal.rewards import NEUTRAL, unscored_trajectories
from calipers.trainers.no_signal.run import JudgedRun, Stop

_ALL: Final = sys.maxsize
"""The quorum of cohorts for such engines: a group is judged only when complete. A float cannot say that a late member
has no reward.
"""


def run_for_floats(judge: Judge, *, patience: int | None = None, stop: Stop | None = None) -> JudgedRun:
    """Return a trainer's JudgedRun in which a group is lost if any member is lost.

    The whole group then gets the constant.
    """
    return JudgedRun(judge, patience=patience, stop=stop, consequence="so all get the same reward")


def is_group_scored(member: MemberResult) -> bool:
    """Return whether the whole group was scored, so that the trainer gets the judge's reward, not the constant."""
    return (
        member.reward is not None and member.group is not None and not unscored_trajectories(member.group.trajectories)
    )


def float_reward(member: MemberResult) -> float:
    """Return a member's reward for the trainer, or the constant if any member of its group is unscored."""
    return member.reward if member.reward is not None and is_group_scored(member) else NEUTRAL


def complete_cohorts(
    run: JudgedRun,
    *,
    size: int,
    deadline: float | None,
    limit: float | None = None,
    on_closed: Callable[[Hashable], object] | None = None,
) -> Cohorts:
    """Return cohorts that judge a trainer's group only when all its rollouts have arrived.

    A group that is incomplete at the deadline is not judged. ``deadline`` is in seconds, or None for no limit.
    ``limit`` and ``on_closed`` are those of ``Cohorts``.
    """
    return Cohorts(
        run.wrap(run.judge.score_group),
        size=size,
        preparing=run.judge.preparing,
        quorum=_ALL,
        deadline=deadline,
        limit=limit,
        on_lost=run.lost_before_judging,
        on_closed=on_closed,
    )
