"""Criteria that a rule decides, decided: before a judge is asked, and away from the event loop.

Not responsible for what a check means (``verifiers``), for what is left to ask (``rubric.deciding``), or for scores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from calipers.interfaces import Verifier
from calipers.rubric import Grading
from calipers.types import RenderedGroup, Trajectory, TrajectoryGroup, Verdict
from calipers.verifiers.criteria import rule_of

_CANNOT_TELL = "the rule cannot tell"
Wanted: TypeAlias = Mapping[int, tuple[Verifier, list[tuple[int, str]]]]
"""Verifiers, and which candidates' which criteria they decide; by identity, for not all of them can be hashed."""


async def with_rules(group: TrajectoryGroup, view: RenderedGroup, grading: Grading | None) -> RenderedGroup:
    """``view`` with the verdicts of rules in ``checked``. Identical trajectories are checked once.

    A rule that breaks, overruns or finds no answer gives a Verdict of None with a reason. Holistic ratings are one for
    the whole rubric, so no rule is run for them.
    """
    if grading is None or grading.mode == "holistic":
        return view
    wanted: dict[int, tuple[Verifier, list[tuple[int, str]]]] = {}
    for item, rubric in enumerate(view.rubrics):
        for criterion in rubric.criteria if rubric is not None else ():
            if (verifier := rule_of(criterion)) is not None:
                wanted.setdefault(id(verifier), (verifier, []))[1].append((item, criterion.id))
    if not wanted:
        return view
    shown = [group.trajectories[candidate.members[0]] for candidate in view.candidates]
    return replace(view, checked=await asyncio.to_thread(_checked, group, shown, wanted))


def _checked(group: TrajectoryGroup, shown: Sequence[Trajectory], wanted: Wanted) -> tuple[Mapping[str, Verdict], ...]:
    from calipers.verifiers.checking import check_group  # noqa: PLC0415 - brings the sandbox along, where it is used

    found: list[dict[str, Verdict]] = [{} for _ in shown]
    for verifier, asked in wanted.values():
        items = tuple(dict.fromkeys(item for item, _ in asked))
        about = replace(group, trajectories=tuple(shown[item] for item in items))
        said = {item: one.rules[0] for item, one in zip(items, check_group(about, rules=[verifier]), strict=True)}
        for item, criterion in asked:
            reason = said[item].reason or ("" if said[item].met is not None else _CANNOT_TELL)
            found[item][criterion] = Verdict(said[item].met, reason, item, criterion)
    return tuple(found)
