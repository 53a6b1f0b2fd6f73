"""Criteria that a rule decides, decided: before a judge is asked, and away from the event loop.

Not responsible for what a check means (``verifiers``), for what is left to ask (``rubric.formulas``), or for scores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.rubric import Grading
from calipers.types import Message, RenderedGroup, Rubric, Trajectory, TrajectoryGroup, Verdict
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
    return replace(view, rule_verdicts=await asyncio.to_thread(_checked, group, shown, wanted))


@dataclass(frozen=True, slots=True)
class _Begun:
    """What ``rules`` say of a trajectory, found out or being found out."""

    rules: tuple[Verifier, ...]
    checks: Future[Any]


def rules_begun(head: TrajectoryGroup, member: Trajectory, rubric: object, grading: Grading | None) -> object:
    """The rules that decide criteria of ``member``, a trajectory of ``head``, begun; None where there are none.

    ``rubric`` is the judge's, for groups that bring none. What is wrong with a rule is told when the group is scored.
    """
    graded_by = next((one for one in (member.rubric, head.rubric, rubric) if isinstance(one, Rubric)), None)
    if grading is None or grading.mode == "holistic" or graded_by is None:
        return None
    with suppress(ConfigError):
        rules = {id(rule): rule for one in graded_by.criteria if (rule := rule_of(one)) is not None}
        if rules:
            from calipers.verifiers.early import begin  # noqa: PLC0415 - brings the sandbox along, where it is used

            begun = tuple(rules.values())
            return _Begun(begun, begin(replace(head, trajectories=(member,)), rules=begun))
    return None


def _early(one: Trajectory, context: tuple[Message, ...]) -> dict[int, Verdict]:
    """What was found out about a trajectory before its group was whole, by the rule's identity; waits where it has to."""
    prepared = one.prepared
    if prepared is None or not isinstance(prepared.criterion_checks, _Begun):
        return {}
    if not prepared.is_valid_for(one.messages, context, prepared.reasoning):
        return {}
    return {
        id(rule): said
        for rule, said in zip(
            prepared.criterion_checks.rules, prepared.criterion_checks.checks.result().rules, strict=True
        )
    }


def _checked(group: TrajectoryGroup, shown: Sequence[Trajectory], wanted: Wanted) -> tuple[Mapping[str, Verdict], ...]:
    from calipers.verifiers.checking import check_group  # noqa: PLC0415 - brings the sandbox along, where it is used

    found: list[dict[str, Verdict]] = [{} for _ in shown]
    early = [_early(one, group.context) for one in shown]
    for verifier, asked in wanted.values():
        said = {item: early[item][id(verifier)] for item, _ in asked if id(verifier) in early[item]}
        items = tuple(dict.fromkeys(item for item, _ in asked if item not in said))
        about = replace(group, trajectories=tuple(shown[item] for item in items))
        said |= {item: one.rules[0] for item, one in zip(items, check_group(about, rules=[verifier]), strict=True)}
        for item, criterion in asked:
            reason = said[item].reason or ("" if said[item].met is not None else _CANNOT_TELL)
            found[item][criterion] = Verdict(said[item].met, reason, item, criterion)
    return tuple(found)
