"""Assembles a GroupResult from answers and scores: which trajectories are scored, abstained or failed, and why.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Self

from calipers.config.grouped_options import Reward
from calipers.config.settings import Settings
from calipers.judging.criteria import (
    criteria_without_verdict,
    explain_verdicts,
    verdicts_by_criterion,
    why_rules_left_unscored,
)
from calipers.planners.panel import OWN_LIMITS
from calipers.rewards.reliability import reliability_of
from calipers.rewards.reliable import estimated
from calipers.rubric.unused_standards import unused_standards
from calipers.types import (
    UNKNOWN_RELIABILITY,
    Answered,
    Comparison,
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

NOTHING_TO_COMPARE: Final = "nothing to compare, so no judge was asked and the reward is constant"
_ABSTAINS: Final[frozenset[FailureKind]] = frozenset({"refused", "context_window"})
"""Failures that make a trajectory abstain: the judge works, but will not or cannot judge this group."""
_NOT_LINKED: Final = "no chain of comparisons links it to the members that have a score: "


@dataclass(frozen=True, slots=True)
class Spent:
    """What answers cost: the answered ``calls``, all ``attempts``, the ``unusable`` and the ``unmetered`` of these, and
    the usage of all.
    """

    calls: int
    attempts: int
    unusable: int
    unmetered: int
    usage: Usage

    @classmethod
    def on(cls, answered: Sequence[Answered]) -> Self:
        """Add up what ``answered`` cost; asks with the same question are answered once."""
        asked: dict[str | int, Answered] = {}
        for answer in answered:
            for turn in (*answer.turns, answer):
                asked.setdefault(turn.question or turn.ask.number, turn)
        usages: list[Usage] = []
        calls = attempts = unusable = unmetered = 0
        for answer in asked.values():
            if answer.usage is not None:
                usages.append(answer.usage)
                calls += 1
            if answer.failed.count:
                usages.append(answer.failed.usage)
                attempts += answer.failed.count
                unusable += answer.failed.unusable
                unmetered += answer.failed.unmetered
        usage = usages[0] if len(usages) == 1 else Usage.total(usages)
        return cls(calls, calls + attempts, unusable, unmetered, usage)


def assemble_result(
    group: TrajectoryGroup,
    view: RenderedGroup,
    answered: Sequence[Answered],
    settings: Settings,
    *,
    scores: Scores,
    rewards: Sequence[float | None],
    warnings: Sequence[str] = (),
) -> GroupResult:
    """Build its result from the answers; identical trajectories share score and reward."""
    explanations: dict[int, str] = {}  # the first of each candidate
    notes: dict[str, None] = {}
    omitted: dict[int, str] = {}
    complete = True
    for answer in answered:
        complete = complete and isinstance(answer.result, Reading) and bool(answer.result.judgments)
        omitted |= answer.omitted
        if isinstance(answer.result, Reading):
            explanations = {**answer.result.explanations, **explanations}
            notes |= dict.fromkeys(answer.result.warnings)
    criteria = verdicts_by_criterion(view, answered) if view.rubrics else {}
    open_criteria: list[str] = []
    trajectories: dict[int, TrajectoryResult] = {}
    for index, candidate in enumerate(view.candidates):
        reward, status, reason = rewards[index], "scored", None
        if reward is None:
            by_rule = why_rules_left_unscored(view, index, answered) if view.rubrics else None
            why = why_unscored(index, answered, settings.quorum, scores, rewards, warnings)
            status, reason = ("abstained", by_rule) if by_rule else why
        graded: dict[str, Any] = {}
        if index in criteria:
            graded = {"criteria": criteria[index]}
            explanations[index] = explain_verdicts(criteria[index])
            if reward is not None and (unknown := criteria_without_verdict(criteria[index])):
                name = view.ids[candidate.members[0]]
                open_criteria.append(f"trajectory {name!r} is scored with criteria open: {', '.join(unknown)}")
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
    spent = Spent.on(answered)
    in_order = tuple([trajectories[member] for member in range(len(group.trajectories))])
    all_notes = [*view.warnings, *([] if complete else _unanswered_warning(answered)), *notes]
    if omitted or spent.unmetered:
        all_notes += _incomplete_warnings(view, omitted, spent)
    is_known = scores.stderrs.count(None) < len(scores.stderrs)
    reliability = reliability_of(scores) if is_known else UNKNOWN_RELIABILITY
    all_notes += [*open_criteria, *warnings]
    if settings.reward.kind in ("shrunk", "weighted") and len(in_order) > 1 and estimated(reliability) is None:
        why_none = "assumed, not estimated" if reliability.basis == "assumed" else "unknown"
        kind = settings.reward.kind
        all_notes.append(f"reward={kind!r} could not use reliability: it is {why_none} (docs/rewards.md)")
    judges = {"judges": _parts_of_judges(answered, settings)} if len(settings.judges) > 1 else {}
    return GroupResult(
        group.group_id,
        group_status(in_order),
        in_order,
        judge_calls=spent.calls,
        usage=spent.usage,
        warnings=tuple(all_notes),
        extra={**group.extra, **judges},
        attempts=spent.attempts,
        unusable=spent.unusable,
        reliability=reliability,
    )


def _incomplete_warnings(view: RenderedGroup, omitted: Mapping[int, str], spent: Spent) -> list[str]:
    """Return warnings of candidates that no question showed, and of calls without a bill."""
    notes = []
    for item in sorted(omitted):
        names = ", ".join(repr(view.ids[member]) for member in view.candidates[item].members)
        notes.append(f"trajectory {names} was not shown to the judge: {omitted[item]}")
    if spent.unmetered:
        calls, are = ("1 call", "it is") if spent.unmetered == 1 else (f"{spent.unmetered} calls", "they are")
        notes.append(f"{calls} brought no answer and may be billed: {are} not in the usage")
    return notes


def _parts_of_judges(answered: Sequence[Answered], settings: Settings) -> list[dict[str, Any]]:
    """Return what each judge of a panel did: the number of its answers, of the trajectories that it scored (identical
    ones once), and its usage.
    """
    parts = []
    for slot, judge in enumerate(settings.judges):
        answers = [answer for answer in answered if answer.ask.slot == slot]
        scored: set[int] = set()
        for answer in answers:
            for judgment in answer.result.judgments if isinstance(answer.result, Reading) else ():
                match judgment:
                    case Rating():
                        scored.add(judgment.item)
                    case Comparison():
                        scored |= {judgment.first, judgment.second}
                    case Verdict(item=int(item), met=bool()):
                        scored.add(item)
        spent = Spent.on(answers)
        usage = spent.usage.to_dict()
        parts.append({"judge": judge.judge, "answers": spent.calls, "scored": len(scored), "usage": usage})
    return parts


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
    note = (f"{alone}: {NOTHING_TO_COMPARE}",) if count else ()
    middle = low + (high - low) / 2
    return uniform_result(group, "scored", middle, warnings=(*view.warnings, *note, *warnings))


def uniform_result(
    group: TrajectoryGroup,
    status: TrajectoryStatus,
    reward: float | None = None,
    reason: str | None = None,
    *,
    warnings: Sequence[str],
) -> GroupResult:
    """Build the result of a group whose trajectories all have the same status, reward and reason, without a score."""
    trajectories = tuple(
        TrajectoryResult(trajectory.id, status, reward, reason=reason, extra=keys_carried_over(trajectory))
        for trajectory in group.trajectories
    )
    return GroupResult(
        group.group_id, group_status(trajectories), trajectories, warnings=tuple(warnings), extra=group.extra
    )


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
            remedy = "if these are different tasks, give each a group of its own"
            return [f"the prompts of {names} differ, and a group compares answers to one task; {remedy}"]
    return []


def _tasks_elsewhere(group: TrajectoryGroup) -> list[str]:
    """Return a warning for each unknown key that probably holds the task or a part of it.

    That is a key spelt like 'context' with messages and, if the trajectories begin without a task, 'task'.
    """
    begun = any(
        message.get("role") != "assistant" for trajectory in group.trajectories for message in trajectory.messages[:2]
    )
    keys = []
    for key, value in group.extra.items():
        is_near = bool(get_close_matches(key, ["context"], cutoff=0.8))
        has_messages = isinstance(value, list) and any(isinstance(item, dict) and "role" in item for item in value)
        if (is_near and has_messages) or (not begun and (is_near or key == "task")):
            keys.append(key)
    return [f"the judge was not shown {key!r}: what all trajectories begin with goes into 'context'" for key in keys]


def _unanswered_warning(answered: Sequence[Answered]) -> list[str]:
    """Return a warning if some of the questions asked at first, follow-ups apart, were not answered.

    The presentation orders are then no longer balanced.
    """
    parents = {answer.ask.number: answer.ask.parent for answer in answered}
    reached = set()
    for answer in answered:
        if isinstance(answer.result, Reading) and answer.result.judgments:
            root = answer.ask.number
            while (parent := parents[root]) is not None:
                root = parent
            reached.add(root)
    planned = sum(parent is None for parent in parents.values())
    short = 0 < len(reached) < planned
    return [f"only {len(reached)} of the {planned} questions asked were answered"] if short else []


def why_unscored(
    index: int,
    answered: Sequence[Answered],
    quorum: int,
    scores: Scores,
    rewards: Sequence[float | None],
    warnings: Sequence[str] = (),
) -> tuple[TrajectoryStatus, str]:
    """Return the status and reason of a candidate without a reward, from the last answer about it.

    The status is abstained if the judge answered, else failed. A compared candidate has no score if no chain of
    comparisons links it to the others.
    """
    answers = [answer for answer in answered if index in answer.ask.members]
    if not answers:
        limits = [a.result.reason for a in answered if isinstance(a.result, Failure) and a.result.kind in OWN_LIMITS]
        return "failed", limits[0] if limits else "; ".join(["the judge was not asked about it", *warnings])
    scored = {
        answer.ask.slot
        for answer in answers
        if isinstance(answer.result, Reading) and index not in answer.result.missing
    }
    if 0 < len(scored) < quorum:
        judges = "1 judge" if len(scored) == 1 else f"{len(scored)} judges"
        reasons = dict.fromkeys(answer.result.reason for answer in answers if isinstance(answer.result, Failure))
        others_said = "".join(f"; {reason}" for reason in reasons)
        return "abstained", f"{judges} scored it, and the quorum is {quorum}{others_said}"
    followed = {answer.ask.parent for answer in answers}
    unscored = [
        answer
        for answer in answers
        if answer.ask.number not in followed and (isinstance(answer.result, Failure) or index in answer.result.missing)
    ]
    deciding = (unscored or answers)[-1]
    last = deciding.result
    if index in deciding.omitted:
        return "abstained", deciding.omitted[index]
    linked = ""
    if any(reward is not None for reward in rewards) and any(
        isinstance(judgment, Comparison) and index in (judgment.first, judgment.second)
        for answer in answered
        if isinstance(answer.result, Reading)
        for judgment in answer.result.judgments
    ):
        linked = _NOT_LINKED
    if isinstance(last, Failure):
        return ("abstained" if last.kind in _ABSTAINS else "failed"), linked + last.reason
    has_score = scores.values[index] is not None
    why = "its reward is no number" if has_score else "the judge's answers about it cannot be put on one scale"
    return "abstained", linked + (last.missing.get(index) or last.reason or why)
