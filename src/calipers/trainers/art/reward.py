"""RULER's interface (``ruler``, ``ruler_score_group``) for OpenPipe ART, over calipers' pipeline.

Same arguments, same return types, same metrics and log lines; what differs is what happens when judging fails, and
that is described in ``docs/trainers/art.md``. ART is never imported: its groups are read and copied as they come.
Not responsible for which judge is asked, and how (``art_judge``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, TypeVar

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.protocols.question import Parse
from calipers.readers.art import trajectory_fields
from calipers.rubric import DEFAULT_RUBRIC
from calipers.trainers.art.judge import judge_for
from calipers.trainers.art.scores import Response, TrajectoryScore
from calipers.trainers.no_signal.lost_groups import LostGroupLog, cause, named, one_line, reasons
from calipers.trainers.no_signal.rewards import EVEN, unscored
from calipers.trainers.process.once import once_per_process
from calipers.trainers.process.versions import warn_untested
from calipers.types import GroupResult, TrajectoryResult, Usage

__all__ = ["DEFAULT_RUBRIC", "Response", "TrajectoryScore", "ruler", "ruler_score_group"]

_ENOUGH = 2
"""Scored trajectories without which a group, whose others stayed without a score, has nothing to compare."""

_LONGEST = 800
"""Characters of a line on stderr: the reasons, and the group's name behind them."""

Group = TypeVar("Group")
"""An ``art.TrajectoryGroup``, or a subclass of it."""


async def ruler(
    message_lists: Sequence[Sequence[Any]],
    judge_model: str | Backend | Judge = "openai/o3",
    extra_litellm_params: Mapping[str, object] | None = None,
    rubric: str | None = DEFAULT_RUBRIC,
    tools: Sequence[Any] | None = None,
    *,
    debug: bool = False,
    parse_response: Parse | None = None,
) -> list[TrajectoryScore]:
    """Score message lists against one another: a TrajectoryScore each, in input order, ids "1" to "N", scores in [0, 1].

    An empty list gives an empty list. One trajectory, or several identical ones, get 0.5 each without a call.
    ``parse_response`` is ``(reply text, keys) -> {key: score from 0 to 100}``.

    Raises CalipersError when any trajectory stays without a score (a float cannot say so), ConfigError for settings
    that cannot work, or for a judge that refuses every question, and InputError for messages that cannot be read.
    """
    if not message_lists:
        return []
    judge = judge_for(judge_model, extra_litellm_params, debug=debug, parse=parse_response)
    result = await _judged(judge, {"trajectories": list(message_lists), "tools": tools}, rubric)
    if missing := unscored(result.trajectories):
        total = len(result.trajectories)
        raise CalipersError(
            f"the judge left {len(missing)} of {total} trajectories unscored: {reasons(missing, total)}"
        )
    return [
        TrajectoryScore(trajectory_id=str(place), explanation=_explanation(one), score=_score(one))
        for place, one in enumerate(result.trajectories, start=1)
    ]


async def ruler_score_group(
    group: Group,
    judge_model: str | Backend | Judge = "openai/o3",
    extra_litellm_params: Mapping[str, object] | None = None,
    rubric: str | None = DEFAULT_RUBRIC,
    *,
    swallow_exceptions: bool = False,
    debug: bool = False,
    parse_response: Parse | None = None,
) -> Group | None:
    """A copy of an ART group with the judge's rewards, in [0, 1]; ``group`` itself is left as it was.

    Trajectories that stay without a score are left out of it, each with a line in the group's log. Of the rest, what
    was there is kept; ``reward`` and ``metrics["ruler_score"]`` are set, ``metrics["independent_reward"]`` holds the
    reward from before the first scoring, and the log gets the explanation.

    When fewer than two of several can be scored: CalipersError, or, with ``swallow_exceptions``, a line on stderr and
    None. (A group of one would teach nothing, and ART counts such groups as signs of a collapsed policy.)
    Raises ConfigError, also with ``swallow_exceptions``, for settings that cannot work, and for a judge that refuses every
    question (a mistyped model, a wrong key): no group would be scored.
    """
    warn_untested("openpipe-art", "0.5")
    log: LostGroupLog | None = None
    try:
        if not _trajectories(group):
            return _copied(group)
        judge = judge_for(judge_model, extra_litellm_params, debug=debug, parse=parse_response)
        log = _log_of(judge)
        result = await _judged(judge, {"trajectories": _readable(_trajectories(group))}, rubric)
        return _rewarded(group, result)
    except ConfigError:
        raise
    except Exception as error:
        # Whatever it is, a training run that asked for it goes on without this group, and says so.
        if not swallow_exceptions:
            raise
        line, why = left_out(error)
        (log or LostGroupLog(to_stderr)).add(line, why=why)
        return None


class LeftOutError(CalipersError):
    """A group of which too little could be scored; ``why`` is the reason without anybody's name."""

    def __init__(self, message: str, *, why: str) -> None:
        self.why = why
        super().__init__(message)


def left_out(error: Exception) -> tuple[str, str]:
    """The line that tells of a group that is left out, and what such losses are counted by."""
    reason = str(error) or type(error).__name__
    return f"a group is left out: {one_line(reason, _LONGEST)}", error.why if isinstance(
        error, LeftOutError
    ) else reason


def to_stderr(line: str) -> None:
    """One line on stderr, as ART and RULER tell things."""
    sys.stderr.write(f"[calipers] {line}\n")


@once_per_process(maxsize=32)
def _log_of(judge: Judge) -> LostGroupLog:  # noqa: ARG001 - one a judge
    return LostGroupLog(to_stderr)


async def _judged(judge: Judge, group: Mapping[str, Any], rubric: str | None) -> GroupResult:
    # The rubric goes with the group, so that judges with connections and limits are not rebuilt for each rubric;
    # the default stays out of the way of a Judge's own.
    given = None if rubric is None or rubric == DEFAULT_RUBRIC else rubric
    result = await judge.score_group({**group, "rubric": given})
    _record_cost(result.usage)  # of a group that cannot be scored as well: it is paid for
    await judge.require_answering()
    return result


def _trajectories(group: Any) -> Sequence[Any]:
    members = getattr(group, "trajectories", None)
    if not isinstance(members, list | tuple):
        raise InputError(f"a {type(group).__name__} is no ART trajectory group; for message lists there is ruler()")
    return members


def _readable(members: Iterable[Any]) -> list[dict[str, Any]]:
    """Messages and tools only: neither old rewards nor metadata are a judge's business."""
    readable = []
    for number, member in enumerate(members, start=1):
        try:
            fields = trajectory_fields(member)
        except InputError as error:
            raise InputError(f"trajectory {number} {error}") from error
        readable.append({"messages": fields["messages"], "tools": fields["tools"]})
    return readable


def _rewarded(group: Group, result: GroupResult) -> Group:
    members, missing = _trajectories(group), unscored(result.trajectories)
    if missing and len(members) - len(missing) < _ENOUGH:
        some = "none" if len(missing) == len(members) else "only one"
        raise LeftOutError(
            f"{some} of the group's {len(members)} trajectories could be scored: {reasons(missing, len(members))} "
            f"({result.status} group {named(result.group_id)})",
            why=cause(missing),
        )
    pairs = zip(members, result.trajectories, strict=True)
    before: Any = group
    return _copied(
        group,
        trajectories=[_with_reward(member, one) for member, one in pairs if one.reward is not None],
        metrics={**before.metrics, "calipers/unscored": len(missing)},
        logs=[*before.logs, *(f"calipers: {note}" for note in _notes(result, missing))],
    )


def _notes(result: GroupResult, missing: Iterable[TrajectoryResult]) -> list[str]:
    """What a person who wonders about this group's rewards should know."""
    notes = [f"trajectory {one.id} is left out ({one.status}): {one.reason}" for one in missing]
    scores = [one.score for one in result.trajectories if one.score is not None]
    if len(scores) > 1 and len(set(scores)) == 1:
        notes.append("all scores are equal, so nothing is learned from this group")
    return [*notes, *result.warnings]


def _with_reward(trajectory: Any, one: TrajectoryResult) -> Any:
    metrics = dict(trajectory.metrics)
    metrics.setdefault("independent_reward", trajectory.reward)
    metrics["ruler_score"] = _score(one)
    logs = [*trajectory.logs, f"RULER explanation: {_explanation(one)}"]
    return _copied(trajectory, reward=one.reward, metrics=metrics, logs=logs)


R = TypeVar("R")


def _copied(record: R, **changes: Any) -> R:
    """A copy of a pydantic record with lists and dicts of its own, and some fields changed.

    Through pickle's hooks, without pickling: they carry every field there is, whereas ART's group, copied in the usual
    ways, builds itself anew from the fields ART knows, and deep copies fail on what cannot be copied deeply.
    """
    state = {name: copy(part) for name, part in record.__getstate__().items()}  # type: ignore[attr-defined]  # pydantic's
    fields: dict[str, Any] = state["__dict__"]
    fields |= {name: copy(value) for name, value in fields.items() if isinstance(value, list | dict)} | changes
    state["__pydantic_fields_set__"] |= changes.keys()
    fresh = object.__new__(type(record))
    fresh.__setstate__(state)  # type: ignore[attr-defined]  # pydantic's
    return fresh


def _record_cost(usage: Usage) -> None:
    """Put what the judge cost beside ART's other costs, as RULER does, where the cost is known and ART is counting."""
    metrics = sys.modules.get("art.metrics")
    if usage.cost_usd is None or metrics is None:
        return
    try:
        builder = metrics.MetricsBuilder.get_active()
        builder.add_cost(f"{builder.cost_context}/judge/ruler", usage.cost_usd)
    except (AttributeError, LookupError, ValueError):
        return  # an ART that counts otherwise, or not now: bookkeeping never costs a group its rewards


def _score(one: TrajectoryResult) -> float:
    return EVEN if one.score is None else one.score


def _explanation(one: TrajectoryResult) -> str:
    if one.score is None:
        return "there was nothing to compare it with, so no judge was asked"
    return one.explanation or ""
