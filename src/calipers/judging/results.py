"""Answers and scores to a GroupResult: who is scored, who abstained, who failed, and why.

Pure. Not responsible for where the scores come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from calipers.config.settings import Named, Settings
from calipers.judging.standards import as_explanation, graded_by, scored_with_gaps, undecided
from calipers.rewards.blend import Blend, blended
from calipers.rubric import DEFAULT_RUBRIC
from calipers.rubric.unused import unused
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
"""Failures in which the judge worked and had its say: asking it to judge this group is what cannot be done."""


def assemble(
    group: TrajectoryGroup,
    view: RenderedGroup,
    answered: Sequence[Answered],
    *,
    scores: Scores,
    rewards: Sequence[float | None],
    warnings: Sequence[str] = (),
    quorum: int = 1,
) -> GroupResult:
    """The result of a group that was asked about; members of one candidate share its score and reward."""
    explanations = _explanations(answered)
    grades = graded_by(view, answered)
    gaps: list[str] = []
    trajectories: dict[int, TrajectoryResult] = {}
    for index, candidate in enumerate(view.candidates):
        reward = rewards[index]
        status: TrajectoryStatus = "scored"
        reason = None
        if reward is None:
            by_rule = undecided(view, index, answered)
            others = any(one is not None for one in rewards)
            status, reason = ("abstained", by_rule) if by_rule else _why_not(index, answered, quorum, others=others)
        graded: dict[str, object] = {}
        if index in grades:
            graded = {"criteria": grades[index]}
            explanations[index] = as_explanation(grades[index])
            open_ = scored_with_gaps(grades[index]) if reward is not None else ()
            gaps += [
                f"trajectory {view.ids[candidate.members[0]]!r} is scored with criteria open: {', '.join(open_)}"
            ] * bool(open_)
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
                {**carried(trajectory), **graded},
            )
    paid, failed = _bill(answered)
    in_order = tuple(trajectories[member] for member in range(len(group.trajectories)))
    return GroupResult(
        group.group_id,
        group_status(in_order),
        in_order,
        judge_calls=len(paid),
        usage=Usage.total([*paid, *(one.usage for one in failed)]),
        warnings=(*view.warnings, *_notes(answered), *_too_long(view, answered), *_unmetered(failed), *gaps, *warnings),
        extra=group.extra,
        attempts=len(paid) + sum(one.count for one in failed),
        unusable=sum(one.unusable for one in failed),
    )


def _bill(answered: Sequence[Answered]) -> tuple[list[Usage], list[FailedCalls]]:
    """What each answer took, and the calls in vain; asks that put the same question share both."""
    asked = {done.question or done.ask.number: done for done in reversed(answered)}.values()
    return [done.usage for done in asked if done.usage is not None], [done.failed for done in asked]


def _too_long(view: RenderedGroup, answered: Sequence[Answered]) -> list[str]:
    """A line for each candidate that the judge was not shown, or not always."""
    why = {item: reason for done in answered for item, reason in done.omitted.items()}
    return [
        f"trajectory {', '.join(repr(view.ids[member]) for member in view.candidates[item].members)} was not shown to the "
        f"judge: {why[item]}"
        for item in sorted(why)
    ]


def _unmetered(failed: Sequence[FailedCalls]) -> list[str]:
    count = sum(one.unmetered for one in failed)
    if not count:
        return []
    calls = (
        "1 call brought no answer and may be billed: it is"
        if count == 1
        else f"{count} calls brought no answer and may be billed: they are"
    )
    return [f"{calls} not in the usage"]


def unasked(group: TrajectoryGroup, view: RenderedGroup, *, reward: float, warnings: Sequence[str] = ()) -> GroupResult:
    """The result of a group with nothing to compare: no call, no score, one constant reward (so, no gradient)."""
    count = len(group.trajectories)
    lone = "the group has one trajectory" if count == 1 else f"the group's {count} trajectories are identical"
    note = (f"{lone}: nothing to compare, so no judge was asked and the reward is constant",) if count else ()
    trajectories = tuple(
        TrajectoryResult(trajectory.id, "scored", reward, extra=carried(trajectory))
        for trajectory in group.trajectories
    )
    return GroupResult(
        group.group_id, "scored", trajectories, warnings=(*view.warnings, *note, *warnings), extra=group.extra
    )


_SILENT = "it has no messages: there is nothing of it to judge"


def with_messages(group: TrajectoryGroup) -> TrajectoryGroup:
    """The group without the trajectories that hold no message at all (a rollout that crashed, say)."""
    if all(trajectory.messages for trajectory in group.trajectories):
        return group
    return replace(group, trajectories=tuple(one for one in group.trajectories if one.messages))


def with_silent(result: GroupResult, group: TrajectoryGroup) -> GroupResult:
    """The result with the trajectories that ``with_messages`` left out: failed, in their places."""
    if len(result.trajectories) == len(group.trajectories):
        return result
    judged = {one.id: one for one in result.trajectories}
    trajectories = tuple(
        judged.get(one.id) or TrajectoryResult(one.id, "failed", reason=_SILENT, extra=carried(one))
        for one in group.trajectories
    )
    return replace(result, status=group_status(trajectories), trajectories=trajectories)


_MEANT_AS_CONTEXT = ("prompt", "prompts", "question", "input", "messages", "task", "query")


def doubts(group: TrajectoryGroup, settings: Settings) -> list[str]:
    """Warnings of what a group brings and the judge does not use: rules, say, or what was asked under an unknown key."""
    checklist = settings.grading is not None and settings.grading.mode != "holistic"
    return [*unused(group, checklist=checklist), *_unasked_for(group)]


def overruled(group: TrajectoryGroup, settings: Settings) -> list[str]:
    """A warning where the group's rubric goes before one that the judge was given."""
    if group.rubric is None or settings.rubric in ("", DEFAULT_RUBRIC, group.rubric):
        return []
    return ["not used: the judge's rubric; the group brings its own"]


def _unasked_for(group: TrajectoryGroup) -> list[str]:
    """A warning where no trajectory says what was asked, but an unknown key probably does."""
    if group.context or not group.extra:
        return []
    if any(message.get("role") != "assistant" for one in group.trajectories for message in one.messages[:2]):
        return []
    meant = [key for key in group.extra if key in _MEANT_AS_CONTEXT or get_close_matches(key, ["context"], cutoff=0.8)]
    return [f"the judge was not shown {key!r}: what all trajectories begin with goes into 'context'" for key in meant]


def _explanations(answered: Sequence[Answered]) -> dict[int, str]:
    """The first answer that explained a candidate speaks for all; not of criteria, whose verdicts are all told."""
    explanations: dict[int, str] = {}
    for done in answered:
        if isinstance(done.result, Reading):
            for item, text in done.result.explanations.items():
                explanations.setdefault(item, text)
    return explanations


_APART = "no chain of comparisons links it to the members that have a score: "


def _compared(index: int, answered: Sequence[Answered]) -> bool:
    """Whether some verdict about the candidate was read."""
    return any(
        isinstance(one, Comparison) and index in (one.first, one.second)
        for done in answered
        if isinstance(done.result, Reading)
        for one in done.result.judgments
    )


def _why_not(index: int, answered: Sequence[Answered], quorum: int, *, others: bool) -> tuple[TrajectoryStatus, str]:
    """The last answer about a candidate decides: it abstained if the judge had its say, it failed if it had not.

    ``others`` is whether others have a score: one that was compared as well is then not linked to them.
    """
    about = [done for done in answered if index in done.ask.members]
    if not about:
        return "failed", "it was never asked about"
    spoke = {done.ask.slot for done in about if isinstance(done.result, Reading) and index not in done.result.missing}
    if 0 < len(spoke) < quorum:
        judges = "1 judge" if len(spoke) == 1 else f"{len(spoke)} judges"
        return "abstained", f"{judges} scored it, and the quorum is {quorum}{_others(about)}"
    followed = {done.ask.parent for done in about}
    poor = [done for done in about if done.ask.number not in followed and _left_open(done, index)]
    deciding = (poor or about)[-1]
    last = deciding.result
    if index in deciding.omitted:
        return "abstained", deciding.omitted[index]
    apart = _APART if others and _compared(index, answered) else ""
    if isinstance(last, Failure):
        return ("abstained" if last.kind in _ABSTAINS else "failed"), apart + last.reason
    reason = last.missing.get(index) or last.reason or "the judge's answers about it cannot be put on one scale"
    return "abstained", apart + reason


def _left_open(done: Answered, index: int) -> bool:
    return isinstance(done.result, Failure) or index in done.result.missing


def _others(about: Sequence[Answered]) -> str:
    """What kept the other judges from it."""
    reasons = dict.fromkeys(done.result.reason for done in about if isinstance(done.result, Failure))
    return "".join(f"; {reason}" for reason in reasons)


def with_judges(result: GroupResult, answered: Sequence[Answered], judges: Sequence[Named]) -> GroupResult:
    """The result with what each judge of a panel had to do with it: ``judges``, one object a slot.

    ``answers`` counts its answers, ``scored`` the trajectories (shown once if identical) that it scored; ``usage`` is as
    of the group.
    """
    told = []
    for slot, one in enumerate(judges):
        own = [done for done in answered if done.ask.slot == slot]
        read = [done.result for done in own if isinstance(done.result, Reading)]
        scored = {item for reading in read for judgment in reading.judgments for item in _items(judgment)}
        paid, failed = _bill(own)
        usage = Usage.total([*paid, *(one.usage for one in failed)]).to_dict()
        told.append({"judge": one.judge, "answers": len(paid), "scored": len(scored), "usage": usage})
    return replace(result, extra={**result.extra, "judges": told})


def with_own_rewards(result: GroupResult, group: TrajectoryGroup, *, how: Blend, weight: float) -> GroupResult:
    """The result with the judge's rewards blended with those the trajectories already had; without one, it abstains."""
    rewards = blended(result.rewards, [one.reward for one in group.trajectories], how=how, weight=weight)
    trajectories = tuple(
        replace(one, reward=reward)
        if reward is not None or one.reward is None
        else replace(one, status="abstained", reward=None, score=None, stderr=None, reason=_NOTHING_TO_BLEND)
        for one, reward in zip(result.trajectories, rewards, strict=True)
    )
    return replace(result, status=group_status(trajectories), trajectories=trajectories)


_NOTHING_TO_BLEND = "it has no reward of its own to blend the judge's with"


def _items(judgment: Judgment) -> tuple[int, ...]:
    match judgment:
        case Rating():
            return (judgment.item,)
        case Comparison():
            return (judgment.first, judgment.second)
        case Verdict():
            return () if judgment.item is None or judgment.met is None else (judgment.item,)


def group_status(trajectories: Sequence[TrajectoryResult]) -> GroupStatus:
    """What the members' statuses make of their group's."""
    statuses = {trajectory.status for trajectory in trajectories}
    if statuses <= {"scored"}:
        return "scored"
    if "scored" in statuses:
        return "partial"
    return "abstained" if "abstained" in statuses else "failed"


def _notes(answered: Sequence[Answered]) -> list[str]:
    """What is to be said about the answers as a whole, and what they warn of themselves."""
    readings = [done.result for done in answered if isinstance(done.result, Reading)]
    whole = len(readings) == len(answered) and all(reading.judgments for reading in readings)
    warnings = dict.fromkeys(warning for reading in readings for warning in reading.warnings)
    return [*warnings] if whole else [*_unanswered(answered), *warnings]


def _unanswered(answered: Sequence[Answered]) -> list[str]:
    """Say so when fewer first questions were answered than planned: the orders are then out of balance."""
    planned = [done.ask for done in answered if done.ask.parent is None]
    useful = {done.ask.number for done in answered if isinstance(done.result, Reading) and done.result.judgments}
    roots = {ask.number for ask in planned}
    parents = {done.ask.number: done.ask.parent for done in answered}
    reached = set()
    for number in useful:
        root = number
        while (parent := parents[root]) is not None:
            root = parent
        reached.add(root)
    short = reached and reached != roots
    return [f"only {len(reached)} of {len(roots)} questions were answered"] if short else []


def carried(trajectory: Trajectory) -> dict[str, object]:
    """What calipers does not know and passes on: a trajectory's own keys, and its metadata."""
    metadata = {"metadata": dict(trajectory.metadata)} if trajectory.metadata else {}
    return {**trajectory.extra, **metadata}
