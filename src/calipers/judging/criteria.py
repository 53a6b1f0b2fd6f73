"""The part of judging that is special to criteria: which rubrics can be graded, and the verdicts in the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.errors import ConfigError
from calipers.rubric import Grading
from calipers.rubric.formulas import why_unsuitable
from calipers.types import (
    Answered,
    Failure,
    Message,
    Reading,
    RenderedGroup,
    Rubric,
    TrajectoryGroup,
    Verdict,
)
from calipers.verifiers.rubric_rules import require_rules


def with_gradable_rubrics(
    group: TrajectoryGroup, view: RenderedGroup, grading: Grading
) -> tuple[RenderedGroup, tuple[str, ...]]:
    """Remove the rubrics that the formula cannot grade.

    Returns the group and a warning for each.
    """
    notes = []
    if isinstance(group.rubric, str):
        notes.append("the group's rubric is text, which a checklist cannot check: it was not shown to the judge")
    problems = {
        item: "no criteria: give rubric= to the judge, or 'rubric' with criteria to the group or the trajectory"
        if rubric is None
        else _IMAGES
        if _lacks_images(view.candidates[item].messages, grading)
        else why_ungradable(rubric, grading)
        for item, rubric in enumerate(view.rubrics)
    }
    for problem in dict.fromkeys(filter(None, problems.values())):
        members = [view.candidates[item].members[0] for item, one in problems.items() if one == problem]
        notes.append(f"not graded: trajectory {', '.join(repr(view.ids[member]) for member in members)}: {problem}")
    rubrics = tuple(None if problems[item] else rubric for item, rubric in enumerate(view.rubrics))
    return replace(view, rubrics=rubrics), tuple(notes)


_IMAGES = "it has images, which grader_prompt, being text, cannot show"


def _lacks_images(messages: Sequence[Message], grading: Grading) -> bool:
    """Return whether the question about a candidate would leave out its images."""
    if grading.grader_prompt is None:
        return False
    from calipers.rubric.grader_prompt import shows_images  # noqa: PLC0415 - few judges have one

    return shows_images(messages)


def why_ungradable(rubric: Rubric, grading: Grading) -> str | None:
    """Return why judging cannot grade a candidate's rubric with these settings; None if it can."""
    try:
        require_rules(rubric)
    except ConfigError as error:
        return str(error)
    return why_unsuitable(rubric, grading.normaliser)


def verdicts_by_criterion(view: RenderedGroup, answered: Sequence[Answered]) -> Mapping[int, Mapping[str, Any]]:
    """Return each graded candidate's verdicts by criterion, in the rubric's order.

    They are objects of the result file. Each object has ``met``, ``reason``, and the other fields of the verdict that
    are set. ``by`` is "rule" for a criterion that a rule checks. ``asked`` is false for a criterion that the judge was
    not asked about, because rules decided the score. If there were several gradings, ``met`` is the verdict of the
    majority (None for a tie) and ``votes`` lists all verdicts.
    """
    found: dict[tuple[int, str], list[Verdict]] = {}
    for verdict in _verdicts(answered):
        if verdict.item is not None and verdict.criterion is not None:
            found.setdefault((verdict.item, verdict.criterion), []).append(verdict)
    if not found and not any(view.rule_verdicts) and not any(done.ask.criteria for done in answered):
        return {}
    by_rule = view.rule_verdicts or ({},) * len(view.rubrics)
    return {
        item: {
            criterion.id: _rule_verdict(by_rule[item][criterion.id])
            if criterion.id in by_rule[item]
            else _judge_verdict(found.get((item, criterion.id), []), _why_unanswered(item, criterion.id, answered))
            if not by_rule[item] or any(item in done.ask.members for done in answered)
            else {"met": None, "reason": _NOT_NEEDED, "asked": False}
            for criterion in rubric.criteria
        }
        for item, rubric in enumerate(view.rubrics)
        if rubric is not None
    }


_NOT_NEEDED = "not asked: rules had decided what becomes of the score"


def why_rules_left_unscored(view: RenderedGroup, item: int, answered: Sequence[Answered]) -> str | None:
    """Return why a candidate has no score if a rule without a verdict is the cause.

    Returns None if the judge may be the cause.
    """
    if any(isinstance(done.result, Failure) and item in done.ask.members for done in answered):
        return None
    verdicts = view.rule_verdicts[item] if view.rule_verdicts else {}
    return next((f"criterion {name!r}: {one.reason}" for name, one in verdicts.items() if one.met is None), None)


def _rule_verdict(verdict: Verdict) -> dict[str, Any]:
    return {"met": verdict.met, "reason": verdict.reason, "by": "rule"}


def explain_verdicts(criteria: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a candidate's verdicts as an explanation for people, a line for each criterion."""
    words = {True: "met", False: "not met", None: "no verdict"}
    lines = []
    for name, one in criteria.items():
        lines.append(f"{name}: {words[one['met']]}" + (f" ({one['reason']})" if one["reason"] else ""))
    return "\n".join(lines)


def criteria_without_verdict(criteria: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the criteria of a trajectory that judging left without a verdict, though they should have one."""
    return tuple(
        name
        for name, one in criteria.items()
        if one["met"] is None and one.get("asked", True) and all(vote is None for vote in one.get("votes", ()))
    )


def _verdicts(answered: Sequence[Answered]) -> list[Verdict]:
    """Return the last verdict of each grading on each candidate and criterion; an unknown verdict never replaces
    another.
    """
    found: dict[tuple[object, ...], Verdict] = {}
    for done in answered:
        if not isinstance(done.result, Reading):
            continue
        for judgment in done.result.judgments:
            if isinstance(judgment, Verdict):
                key = (judgment.slot, judgment.presentation, judgment.item, judgment.criterion)
                if key not in found or found[key].met is None:
                    found[key] = judgment
    return list(found.values())


def _judge_verdict(verdicts: Sequence[Verdict], otherwise: str) -> dict[str, Any]:
    if not verdicts:
        return {"met": None, "reason": otherwise}
    decided = [verdict for verdict in verdicts if verdict.met is not None]
    first = (decided or verdicts)[0]
    merged: dict[str, Any] = {"met": first.met, "reason": first.reason}
    if len(verdicts) > 1:
        met = sum(one.met is True for one in decided)
        merged["met"] = None if met * 2 == len(decided) else met * 2 > len(decided)
        merged["votes"] = [verdict.met for verdict in verdicts]
    return merged


def _why_unanswered(item: int, criterion: str, answered: Sequence[Answered]) -> str:
    for done in reversed(answered):
        if isinstance(done.result, Failure) and item in done.ask.members and criterion in done.ask.criteria:
            return done.result.reason
    return "it was never asked about"
