"""Assembles a GroupResult from answers and scores: which trajectories are scored, abstained or failed, and why.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from calipers.config.grouped_options import Reward
from calipers.config.settings import RecordedJudge, Settings
from calipers.judging.criteria import (
    criteria_without_verdict,
    explain_verdicts,
    verdicts_by_criterion,
    why_rules_left_unscored,
)
from calipers.rewards.reliability import reliability_of
from calipers.rewards.reliable import estimated
from calipers.rubric.unused_standards import unused_standards
from calipers.types import (
    UNKNOWN_RELIABILITY,
    Answered,
    Comparison,
    FailedCalls,
    Failure,
    FailureKind,
    GroupResult,
    GroupStatus,
    Rating,
    Reading,
    RenderedGroup,
    Scores,
    Trajectory,
    TrajectoryGroup,
    TrajectoryResult,
    TrajectoryStatus,
    Usage,
    Verdict,
)

_ABSTAINS: Final[frozenset[FailureKind]] = frozenset({"refused", "context_window"})
"""Failures that make a trajectory abstain: the judge works, but will not or cannot judge this group."""
_MEANT_AS_CONTEXT: Final = ("context", "prompt", "prompts", "question", "input", "messages", "task", "query")
_NOT_LINKED: Final = "no chain of comparisons links it to the members that have a score: "


def assemble_result(
    group: TrajectoryGroup,
    view: RenderedGroup,
    answered: Sequence[Answered],
    *,
    scores: Scores,
    rewards: Sequence[float | None],
    warnings: Sequence[str] = (),
    quorum: int = 1,
) -> GroupResult:
    """Build its result from the answers; identical trajectories share score and reward."""
    explanations: dict[int, str] = {}  # the first of each candidate
    notes: dict[str, None] = {}
    omitted: dict[int, str] = {}
    complete = True
    for done in answered:
        complete = complete and isinstance(done.result, Reading) and bool(done.result.judgments)
        omitted |= done.omitted
        if isinstance(done.result, Reading):
            explanations = {**done.result.explanations, **explanations}
            notes |= dict.fromkeys(done.result.warnings)
    criteria = verdicts_by_criterion(view, answered) if view.rubrics else {}
    open_criteria: list[str] = []
    trajectories: dict[int, TrajectoryResult] = {}
    for index, candidate in enumerate(view.candidates):
        reward, status, reason = rewards[index], "scored", None
        if reward is None:
            by_rule = why_rules_left_unscored(view, index, answered) if view.rubrics else None
            why = why_unscored(index, answered, quorum, scores, rewards)
            status, reason = ("abstained", by_rule) if by_rule else why
        graded: dict[str, Any] = {}
        if index in criteria:
            graded = {"criteria": criteria[index]}
            explanations[index] = explain_verdicts(criteria[index])
            if reward is not None and (names := criteria_without_verdict(criteria[index])):
                name = view.ids[candidate.members[0]]
                open_criteria.append(f"trajectory {name!r} is scored with criteria open: {', '.join(names)}")
        for member in candidate.members:
            trajectory = group.trajectories[member]
            carried = keys_carried_over(trajectory) if trajectory.extra or trajectory.metadata else {}
            trajectories[member] = TrajectoryResult(
                trajectory.id,
                status,  # type: ignore[arg-type]
                reward,
                scores.values[index],
                scores.stderrs[index],
                explanations.get(index),
                reason,
                {**carried, **graded},
            )
    paid, failed = usage_and_failed_calls(answered)
    attempts, unusable, unmetered = len(paid), 0, 0
    for one in failed:
        attempts, unusable, unmetered = attempts + one.count, unusable + one.unusable, unmetered + one.unmetered
    in_order = tuple([trajectories[member] for member in range(len(group.trajectories))])
    said = [*view.warnings, *([] if complete else _unanswered_warning(answered)), *notes]
    said += [f"trajectory {_names(view, item)} was not shown to the judge: {omitted[item]}" for item in sorted(omitted)]
    if unmetered:
        calls, are = ("1 call", "it is") if unmetered == 1 else (f"{unmetered} calls", "they are")
        said.append(f"{calls} brought no answer and may be billed: {are} not in the usage")
    is_known = scores.stderrs.count(None) < len(scores.stderrs)
    return GroupResult(
        group.group_id,
        group_status(in_order),
        in_order,
        judge_calls=len(paid),
        usage=total_usage(paid, failed),
        warnings=(*said, *open_criteria, *warnings),
        extra=group.extra,
        attempts=attempts,
        unusable=unusable,
        reliability=reliability_of(scores) if is_known else UNKNOWN_RELIABILITY,
    )


def is_judged(view: RenderedGroup, settings: Settings) -> bool:
    """Return whether judging asks about a group: if there is something to compare, or a candidate to grade."""
    question = settings.question
    compares = len(view.candidates) > 1 or question.absolute or question.grading is not None
    return bool(view.candidates) and compares


def constant_result(
    group: TrajectoryGroup, view: RenderedGroup, settings: Reward, *, warnings: Sequence[str]
) -> GroupResult:
    """Build the result of judging a group with nothing to compare: no call, no score, one constant reward.

    It is the middle of the reward range, or 0 for rewards around 0, so it has no gradient.
    """
    low, high = (0.0, 0.0) if settings.kind == "weighted" else settings.range
    count = len(group.trajectories)
    alone = "the group has one trajectory" if count == 1 else f"the group's {count} trajectories are identical"
    note = (f"{alone}: nothing to compare, so no judge was asked and the reward is constant",) if count else ()
    trajectories = tuple(
        TrajectoryResult(trajectory.id, "scored", low + (high - low) / 2, extra=keys_carried_over(trajectory))
        for trajectory in group.trajectories
    )
    return GroupResult(
        group.group_id, "scored", trajectories, warnings=(*view.warnings, *note, *warnings), extra=group.extra
    )


def unjudged_result(
    group: TrajectoryGroup, view: RenderedGroup, status: TrajectoryStatus, reason: str, *, warnings: Sequence[str]
) -> GroupResult:
    """Build the result of a group that could not be judged: all of its trajectories have ``status`` and ``reason``."""
    trajectories = tuple(
        TrajectoryResult(one.id, status, reason=reason, extra=keys_carried_over(one)) for one in group.trajectories
    )
    every = (*view.warnings, *warnings)
    return GroupResult(group.group_id, group_status(trajectories), trajectories, warnings=every, extra=group.extra)


def with_reward_warnings(result: GroupResult, settings: Reward) -> GroupResult:
    """Add a warning of rewards that depend on a reliability that no answers show."""
    if len(result.trajectories) < 2 or estimated(result.reliability) is not None:
        return result
    why = "assumed, not estimated" if result.reliability.basis == "assumed" else "unknown"
    note = f"reward={settings.kind!r} had no effect of reliability: it is {why} (docs/rewards.md)"
    return replace(result, warnings=(*result.warnings, note))


def with_panel_parts(result: GroupResult, answered: Sequence[Answered], judges: Sequence[RecordedJudge]) -> GroupResult:
    """Add ``judges`` to its result: an object for each slot.

    ``answers`` counts the judge's answers, ``scored`` the trajectories that it scored (identical ones once); ``usage``
    has the same keys as the group's.
    """
    parts = []
    for slot, judge in enumerate(judges):
        own = [done for done in answered if done.ask.slot == slot]
        scored: set[int] = set()
        for done in own:
            for one in done.result.judgments if isinstance(done.result, Reading) else ():
                match one:
                    case Rating():
                        scored.add(one.item)
                    case Comparison():
                        scored |= {one.first, one.second}
                    case Verdict(item=int(item), met=bool()):
                        scored.add(item)
        paid, failed = usage_and_failed_calls(own)
        usage = total_usage(paid, failed).to_dict()
        parts.append({"judge": judge.judge, "answers": len(paid), "scored": len(scored), "usage": usage})
    return replace(result, extra={**result.extra, "judges": parts})


def group_status(trajectories: Sequence[TrajectoryResult]) -> GroupStatus:
    """Return a group's status after judging it, which follows from the statuses of its trajectories."""
    statuses = [trajectory.status for trajectory in trajectories]
    scored = statuses.count("scored")
    if scored == len(statuses):
        return "scored"
    return "partial" if scored else "abstained" if "abstained" in statuses else "failed"


def keys_carried_over(trajectory: Trajectory) -> dict[str, object]:
    """Return what judging copies unread from a trajectory to its result: unknown keys, and the metadata."""
    metadata = {"metadata": dict(trajectory.metadata)} if trajectory.metadata else {}
    return {**trajectory.extra, **metadata}


def unused_content_warnings(group: TrajectoryGroup, settings: Settings) -> tuple[str, ...]:
    """Return warnings about what is odd in a group: rules or a task that judging does not use, or different prompts."""
    notes: list[str] = []
    openings: list[list[Any]] = []  # what users say before the agent's first message; system prompts may name the time
    has_rubrics, has_artifacts = group.rubric is not None or bool(group.extra), bool(group.artifacts)
    for member in group.trajectories:
        has_rubrics = has_rubrics or member.rubric is not None or bool(member.extra)
        has_artifacts = has_artifacts or bool(member.artifacts)
        opening: list[Any] = []
        for message in member.messages:
            if message["role"] == "assistant":
                break
            if message["role"] == "user":
                opening.append(message.get("content"))
        openings.append(opening)
    if has_rubrics:
        notes = unused_standards(group, checklist=settings.grading is not None)
    if not group.context:
        notes += _tasks_elsewhere(group) if group.extra else []
        notes += _different_prompts(group, openings) if openings.count(openings[0]) < len(openings) else []
    if settings.tools.names and not has_artifacts:
        notes.append("tools= had no effect: neither the group nor its trajectories have 'artifacts'")
    return tuple(notes)


def _different_prompts(group: TrajectoryGroup, openings: Sequence[Sequence[Any]]) -> list[str]:
    """Return a warning if the trajectories begin with different prompts: GRPO compares answers to the same one."""
    prompts = []
    for member, opening in zip(group.trajectories, openings, strict=True):
        parts = [part for content in opening for part in (content if isinstance(content, list) else [content])]
        texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
        words: list[Any] = []
        for part, text in zip(parts, texts, strict=True):
            words += text.split() if isinstance(text, str) else [part]
        prompts += [(member.id, words)] if words else []
    for name, prompt in prompts[1:]:
        if prompt != prompts[0][1]:
            names = f"{prompts[0][0]!r} and {name!r}"
            remedy = "put rollouts of other prompts into groups of their own"
            return [f"the prompts of {names} differ, and a group compares answers to one prompt; {remedy}"]
    return []


def _tasks_elsewhere(group: TrajectoryGroup) -> list[str]:
    """Return a warning for each unknown key that probably holds the task or a part of it.

    That is a key spelt like 'context' with messages and, if the trajectories begin without a task, any column that data
    sets have for it.
    """
    begun = any(message.get("role") != "assistant" for one in group.trajectories for message in one.messages[:2])
    meant = []
    for key, value in group.extra.items():
        is_near = bool(get_close_matches(key, ["context"], cutoff=0.8))
        has_messages = isinstance(value, list) and any(isinstance(one, dict) and "role" in one for one in value)
        if (is_near and has_messages) or (not begun and (is_near or key in _MEANT_AS_CONTEXT)):
            meant.append(key)
    return [f"the judge was not shown {key!r}: what all trajectories begin with goes into 'context'" for key in meant]


def _unanswered_warning(answered: Sequence[Answered]) -> list[str]:
    """Return a warning if some of the questions planned at first, follow-ups apart, were not answered.

    The presentation orders are then no longer balanced.
    """
    parents = {done.ask.number: done.ask.parent for done in answered}
    reached = set()
    for done in answered:
        if isinstance(done.result, Reading) and done.result.judgments:
            root = done.ask.number
            while (parent := parents[root]) is not None:
                root = parent
            reached.add(root)
    planned = sum(parent is None for parent in parents.values())
    short = 0 < len(reached) < planned
    return [f"only {len(reached)} of {planned} questions were answered"] if short else []


def _names(view: RenderedGroup, item: int) -> str:
    return ", ".join(repr(view.ids[member]) for member in view.candidates[item].members)


def usage_and_failed_calls(answered: Sequence[Answered]) -> tuple[list[Usage], list[FailedCalls]]:
    """Return the usage of each answer, and the failed calls; asks with the same question are answered once."""
    asked: dict[str | int, Answered] = {}
    for done in answered:
        for one in (*done.turns, done):
            asked.setdefault(one.question or one.ask.number, one)
    failed = [done.failed for done in asked.values()]
    return [done.usage for done in asked.values() if done.usage is not None], failed


def total_usage(paid: Sequence[Usage], failed: Sequence[FailedCalls]) -> Usage:
    """Return the usage of answers and of failed calls together."""
    if len(paid) == 1 and len(failed) == 1 and not failed[0].count:
        return paid[0]
    return Usage.total([*paid, *(one.usage for one in failed)])


def why_unscored(
    index: int, answered: Sequence[Answered], quorum: int, scores: Scores, rewards: Sequence[float | None]
) -> tuple[TrajectoryStatus, str]:
    """Return the status and reason of a candidate without a reward, from the last answer about it.

    The status is abstained if the judge answered, else failed. A compared candidate has no score if no chain of
    comparisons links it to the others.
    """
    about = [done for done in answered if index in done.ask.members]
    if not about:
        return "failed", "it was never asked about"
    scored = {done.ask.slot for done in about if isinstance(done.result, Reading) and index not in done.result.missing}
    if 0 < len(scored) < quorum:
        judges = "1 judge" if len(scored) == 1 else f"{len(scored)} judges"
        reasons = dict.fromkeys(done.result.reason for done in about if isinstance(done.result, Failure))
        others_said = "".join(f"; {reason}" for reason in reasons)
        return "abstained", f"{judges} scored it, and the quorum is {quorum}{others_said}"
    followed = {done.ask.parent for done in about}
    poor = [
        done
        for done in about
        if done.ask.number not in followed and (isinstance(done.result, Failure) or index in done.result.missing)
    ]
    deciding = (poor or about)[-1]
    last = deciding.result
    if index in deciding.omitted:
        return "abstained", deciding.omitted[index]
    linked = ""
    if any(one is not None for one in rewards) and any(
        isinstance(one, Comparison) and index in (one.first, one.second)
        for done in answered
        if isinstance(done.result, Reading)
        for one in done.result.judgments
    ):
        linked = _NOT_LINKED
    if isinstance(last, Failure):
        return ("abstained" if last.kind in _ABSTAINS else "failed"), linked + last.reason
    has_score = scores.values[index] is not None
    why = "its reward is no number" if has_score else "the judge's answers about it cannot be put on one scale"
    return "abstained", linked + (last.missing.get(index) or last.reason or why)


def with_added_calls(result: GroupResult, answered: Sequence[Answered], **extra: Mapping[str, Any]) -> GroupResult:
    """Return the result of a group with the calls and tokens of further ``answered`` questions, and further keys."""
    paid, failed = usage_and_failed_calls(answered)
    return replace(
        result,
        judge_calls=result.judge_calls + len(paid),
        usage=Usage.total([result.usage, total_usage(paid, failed)]) if answered else result.usage,
        attempts=result.attempts + len(paid) + sum(one.count for one in failed),
        unusable=result.unusable + sum(one.unusable for one in failed),
        extra={**result.extra, **extra},
    )
