"""Rewards for engines that take one float a rollout and nothing else: a group's rewards, or one constant for all of it.

Not responsible for how an engine's rollouts come together (its own module), for what the numbers are (``no_signal``), or for
what is said of lost groups (``run``).
"""

from __future__ import annotations

import sys
from typing import Final

from calipers.judging.judge import Judge
from calipers.trainers.cohorts.cohort import Cohorts, MemberResult
from calipers.trainers.no_signal.rewards import EVEN, constant, unscored
from calipers.trainers.no_signal.run import JudgedRun, Stop
from calipers.types import GroupResult

_ALL: Final = sys.maxsize
"""As quorum: a group is judged when all of it is there, because a float cannot say that a late member has no reward."""

EVEN_FOR_ALL: Final = "so all get the same reward"


def run_for_floats(judge: Judge, *, patience: int | None = None, stop: Stop | None = None) -> JudgedRun:
    """A run in which a group is lost when any of its members is, because all of it then gets one constant."""
    return JudgedRun(judge, patience=patience, stop=stop, then=EVEN_FOR_ALL)


def floats(result: GroupResult) -> list[float]:
    """A finite reward each, in the group's order; if any has none, the same for all."""
    return constant(result)


def is_scored(share: MemberResult) -> bool:
    """Whether the member's whole group was scored, so that its reward is an opinion and not the constant."""
    return share.reward is not None and share.group is not None and not unscored(share.group.trajectories)


def as_float(share: MemberResult) -> float:
    """A member's reward, or the constant its whole group gets."""
    return share.reward if share.reward is not None and is_scored(share) else EVEN


def complete_cohorts(judge: Judge | JudgedRun, *, size: int, deadline: float | None) -> Cohorts:
    """Cohorts that are judged when all members are there; after ``deadline`` seconds (None: never) without, none of them is."""
    run = judge if isinstance(judge, JudgedRun) else run_for_floats(judge)
    return Cohorts(
        run.around(run.judge.score_group),
        size=size,
        preparing=run.judge.preparing,
        quorum=_ALL,
        deadline=deadline,
        lost=run.lost_before_judging,
    )
