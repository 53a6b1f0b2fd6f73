"""Drafts a rubric with a judge and tests it on groups.

The steps are: propose criteria, merge similar proposals, grade every trajectory twice, drop useless criteria, write the
rubric.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from calipers.interfaces import Backend, FullBackend
from calipers.judging.judge import Judge
from calipers.ledger import WritableLedger
from calipers.render import render
from calipers.rubric.dataset_standards import without_rubrics
from calipers.types import GroupResult, Rubric, TrajectoryGroup

__all__ = ["Draft", "draft"]

_NO_PROPOSALS = " got no proposals: "
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


@dataclass(frozen=True, slots=True)
class _Drafter:
    """The judge that drafts the rubric, its options, and the problems found so far."""

    options: Mapping[str, Any]
    calls: Calls
    backend: FullBackend
    most: int
    problems: list[str] = field(default_factory=list)


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
    by = _Drafter(chosen, calls, asked, criteria)
    proposals = await _proposals(by, usable)
    merged = merge_proposals(proposals, criteria)
    if not merged:
        reasons = Counter(problem.partition(_NO_PROPOSALS)[2] for problem in by.problems)
        why = "; ".join(f"{reason} ({count} of {len(usable)} groups)" for reason, count in reasons.items())
        raise InputError(f"the judge proposed no criteria that could be read: {why or 'no reply contained any'}")
    return await _tested(by, usable, merged, len(proposals))


async def _proposals(by: _Drafter, groups: Sequence[TrajectoryGroup]) -> list[Proposal]:
    store = Judge.of(by.options).store

    async def propose(group: TrajectoryGroup) -> tuple[Proposal, ...]:
        view = render(group)
        request = proposal_request(view, most=by.most, max_tokens=by.calls.max_tokens, params=by.calls.params or {})
        try:
            return read_proposals(await store.answer(await store.begin(), request, by.backend), group.group_id)
        except BackendError as error:
            by.problems.append(f"group {group.group_id!r}{_NO_PROPOSALS}{error}")
            return ()

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(propose(group)) for group in groups]
    return [proposal for task in running for proposal in task.result()]


async def _tested(by: _Drafter, groups: Sequence[TrajectoryGroup], merged: Sequence[Merged], proposed: int) -> Draft:
    every = tuple(one.criterion for one in merged)
    positive = any(criterion.points > 0 for criterion in every)
    rubric = Rubric(every, all_negative="refuse" if positive else "from_one")
    judge = Judge.of({**by.options, "protocol": "checklist", "rubric": rubric, "samples": _GRADINGS})
    bare = [without_rubrics(group) for group in groups]
    results = tuple([result async for result in judge.score_groups(bare, ordered=True)])
    gold = {
        (group.group_id, one.id): one.gold for group in groups for one in group.trajectories if one.gold is not None
    }
    measured = [(one, measure_criterion(one.criterion, results, gold)) for one in merged]
    for result in results:
        by.problems.extend(
            f"group {result.group_id!r}, trajectory {one.id!r}: {one.reason}"
            for one in result.trajectories
            if one.reason
        )
    kept = tuple(pair for pair in measured if pair[1].fault() is None)
    dropped = tuple(pair for pair in measured if pair[1].fault() is not None)
    return Draft(kept, dropped, results, tuple(by.problems), proposed)
