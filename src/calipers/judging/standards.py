"""What a run with criteria needs beside the general loop: its standards checked, its verdicts told, its gaps refused.

Not responsible for questions (``protocols``), formulas (``rubric``) or rewards (``rewards``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from calipers.errors import ConfigError, UngradedError
from calipers.readers import read_rubric
from calipers.rubric import DEFAULT_RUBRIC, Grading, as_rubric
from calipers.rubric.formulas import unsuited
from calipers.rubric.grading import as_grading
from calipers.types import Answered, Failure, GroupResult, Reading, RenderedGroup, Rubric, TrajectoryGroup, Verdict
from calipers.verifiers.criteria import require_rules

CHECKLIST = "checklist"


@dataclass(frozen=True, slots=True)
class Standards:
    """What groups that bring no standards of their own are judged by."""

    rubric: str | Rubric
    grading: Grading | None


def standards(
    rubric: str | Rubric | Mapping[str, Any] | Sequence[Any] | Path | None,
    grading: Grading | Mapping[str, Any] | None,
    *,
    protocol: str,
    parse: object = None,
    out_of_range: str = "reask",
    resolve: object = None,
) -> Standards:
    """The checked standards of a judge. Raises ConfigError for what does not go together, InputError for a bad file."""
    if isinstance(rubric, Path):
        rubric = read_rubric(rubric)
    if rubric is not None and not isinstance(rubric, str):
        if not isinstance(rubric, Rubric | Mapping | list | tuple):
            raise ConfigError(f"rubric={rubric!r}: it must be text, a Rubric, its object, or the Path of its file")
        rubric = as_rubric(rubric)
    if protocol != CHECKLIST:
        if grading is not None:
            raise ConfigError(f"grading= belongs to protocol='checklist', not to {protocol!r}")
        return Standards(rubric or DEFAULT_RUBRIC, None)
    if isinstance(rubric, str) and rubric:
        raise ConfigError(
            "protocol='checklist' checks criteria, and rubric= is text: give a Rubric, or the Path of a .toml, .json or "
            ".yaml file with criteria"
        )
    if parse is not None or out_of_range != "reask":
        raise ConfigError("parse= and out_of_range= are about scores, and protocol='checklist' reads verdicts")
    if resolve:
        raise ConfigError("resolve= asks on about scores; for protocol='checklist' ask more often with samples=")
    how = as_grading(grading)
    if isinstance(rubric, Rubric) and (problem := _ungradable(rubric, how)):
        raise ConfigError(problem)
    return Standards(rubric or "", how)


def with_criteria(
    group: TrajectoryGroup, view: RenderedGroup, grading: Grading | None
) -> tuple[RenderedGroup, tuple[str, ...]]:
    """The group with only those rubrics that the formula suits, and warnings where something cannot be graded."""
    if grading is None:
        return view, ()
    notes = []
    if isinstance(group.rubric, str):
        notes.append("the group's rubric is text, which a checklist cannot check: it was not shown to the judge")
    problems = {
        item: "no criteria: give rubric= to the judge, or 'rubric' with criteria to the group or the trajectory"
        if rubric is None
        else _ungradable(rubric, grading)
        for item, rubric in enumerate(view.rubrics)
    }
    for problem in dict.fromkeys(filter(None, problems.values())):
        members = [view.candidates[item].members[0] for item, one in problems.items() if one == problem]
        notes.append(f"not graded: trajectory {', '.join(repr(view.ids[member]) for member in members)}: {problem}")
    kept = tuple(None if problems[item] else rubric for item, rubric in enumerate(view.rubrics))
    return replace(view, rubrics=kept), tuple(notes)


def _ungradable(rubric: Rubric, grading: Grading) -> str | None:
    """Why no score can be made of this rubric in this way; None where one can."""
    try:
        require_rules(rubric)
    except ConfigError as error:
        return str(error)
    return unsuited(rubric, grading.formula)


def require_graded(result: GroupResult) -> None:
    """Raise UngradedError, naming the first gap, unless every trajectory has a score: ``on_missing`` "raise"."""
    for one in result.trajectories:
        if one.reward is None:
            raise UngradedError(f"group {result.group_id!r}, trajectory {one.id!r} was not graded: {one.reason}")


def graded_by(view: RenderedGroup, answered: Sequence[Answered]) -> Mapping[int, Mapping[str, Any]]:
    """For each graded candidate its criteria, in the rubric's order: ``met``, ``reason``, and what else was said.

    ``by`` is "rule" where one decided, or could not; ``asked`` is false where rules left nothing for a judge. Where several gradings decided, ``met`` is the majority's (None for a tie) and ``votes`` holds each one's.
    """
    if not view.rubrics:
        return {}
    said: dict[tuple[int, str], list[Verdict]] = {}
    for verdict in _verdicts(answered):
        if verdict.item is not None and verdict.criterion is not None:
            said.setdefault((verdict.item, verdict.criterion), []).append(verdict)
    if not said and not any(view.rule_verdicts) and not any(done.ask.criteria for done in answered):
        return {}
    ruled = view.rule_verdicts or ({},) * len(view.rubrics)
    return {
        item: {
            one.id: _ruled(ruled[item][one.id])
            if one.id in ruled[item]
            else _told(said.get((item, one.id), []), _unanswered(item, one.id, answered))
            if not ruled[item] or _was_asked(item, answered)
            else {"met": None, "reason": _NOT_NEEDED, "asked": False}
            for one in rubric.criteria
        }
        for item, rubric in enumerate(view.rubrics)
        if rubric is not None
    }


_NOT_NEEDED = "not asked: rules had decided what becomes of the score"


def undecided(view: RenderedGroup, item: int, answered: Sequence[Answered]) -> str | None:
    """The reason where a rule that cannot tell left a candidate without a score; None where a judge's failure may have."""
    if any(isinstance(done.result, Failure) and item in done.ask.members for done in answered):
        return None
    ruled = view.rule_verdicts[item] if view.rule_verdicts else {}
    return next((f"criterion {name!r}: {one.reason}" for name, one in ruled.items() if one.met is None), None)


def _ruled(verdict: Verdict) -> dict[str, Any]:
    return {"met": verdict.met, "reason": verdict.reason, "by": "rule"}


def _was_asked(item: int, answered: Sequence[Answered]) -> bool:
    return any(item in done.ask.members for done in answered)


def as_explanation(grades: Mapping[str, Mapping[str, Any]]) -> str:
    """One line a criterion, for people."""
    words = {True: "met", False: "not met", None: "no verdict"}
    lines = []
    for name, one in grades.items():
        share = one.get("share")
        word = words[one["met"]] if share in (None, 0, 1) else f"met to {share:.0%}"
        lines.append(f"{name}: {word}" + (f" ({one['reason']})" if one["reason"] else ""))
    return "\n".join(lines)


def scored_with_gaps(grades: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The criteria without a verdict, of a trajectory that has a score nevertheless."""
    return tuple(
        name
        for name, one in grades.items()
        if one["met"] is None and one.get("asked", True) and all(vote is None for vote in one.get("votes", ()))
    )


def _verdicts(answered: Sequence[Answered]) -> list[Verdict]:
    """The last word of each grading on each candidate and criterion: a decision, or else why there is none."""
    found: dict[tuple[object, ...], Verdict] = {}
    for done in answered:
        if not isinstance(done.result, Reading):
            continue
        for one in done.result.judgments:
            if isinstance(one, Verdict):
                key = (one.slot, one.presentation, one.item, one.criterion)
                if key not in found or found[key].met is None:
                    found[key] = one
    return list(found.values())


def _told(verdicts: Sequence[Verdict], otherwise: str) -> dict[str, Any]:
    if not verdicts:
        return {"met": None, "reason": otherwise}
    decided = [one for one in verdicts if one.met is not None]
    first = (decided or verdicts)[0]
    told: dict[str, Any] = {"met": first.met, "reason": first.reason}
    if first.share is not None:
        told["share"] = first.share
    if first.quote is not None:
        told["quote"] = first.quote
    if len(verdicts) > 1:
        ayes = sum(one.met is True for one in decided)
        told["met"] = None if ayes * 2 == len(decided) else ayes * 2 > len(decided)
        told["votes"] = [one.met for one in verdicts]
    return told


def _unanswered(item: int, criterion: str, answered: Sequence[Answered]) -> str:
    for done in reversed(answered):
        if isinstance(done.result, Failure) and item in done.ask.members and criterion in done.ask.criteria:
            return done.result.reason
    return "it was never asked about"
