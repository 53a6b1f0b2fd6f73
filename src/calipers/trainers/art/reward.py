"""RULER's interface (``ruler``, ``ruler_score_group``) for OpenPipe ART, implemented with calipers.

Arguments, return types, metrics and log lines are RULER's; failures of judging are handled differently
(``docs/trainers/art.md``). ART is never imported: its groups are read and copied by their attributes, and its gather's
count of exceptions is looked up if ART is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any, TypeVar, cast

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs.art import art_trajectory_fields
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.protocols.question import Parse
from calipers.rubric import DEFAULT_RUBRIC
from calipers.trainers.art.judge import judge_for
from calipers.trainers.rewards import NEUTRAL, unscored_trajectories
from calipers.trainers.run import (
    PATIENCE,
    JudgedRun,
    Lasting,
    Stop,
    one_line,
    reasons_by_member,
)
from calipers.types import GroupResult, TrajectoryResult, Usage

__all__ = ["DEFAULT_RUBRIC", "Response", "TrajectoryScore", "judged_by", "ruler", "ruler_score_group"]

_MIN_SCORED = 2
"""If a group has unscored trajectories, at least this many others must be scored, so that rewards can be compared."""

_MAX_LENGTH = 800
"""The most characters of a line on stderr. The line holds the reasons and the group's name."""

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
    """Score message lists against one another, as ART's RULER does: return a TrajectoryScore for each, in order.

    Ids are "1" to "N", and scores are in [0, 1]. An empty list gives an empty list. A single trajectory, or several
    identical trajectories, get 0.5 each without a call. ``parse_response`` is ``(reply text, keys) -> {key: score from
    0 to 100}``.

    Raises CalipersError if any trajectory stays without a score (which a float cannot express), ConfigError for invalid
    settings or a judge that refuses every question, and InputError for messages that cannot be read.
    """
    if not message_lists:
        return []
    judge = judge_for(judge_model, extra_litellm_params, debug=debug, parse=parse_response)
    result = await _judged(judge, {"trajectories": list(message_lists), "tools": tools}, rubric)
    if missing := unscored_trajectories(result.trajectories):
        total = len(result.trajectories)
        raise CalipersError(
            f"the judge left {len(missing)} of {total} trajectories unscored: {reasons_by_member(missing, total)}"
        )
    return [
        TrajectoryScore(trajectory_id=str(place), explanation=_explanation(trajectory), score=_score(trajectory))
        for place, trajectory in enumerate(result.trajectories, start=1)
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
    """Return a copy of an ART group with the judge's rewards, in [0, 1]. ``group`` itself is not changed.

    Trajectories that stay without a score are removed from the copy, each with a line in the group's log. The others
    retain their data: ``reward`` and ``metrics["ruler_score"]`` are set, ``metrics["independent_reward"]`` is the
    reward from before the first scoring, and the explanation is added to the log.

    If fewer than two of several trajectories can be scored, CalipersError is raised. With ``swallow_exceptions``, a
    line is written to stderr instead, and None is returned. (Nothing could be learned from a group of one, and ART
    counts such groups as signs of a collapsed policy.)

    Raises ConfigError, also with ``swallow_exceptions``, for invalid settings, and for a judge that refuses every
    question (a mistyped model, a wrong key), because then no group would be scored.
    """
    try:
        if not _trajectories(group):
            return _copied(group)
        judge = judge_for(judge_model, extra_litellm_params, debug=debug, parse=parse_response)
        result = await _judged(judge, {"trajectories": _trajectories_for_judge(_trajectories(group))}, rubric)
        return _rewarded(group, result)
    except ConfigError:
        raise
    except Exception as error:
        # With swallow_exceptions the training run continues after any error, without this group, and logs the error.
        if not swallow_exceptions:
            raise
        _write_to_stderr(_left_out(error))
        return None


def _left_out(error: Exception) -> str:
    return f"a group is left out: {one_line(str(error) or type(error).__name__, _MAX_LENGTH)}"


def _write_to_stderr(line: str) -> None:
    """Write one line to stderr, as ART and RULER do."""
    sys.stderr.write(f"[calipers] {line}\n")


async def _judged(judge: Judge, group: Mapping[str, Any], rubric: str | None) -> GroupResult:
    # The rubric is part of the group, so that judges, with their connections and limits, are not made again for each
    # rubric. RULER's default rubric does not replace a Judge's own.
    stated = None if rubric is None or rubric == DEFAULT_RUBRIC else rubric
    result = await judge.score_group({**group, "rubric": stated})
    _record_cost(result.usage)  # a group that cannot be scored may have cost money, too
    await judge.require_answering()
    return result


def _trajectories(group: Any) -> Sequence[Any]:
    members = getattr(group, "trajectories", None)
    if not isinstance(members, list | tuple):
        raise InputError(f"a {type(group).__name__} is not an ART trajectory group; for message lists use ruler()")
    return members


def _trajectories_for_judge(members: Iterable[Any]) -> list[dict[str, Any]]:
    """Return ART's trajectories with messages and tools only, so that the judge sees neither old rewards nor
    metadata.
    """
    readable = []
    for number, member in enumerate(members, start=1):
        try:
            fields = art_trajectory_fields(member)
        except InputError as error:
            raise InputError(f"trajectory {number} {error}") from error
        readable.append({"messages": fields["messages"], "tools": fields["tools"]})
    return readable


def _rewarded(group: Group, result: GroupResult) -> Group:
    members, missing = _trajectories(group), unscored_trajectories(result.trajectories)
    if missing and len(members) - len(missing) < _MIN_SCORED:
        scored_members = "none" if len(missing) == len(members) else "only one"
        why = reasons_by_member(missing, len(members))
        raise CalipersError(
            f"{scored_members} of the group's {len(members)} trajectories could be scored: {why} "
            f"({result.status} group {one_line(result.group_id, 80)})"
        )
    pairs = zip(members, result.trajectories, strict=True)
    before: Any = group
    known = result.reliability.value
    return _copied(
        group,
        trajectories=[_with_reward(member, row) for member, row in pairs if row.reward is not None],
        metrics={
            **before.metrics,
            "calipers/unscored": len(missing),
            **({} if known is None else {"calipers/reliability": known}),
        },
        logs=[*before.logs, *(f"calipers: {note}" for note in _log_notes(result, missing))],
    )


def _log_notes(result: GroupResult, missing: Iterable[TrajectoryResult]) -> list[str]:
    """Return lines for the ART group's log that explain its rewards."""
    notes = [f"trajectory {row.id} is left out ({row.status}): {row.reason}" for row in missing]
    scores = [trajectory.score for trajectory in result.trajectories if trajectory.score is not None]
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
    """Return a copy of a pydantic record of ART with copies of its lists and dicts, and some fields changed.

    The copy is made with pickle's hooks, without pickling, because they contain every field. The usual copies of ART's
    group contain only the fields that ART knows, and deep copies fail on values that cannot be copied deeply.
    """
    state = {name: copy(part) for name, part in record.__getstate__().items()}  # type: ignore[attr-defined]  # pydantic's
    fields: dict[str, Any] = state["__dict__"]
    fields |= {name: copy(value) for name, value in fields.items() if isinstance(value, list | dict)} | changes
    state["__pydantic_fields_set__"] |= changes.keys()
    fresh = object.__new__(type(record))
    fresh.__setstate__(state)  # type: ignore[attr-defined]  # pydantic's
    return fresh


def _record_cost(usage: Usage) -> None:
    """Add the judge's cost to ART's costs, as RULER does, if the cost is known and ART counts costs."""
    metrics = sys.modules.get("art.metrics")
    if usage.cost_usd is None or metrics is None:
        return
    try:
        builder = metrics.MetricsBuilder.get_active()
        builder.add_cost(f"{builder.cost_context}/judge/ruler", usage.cost_usd)
    except (AttributeError, LookupError, ValueError):
        return  # another version of ART, or no active builder: the group's rewards matter more than its costs


def _score(one: TrajectoryResult) -> float:
    return NEUTRAL if one.score is None else one.score


def _explanation(one: TrajectoryResult) -> str:
    if one.score is None:
        return "there was nothing to compare it with, so no judge was asked"
    return one.explanation or ""


# --- RULER's result types


class _Record:
    def model_dump(self) -> dict[str, Any]:
        """Return the fields as plain data, as RULER's pydantic models do."""
        return asdict(cast("Any", self))  # the dataclasses below


@dataclass(kw_only=True)
class TrajectoryScore(_Record):
    """The score of a trajectory, as RULER returns it.

    ``trajectory_id`` is the trajectory's position, from 1, as text. ``score`` is in [0, 1].
    """

    trajectory_id: str
    explanation: str
    score: float


@dataclass(kw_only=True)
class Response(_Record):
    """All scores of a group, under RULER's name."""

    scores: list[TrajectoryScore]


# --- inside ART's own loops: in gather_trajectory_groups's after_each, and in PipelineTrainer's rollouts


def judged_by(
    judge_model: str | Backend | Judge,
    extra_litellm_params: Mapping[str, object] | None = None,
    rubric: str | None = DEFAULT_RUBRIC,
    *,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
    debug: bool = False,
    parse_response: Parse | None = None,
) -> Callable[[Any], Awaitable[Any]]:
    """Return a function that judges every group of an ART run: ``after_each=judged_by(...)``, or awaited in a rollout.

    Arguments are those of ``ruler_score_group``. They are checked here, before the first rollout (ConfigError). For a
    group that cannot be judged, the function writes a line to stderr and returns None, and ART skips the group. Within
    ``gather_trajectory_groups`` such a group also counts as one of ART's exceptions. So a gather with
    ``max_exceptions`` ends, with the judge's reason, when too many groups were lost. Without ``max_exceptions`` (0), no
    number of lost groups ends it.

    After ``patience`` lost groups in a row, ``stop`` is called, once. Without ``stop``, CalipersError is raised, which
    ends a gather. If a judge refuses every question, ``stop`` is called and ConfigError raised. A PipelineTrainer
    prints the exceptions of rollouts and continues, so pass its ``request_stop`` as ``stop``.
    """
    judge = judge_for(judge_model, extra_litellm_params, debug=debug, parse=parse_response)
    run = JudgedRun(judge, patience=patience, stop=stop, log=_write_to_stderr)

    async def judged(group: Any) -> Any:
        run.require_running()
        try:
            scored = await ruler_score_group(group, judge, rubric=rubric)
        except ConfigError as error:
            run.end(error)
            raise
        except Exception as error:
            # An error loses only this group, unless the gather has reached its max_exceptions.
            if _exceeds_max_exceptions():
                raise
            run.lost(_left_out(error), why=one_line(str(error)))
            run.require_running()
            return None
        run.succeeded()
        return scored

    return judged


def _exceeds_max_exceptions() -> bool:
    """Count an exception in ART's current gather, if any. Return whether the gather now has too many exceptions."""
    gather = sys.modules.get("art.gather")
    if gather is None:
        return False
    # ART's own getter is not used: outside of a gather it returns a context that tolerates no exception.
    context: Any = gather.gather_context_var.get(None)
    if context is None:
        return False
    context.metric_sums["exceptions"] += 1
    context.update_pbar(n=0)
    return bool(context.max_exceptions and context.too_many_exceptions())
