"""Drafts a rubric with a judge and tests it on groups.

The steps are: propose criteria, merge similar proposals, grade every trajectory twice, drop useless criteria, write the
rubric.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.backends.connect import connect
from calipers.backends.limits.limited import Limited
from calipers.config.flat_names import judge_arguments
from calipers.config.grouped_options import Calls
from calipers.config.options import options_in_group
from calipers.drafting.criteria import (
    Measured,
    Merged,
    Proposal,
    measure_criterion,
    merge_proposals,
    proposal_request,
    read_proposals,
    rubric_toml,
)
from calipers.errors import BackendError, InputError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge, store_of
from calipers.ledger import WritableLedger
from calipers.render import render
from calipers.rubric.dataset_standards import without_rubrics
from calipers.types import GroupResult, Rubric, TrajectoryGroup

__all__ = ["Draft", "draft"]

_GRADINGS = 2
"""How often every trajectory is graded. Two is the minimum that shows whether a judge agrees with itself."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted rubric. ``kept`` and ``dropped`` are criteria with their figures; ``problems`` are sentences."""

    kept: tuple[tuple[Merged, Measured], ...]
    dropped: tuple[tuple[Merged, Measured], ...]
    results: tuple[GroupResult, ...] = ()
    problems: tuple[str, ...] = ()
    proposed: int = 0

    def toml(self, title: str = "Drafted by a judge, and tested on groups.") -> str:
        """Return the drafted rubric as a TOML file for a person to edit."""
        return rubric_toml(self.kept, self.dropped, title=title)


async def draft(
    groups: Sequence[TrajectoryGroup],
    judge: str | Backend,
    *,
    criteria: int = 12,
    ledger: WritableLedger | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Draft:
    """Draft a rubric's criteria for tasks like those of ``groups``, proposed by ``judge`` and measured on the same
    groups.

    The judge proposes criteria for every group, and grades every trajectory twice by the merged criteria. ``options``
    are further options of ``Judge.of`` (``params``, ``max_tokens``, ``seed``, ...). Raises InputError if no proposal is
    usable or no group has two trajectories, and ConfigError for a judge that cannot be reached.
    """
    usable = [group for group in groups if len(render(group).candidates) > 1]
    if not usable:
        raise InputError("no group has two different trajectories, so no criterion could be tested on them")
    chosen = {"judge": judge, "base_url": base_url, "api_key": api_key, "ledger": ledger, **(options or {})}
    calls: Calls = options_in_group("calls", judge_arguments(chosen).get("calls"))
    bare = connect(judge, base_url=base_url, api_key=api_key, timeout=calls.timeout)
    asked = Limited(bare, attempts=calls.attempts if isinstance(judge, str) else None)
    store = store_of(Judge.of(chosen))
    reasons: list[str] = []
    problems: list[str] = []

    async def propose(group: TrajectoryGroup) -> tuple[Proposal, ...]:
        request = proposal_request(render(group), most=criteria, max_tokens=calls.max_tokens, params=calls.params or {})
        try:
            return read_proposals(await store.answer(await store.begin(), request, asked), group.group_id)
        except BackendError as error:
            reasons.append(str(error))
            problems.append(f"group {group.group_id!r} got no proposals: {error}")
            return ()

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(propose(group)) for group in usable]
    proposals = [proposal for task in running for proposal in task.result()]
    merged = merge_proposals(proposals, criteria)
    if not merged:
        why = "; ".join(f"{reason} ({count} of {len(usable)} groups)" for reason, count in Counter(reasons).items())
        raise InputError(f"no criteria were drafted: {why or 'no reply held criteria that could be read'}")
    every = tuple(proposal.criterion for proposal in merged)
    positive = any(criterion.points > 0 for criterion in every)
    rubric = Rubric(every, all_negative="refuse" if positive else "from_one")
    grader = Judge.of({**chosen, "protocol": "checklist", "rubric": rubric, "samples": _GRADINGS})
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
    measured = [(proposal, measure_criterion(proposal.criterion, results, gold)) for proposal in merged]
    kept = tuple(pair for pair in measured if pair[1].fault() is None)
    dropped = tuple(pair for pair in measured if pair[1].fault() is not None)
    return Draft(kept, dropped, results, tuple(problems), len(proposals))
