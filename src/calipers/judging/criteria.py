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
        item: "no rubric with criteria: give one to the judge (rubric=, --rubric) or to the group"
        if rubric is None
        else _IMAGES
        if _lacks_images(view.candidates[item].messages, grading)
        else why_ungradable(rubric, grading)
        for item, rubric in enumerate(view.rubrics)
    }
    for problem in sorted({problem for problem in problems.values() if problem}):
        members = sorted(view.candidates[item].members[0] for item, why in problems.items() if why == problem)
        who = f"trajectory {', '.join(repr(view.ids[member]) for member in members)}"
        notes.append(f"not graded{f', {who}' if len(members) < len(problems) else ''}: {problem}")
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
    verdicts: dict[tuple[int, str], list[Verdict]] = {}
    for verdict in _verdicts(answered):
        if verdict.item is not None and verdict.criterion is not None:
            verdicts.setdefault((verdict.item, verdict.criterion), []).append(verdict)
    if not verdicts and not any(view.rule_verdicts) and not any(answer.ask.criteria for answer in answered):
        return {}
    by_rule = view.rule_verdicts or ({},) * len(view.rubrics)
    return {
        item: {
            criterion.id: _rule_verdict(by_rule[item][criterion.id])
            if criterion.id in by_rule[item]
            else _judge_verdict(verdicts.get((item, criterion.id), []), _why_unanswered(item, criterion.id, answered))
            if not by_rule[item] or any(item in answer.ask.members for answer in answered)
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
    if any(isinstance(answer.result, Failure) and item in answer.ask.members for answer in answered):
        return None
    verdicts = view.rule_verdicts[item] if view.rule_verdicts else {}
    return next((f"criterion {name!r}: {rule.reason}" for name, rule in verdicts.items() if rule.met is None), None)


def _rule_verdict(verdict: Verdict) -> dict[str, Any]:
    return {"met": verdict.met, "reason": verdict.reason, "by": "rule"}


def explain_verdicts(criteria: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a candidate's verdicts as an explanation for people, a line for each criterion."""
    words = {True: "met", False: "not met", None: "no verdict"}
    lines = []
    for name, row in criteria.items():
        lines.append(f"{name}: {words[row['met']]}" + (f" ({row['reason']})" if row["reason"] else ""))
    return "\n".join(lines)


def criteria_without_verdict(criteria: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the criteria of a trajectory that judging left without a verdict, though they should have one."""
    return tuple(
        name
        for name, row in criteria.items()
        if row["met"] is None and row.get("asked", True) and all(vote is None for vote in row.get("votes", ()))
    )


def _verdicts(answered: Sequence[Answered]) -> list[Verdict]:
    """Return the last verdict of each grading on each candidate and criterion; an unknown verdict never replaces
    another.
    """
    by_key: dict[tuple[object, ...], Verdict] = {}
    for answer in answered:
        if not isinstance(answer.result, Reading):
            continue
        for judgment in answer.result.judgments:
            if isinstance(judgment, Verdict):
                key = (judgment.slot, judgment.presentation, judgment.item, judgment.criterion)
                if key not in by_key or by_key[key].met is None:
                    by_key[key] = judgment
    return list(by_key.values())


def _judge_verdict(verdicts: Sequence[Verdict], otherwise: str) -> dict[str, Any]:
    if not verdicts:
        return {"met": None, "reason": otherwise}
    decided = [verdict for verdict in verdicts if verdict.met is not None]
    first = (decided or verdicts)[0]
    merged: dict[str, Any] = {"met": first.met, "reason": first.reason}
    if len(verdicts) > 1:
        met = sum(verdict.met is True for verdict in decided)
        merged["met"] = None if met * 2 == len(decided) else met * 2 > len(decided)
        merged["votes"] = [verdict.met for verdict in verdicts]
    return merged


def _why_unanswered(item: int, criterion: str, answered: Sequence[Answered]) -> str:
    for answer in reversed(answered):
        if isinstance(answer.result, Failure) and item in answer.ask.members and criterion in answer.ask.criteria:
            return answer.result.reason
    return "the judge was not asked about it"
