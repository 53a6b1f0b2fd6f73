"""Work on the rollouts of a group that is not whole yet, so that little is left to do when the last one comes.

Not responsible for who gathers a group (``trainers.cohort``), or for a Hybrid's rules (``early_checks``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from calipers.guard.injection import find_attacks
from calipers.render import Reasoning, Transcriber
from calipers.rubric import Grading
from calipers.types import Prepared, Trajectory, TrajectoryGroup
from calipers.verifiers.criteria_rules import rules_begun

Prepare: TypeAlias = Callable[[Trajectory], Trajectory]
"""A rollout of a certain group, to the same with ``prepared``."""

Preparing: TypeAlias = Callable[[TrajectoryGroup], Prepare]
"""What a group's rollouts have in common (a group with no trajectory in it), to what prepares them one by one."""


def preparing(
    head: TrajectoryGroup, *, reasoning: Reasoning, rubric: object = None, grading: Grading | None = None
) -> Prepare:
    """Makes each rollout of ``head`` canonical, writes it out, and looks for what addresses the judge.

    With ``grading`` the rules of its criteria (its own, its group's, or the judge's ``rubric``) are begun in a thread. All
    of it is what judging the whole group would do with it, and comes to the same.
    """
    transcriber = Transcriber(head, reasoning)
    searched: dict[str, Any] = {}

    def prepare(member: Trajectory) -> Trajectory:
        transcript = transcriber.transcript(member)
        attacks = find_attacks(
            transcript.messages, known=searched
        )  # rollouts may repeat the prompt, which is searched once
        ruled = rules_begun(head, member, rubric, grading)
        found = Prepared(member.messages, head.context, reasoning, transcript, attacks, criterion_checks=ruled)
        return replace(member, prepared=found)

    return prepare
