"""Rewards for engines that take one float a rollout and nothing else: a group's rewards, or one constant for all of it.

Not responsible for how an engine's rollouts come together (its own module), or for logging lost groups (``run``).
"""

from __future__ import annotations

import sys
from typing import Final

from calipers.judging.judge import Judge
from calipers.trainers.cohorts.cohort import Cohorts, MemberResult
from calipers.trainers.no_signal.rewards import NEUTRAL, unscored
from calipers.trainers.no_signal.run import JudgedRun, Stop

_ALL: Final = sys.maxsize
"""As quorum: a group is judged when all of it is there, because a float cannot say that a late member has no reward."""


def run_for_floats(judge: Judge, *, patience: int | None = None, stop: Stop | None = None) -> JudgedRun:
    """A run in which a group is lost if any member is, because all of it then gets one constant."""
    return JudgedRun(judge, patience=patience, stop=stop, consequence="so all get the same reward")


def is_scored(member: MemberResult) -> bool:
    """Whether the member's whole group was scored, so that its reward is the judge's and not the constant."""
    return member.reward is not None and member.group is not None and not unscored(member.group.trajectories)


def as_float(member: MemberResult) -> float:
    """A member's reward, or the constant that its whole group gets."""
    return member.reward if member.reward is not None and is_scored(member) else NEUTRAL


def complete_cohorts(run: JudgedRun, *, size: int, deadline: float | None) -> Cohorts:
    """Cohorts that are judged once all members are there; if not within ``deadline`` seconds (None: no limit), none
    is.
    """
    return Cohorts(
        run.wrap(run.judge.score_group),
        size=size,
        preparing=run.judge.preparing,
        quorum=_ALL,
        deadline=deadline,
        on_lost=run.lost_before_judging,
    )
