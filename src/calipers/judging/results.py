"""Assembles a GroupResult from answers and scores: which trajectories are scored, abstained or failed, and why.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import takewhile

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
from calipers.rubric import DEFAULT_RUBRIC
from calipers.rubric.unused_standards import unused_standards
from calipers.types import (
    Answered,
    Comparison,
    FailedCalls,
    Failure,
    FailureKind,
    GroupResult,
    GroupStatus,
    Judgment,
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

_ABSTAINS: frozenset[FailureKind] = frozenset({"refused", "context_window"})
"""Failures that make a trajectory abstain: the judge works, but will not or cannot judge this group."""


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
    """After judging a group, build its result from the answers; identical trajectories share score and reward."""
    explanations = _explanations(answered)
    criteria = verdicts_by_criterion(view, answered) if view.rubrics else {}
    gaps: list[str] = []
    trajectories: dict[int, TrajectoryResult] = {}
    for index, candidate in enumerate(view.candidates):
        reward = rewards[index]
        status: TrajectoryStatus = "scored"
        reason = None
        if reward is None:
            by_rule = why_rules_left_unscored(view, index, answered) if view.rubrics else None
            others, has_score = any(one is not None for one in rewards), scores.values[index] is not None
            why = _why_unscored(index, answered, quorum, others=others, has_score=has_score)
            status, reason = ("abstained", by_rule) if by_rule else why
        graded: dict[str, object] = {}
        if index in criteria:
            graded = {"criteria": criteria[index]}
            explanations[index] = explain_verdicts(criteria[index])
            if reward is not None and (names := criteria_without_verdict(criteria[index])):
                name = view.ids[candidate.members[0]]
                gaps.append(f"trajectory {name!r} is scored with criteria open: {', '.join(names)}")
        for member in candidate.members:
            trajectory = group.trajectories[member]
            trajectories[member] = TrajectoryResult(
                trajectory.id,
                status,
                reward,
                scores.values[index],
                scores.stderrs[index],
                explanations.get(index),
                reason,
                {**keys_carried_over(trajectory), **graded},
            )
    paid, failed = usage_and_failed_calls(answered)
    in_order = tuple(trajectories[member] for member in range(len(group.trajectories)))
    return GroupResult(
        group.group_id,
        group_status(in_order),
        in_order,
        judge_calls=len(paid),
        usage=Usage.total([*paid, *(one.usage for one in failed)]),
        warnings=(
            *view.warnings,
            *_answer_warnings(answered),
            *_omitted_warnings(view, answered),
            *_unmetered_warning(failed),
            *gaps,
            *warnings,
        ),
        extra=group.extra,
        attempts=len(paid) + sum(one.count for one in failed),
        unusable=sum(one.unusable for one in failed),
        reliability=reliability_of(scores),
    )


def is_judged(view: RenderedGroup, settings: Settings) -> bool:
    """Return whether judging asks about a group: if there is something to compare, or a candidate to grade."""
    compares = len(view.candidates) > 1 or settings.question.absolute or settings.grading is not None
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


def with_reward_warnings(result: GroupResult, settings: Reward) -> GroupResult:
    """Add a warning of rewards that depend on a reliability that no answers show."""
    if settings.kind not in {"shrunk", "weighted"} or len(result.trajectories) < 2:
        return result
    if estimated(result.reliability) is not None:
        return result
    why = "assumed, not estimated" if result.reliability.basis == "assumed" else "unknown"
    note = f"reward={settings.kind!r} had no effect of reliability: it is {why} (docs/rewards.md)"
    return replace(result, warnings=(*result.warnings, note))


def with_panel_parts(result: GroupResult, answered: Sequence[Answered], judges: Sequence[RecordedJudge]) -> GroupResult:
    """After judging a group with a panel, add ``judges`` to its result: an object for each slot.

    ``answers`` counts the judge's answers, ``scored`` the trajectories that it scored (identical ones once); ``usage``
    has the same keys as the group's.
    """
    parts = []
    for slot, judge in enumerate(judges):
        own = [done for done in answered if done.ask.slot == slot]
        readings = [done.result for done in own if isinstance(done.result, Reading)]
        scored = {
            item for reading in readings for judgment in reading.judgments for item in _judged_candidates(judgment)
        }
        paid, failed = usage_and_failed_calls(own)
        usage = Usage.total([*paid, *(one.usage for one in failed)]).to_dict()
        parts.append({"judge": judge.judge, "answers": len(paid), "scored": len(scored), "usage": usage})
    return replace(result, extra={**result.extra, "judges": parts})


def group_status(trajectories: Sequence[TrajectoryResult]) -> GroupStatus:
    """Return a group's status after judging it, which follows from the statuses of its trajectories."""
    statuses = {trajectory.status for trajectory in trajectories}
    if statuses <= {"scored"}:
        return "scored"
    if "scored" in statuses:
        return "partial"
    return "abstained" if "abstained" in statuses else "failed"


def keys_carried_over(trajectory: Trajectory) -> dict[str, object]:
    """Return what judging copies unread from a trajectory to its result: unknown keys, and the metadata."""
    metadata = {"metadata": dict(trajectory.metadata)} if trajectory.metadata else {}
    return {**trajectory.extra, **metadata}


_MEANT_AS_CONTEXT = ("prompt", "prompts", "question", "input", "messages", "task", "query")
_COLUMNS = ("content", "contents", "contest", "contexts")
"""Columns of data sets whose names are close to 'context'."""


def unused_content_warnings(group: TrajectoryGroup, settings: Settings) -> tuple[str, ...]:
    """Return warnings about what is odd in a group: rules or a task that judging does not use, or different prompts."""
    notes: list[str] = []
    if group.extra or group.rubric is not None or any(one.extra or one.rubric for one in group.trajectories):
        notes = unused_standards(group, checklist=settings.grading is not None and settings.grading.mode != "holistic")
    if not group.context:
        notes += _tasks_elsewhere(group) if group.extra else []
        notes += _different_prompts(group)
    if settings.tools.names and not group.artifacts and not any(one.artifacts for one in group.trajectories):
        notes.append("tools= had no effect: neither the group nor its trajectories have 'artifacts'")
    return tuple(notes)


def _different_prompts(group: TrajectoryGroup) -> list[str]:
    """Return a warning if the trajectories begin with different prompts: GRPO compares answers to the same one.

    Only what users say counts: system prompts may name the time.
    """
    prompts = [(member.id, prompt) for member in group.trajectories if (prompt := _first_request(member))]
    for name, prompt in prompts[1:]:
        if prompt != prompts[0][1]:
            names = f"{prompts[0][0]!r} and {name!r}"
            remedy = "put rollouts of other prompts into groups of their own"
            return [f"the prompts of {names} differ, and a group compares answers to one prompt; {remedy}"]
    return []


def _first_request(member: Trajectory) -> list[object]:
    """Return what users say before the agent's first message: words, and what is no text."""
    begin = takewhile(lambda one: one["role"] != "assistant", member.messages)
    contents = [one.get("content") for one in begin if one["role"] == "user"]
    parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [
        piece
        for part, text in zip(parts, texts, strict=True)
        for piece in (text.split() if isinstance(text, str) else [part])
    ]


def _tasks_elsewhere(group: TrajectoryGroup) -> list[str]:
    """Return a warning for each unknown key that is 'context' misspelt, or that probably holds the task.

    Keys of the second kind are columns of data sets, too: trajectories that begin with the task have it already.
    """
    begun = any(message.get("role") != "assistant" for one in group.trajectories for message in one.messages[:2])
    meant = [
        key
        for key in group.extra
        if (get_close_matches(key, ["context"], cutoff=0.8) and not (begun and _is_column(key, group.extra[key])))
        or (key in _MEANT_AS_CONTEXT and not begun)
    ]
    return [f"the judge was not shown {key!r}: what all trajectories begin with goes into 'context'" for key in meant]


def _is_column(key: str, value: object) -> bool:
    """Return whether a key that is spelt like 'context' is a word of its own, and holds no messages."""
    listed = value if isinstance(value, list) else []
    return key in _COLUMNS and not any(isinstance(one, dict) and "role" in one for one in listed)


def replaced_rubric_warning(group: TrajectoryGroup, settings: Settings) -> tuple[str, ...]:
    """Return a warning if judging a group uses the group's rubric instead of the judge's."""
    if group.rubric is None or settings.rubric in ("", DEFAULT_RUBRIC, group.rubric):
        return ()
    return ("not used: the judge's rubric; the group brings its own",)


def _answer_warnings(answered: Sequence[Answered]) -> list[str]:
    """Return every warning of the answers once; before them, a warning if planned questions were left unanswered."""
    readings = [done.result for done in answered if isinstance(done.result, Reading)]
    complete = len(readings) == len(answered) and all(reading.judgments for reading in readings)
    warnings = dict.fromkeys(warning for reading in readings for warning in reading.warnings)
    return [*warnings] if complete else [*_unanswered_warning(answered), *warnings]


def _unanswered_warning(answered: Sequence[Answered]) -> list[str]:
    """Return a warning if some of the questions planned at first, follow-ups apart, were not answered.

    The presentation orders are then no longer balanced.
    """
    parents = {done.ask.number: done.ask.parent for done in answered}
    useful = {done.ask.number for done in answered if isinstance(done.result, Reading) and done.result.judgments}
    reached = set()
    for number in useful:
        root = number
        while (parent := parents[root]) is not None:
            root = parent
        reached.add(root)
    planned = sum(parent is None for parent in parents.values())
    short = 0 < len(reached) < planned
    return [f"only {len(reached)} of {planned} questions were answered"] if short else []


def _omitted_warnings(view: RenderedGroup, answered: Sequence[Answered]) -> list[str]:
    """Return a warning for each candidate that was omitted from at least one question."""
    why = {item: reason for done in answered for item, reason in done.omitted.items()}
    return [
        f"trajectory {', '.join(repr(view.ids[member]) for member in view.candidates[item].members)} was not shown "
        f"to the judge: {why[item]}"
        for item in sorted(why)
    ]


def _unmetered_warning(failed: Sequence[FailedCalls]) -> list[str]:
    count = sum(one.unmetered for one in failed)
    if not count:
        return []
    calls, are = ("1 call", "it is") if count == 1 else (f"{count} calls", "they are")
    return [f"{calls} brought no answer and may be billed: {are} not in the usage"]


def usage_and_failed_calls(answered: Sequence[Answered]) -> tuple[list[Usage], list[FailedCalls]]:
    """Return the usage of each answer, and the failed calls; asks with the same question are answered once."""
    every = [one for done in answered for one in (*done.turns, done)]
    asked = {done.question or done.ask.number: done for done in reversed(every)}.values()
    return [done.usage for done in asked if done.usage is not None], [done.failed for done in asked]


def _explanations(answered: Sequence[Answered]) -> dict[int, str]:
    """Return the first explanation of each candidate; later, verdicts replace the explanation of a graded candidate."""
    explanations: dict[int, str] = {}
    for done in answered:
        if isinstance(done.result, Reading):
            for item, text in done.result.explanations.items():
                explanations.setdefault(item, text)
    return explanations


_NOT_LINKED = "no chain of comparisons links it to the members that have a score: "


def _why_unscored(
    index: int, answered: Sequence[Answered], quorum: int, *, others: bool, has_score: bool
) -> tuple[TrajectoryStatus, str]:
    """Return the status and reason of a candidate without a reward, from the last answer about it.

    The status is abstained if the judge answered, else failed. ``others`` have a score: a compared candidate has none
    if no chain of comparisons links it to them. ``has_score``: of its score, the reward made no number.
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
    poor = [done for done in about if done.ask.number not in followed and _is_open(done, index)]
    deciding = (poor or about)[-1]
    last = deciding.result
    if index in deciding.omitted:
        return "abstained", deciding.omitted[index]
    linked = "" if not others or not _is_compared(index, answered) else _NOT_LINKED
    if isinstance(last, Failure):
        return ("abstained" if last.kind in _ABSTAINS else "failed"), linked + last.reason
    why = "its reward is no number" if has_score else "the judge's answers about it cannot be put on one scale"
    return "abstained", linked + (last.missing.get(index) or last.reason or why)


def _is_open(done: Answered, index: int) -> bool:
    return isinstance(done.result, Failure) or index in done.result.missing


def _is_compared(index: int, answered: Sequence[Answered]) -> bool:
    """Whether any answer compares the candidate with another."""
    return any(
        isinstance(one, Comparison) and index in (one.first, one.second)
        for done in answered
        if isinstance(done.result, Reading)
        for one in done.result.judgments
    )


def _judged_candidates(judgment: Judgment) -> tuple[int, ...]:
    match judgment:
        case Rating():
            return (judgment.item,)
        case Comparison():
            return (judgment.first, judgment.second)
        case Verdict():
            return () if judgment.item is None or judgment.met is None else (judgment.item,)
