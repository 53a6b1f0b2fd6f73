"""Drafts a rubric with a judge and tests it on groups.

The steps are: propose criteria, merge similar proposals, grade every trajectory twice, drop useless criteria, write the
rubric.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calipers.criteria.task import with_criteria
from calipers.drafting.criteria import Measured, measure_criterion, merge_proposals, proposal_request
from calipers.errors import BackendError, InputError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge, answer_of
from calipers.render import render
from calipers.replies.proposed import ProposedCriterion, proposed_criteria
from calipers.rubric.dataset_standards import without_rubrics
from calipers.types import TrajectoryGroup

__all__ = ["Draft", "draft"]

_GRADINGS = 2
"""How often every trajectory is graded. Two is the minimum that shows whether a judge agrees with itself."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted rubric. ``kept`` and ``dropped`` are criteria with their figures; ``problems`` are sentences."""

    kept: tuple[Measured, ...]
    dropped: tuple[Measured, ...]
    problems: tuple[str, ...] = ()
    proposed: int = 0


async def draft(
    groups: Sequence[TrajectoryGroup], judge: str | Backend, *, criteria: int = 12, **options: Any
) -> Draft:
    """Draft a rubric's criteria for tasks like those of ``groups``, proposed by ``judge`` and measured on the same
    groups.

    The judge proposes criteria for every group, and grades every trajectory twice by the merged criteria. ``options``
    are further options of ``Judge.of`` (``ledger``, ``base_url``, ``params``, ...). Raises InputError if no proposal is
    usable or no group has two trajectories, and ConfigError for a judge that cannot be reached.
    """
    usable = [group for group in groups if len(render(group).candidates) > 1]
    if not usable:
        raise InputError("no group has two different trajectories, so no criterion could be tested on them")
    writer = Judge.of({**options, "judge": judge})
    calls = writer.settings.calls
    reasons: list[str] = []
    problems: list[str] = []

    async def propose(group: TrajectoryGroup) -> list[tuple[str, ProposedCriterion]]:
        request = proposal_request(render(group), most=criteria, max_tokens=calls.max_tokens, params=calls.params or {})
        try:
            completion = await answer_of(writer, request)
        except BackendError as error:
            why = str(error)
        else:
            refused = completion.finish_reason == "refused"
            if proposed := [] if refused else proposed_criteria(completion.text):
                return [(group.group_id, criterion) for criterion in proposed]
            no_criteria = "the reply holds no criteria that could be read"
            why = "the judge refused to propose criteria" if refused else no_criteria
        reasons.append(why)
        problems.append(f"group {group.group_id!r} got no proposals: {why}")
        return []

    proposals = [proposal for some in await asyncio.gather(*map(propose, usable)) for proposal in some]
    merged = merge_proposals(proposals, criteria)
    if not merged:
        why = "; ".join(f"{reason} ({count} of {len(usable)} groups)" for reason, count in Counter(reasons).items())
        raise InputError(f"no criteria were drafted: {why}")
    rubric = with_criteria("", [criterion for criterion, _ in merged], graded=True)
    grader = Judge.of({**options, "judge": judge, "protocol": "checklist", "rubric": rubric, "samples": _GRADINGS})
    tested = [without_rubrics(group) for group in usable]
    results = tuple([result async for result in grader.score_groups(tested, ordered=True)])
    problems += [
        f"group {result.group_id!r}, trajectory {trajectory.id!r}: {trajectory.reason}"
        for result in results
        for trajectory in result.trajectories
        if trajectory.reason
    ]
    gold = {
        (group.group_id, trajectory.id): trajectory.gold
        for group in usable
        for trajectory in group.trajectories
        if trajectory.gold is not None
    }
    measured = [measure_criterion(criterion, count, results, gold) for criterion, count in merged]
    kept = tuple(figures for figures in measured if figures.fault() is None)
    dropped = tuple(figures for figures in measured if figures.fault() is not None)
    return Draft(kept, dropped, tuple(problems), len(proposals))
