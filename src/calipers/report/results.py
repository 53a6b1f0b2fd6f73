"""Reads a line of a result file, or a result of a ledger: every value is checked here once.

What is missing or of another type is None, empty or "unknown", never zero, so that whoever shows it may rely on types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast, get_args

from calipers.types import (
    UNKNOWN_RELIABILITY,
    Attack,
    Certainty,
    ErrorBasis,
    GroupResult,
    GroupStatus,
    Reliability,
    TrajectoryResult,
    TrajectoryStatus,
    Usage,
)
from calipers.types.encoding import measured_number, objects_in

_NUMBERS: Final = ("reward", "score", "stderr")
_TEXTS: Final = ("explanation", "reason")
_COUNTS: Final = ("judge_calls", "attempts", "unusable")
_KNOWN: Final = frozenset(("id", "status", "attacks", "criteria", "metadata", *_NUMBERS, *_TEXTS))
_KNOWN_OF_GROUP: Final = frozenset(
    ("group_id", "status", "trajectories", "usage", "warnings", "judges", "reliability", "prompt_criteria", *_COUNTS)
)
_MOST_CRITERIA: Final = 100


def problem_of(value: Mapping[str, Any]) -> str | None:
    """Return why a line of a result file cannot be shown, or None if it can."""
    members = value.get("trajectories")
    if not isinstance(value.get("group_id"), str) or not isinstance(value.get("status"), str):
        return "has no group_id and status, so it is not a result"
    if not isinstance(members, list) or not all(isinstance(member, dict) and "id" in member for member in members):
        return "has no list of trajectories with ids, so it is not a result"
    return None


def checked_result(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with checked values; what calipers does not know of it is in ``more``."""
    return {
        "group_id": str(line.get("group_id")),
        "status": _one_of(get_args(GroupStatus), line.get("status")),
        "trajectories": [_trajectory(trajectory) for trajectory in objects_in(line.get("trajectories"))],
        "warnings": [str(warning) for warning in list_in(line.get("warnings"))],
        **{name: count_in(line.get(name)) for name in _COUNTS},
        "usage": _usage(line.get("usage")),
        "reliability": _reliability(line.get("reliability")),
        "judges": objects_in(line.get("judges")),
        "written": _written_criteria(line.get("prompt_criteria")),
        "more": {key: value for key, value in line.items() if key not in _KNOWN_OF_GROUP},
    }


def as_group_result(checked: Mapping[str, Any]) -> GroupResult:
    """Return a checked result as a run has it, for health metrics. An unknown status counts as "failed"."""
    return GroupResult(
        checked["group_id"],
        cast("GroupStatus", _status(checked)),
        tuple(
            TrajectoryResult(
                trajectory["id"],
                cast("TrajectoryStatus", _status(trajectory)),
                **{name: trajectory[name] for name in (*_NUMBERS, "reason")},
                attacks=tuple(Attack(**hit | {"message": hit["message"] or 0}) for hit in trajectory["attacks"]),
            )
            for trajectory in checked["trajectories"]
        ),
        judge_calls=checked["judge_calls"] or 0,
        attempts=checked["attempts"] or 0,
        unusable=checked["unusable"] or 0,
        usage=usage_of(checked["usage"]),
        warnings=tuple(checked["warnings"]),
        reliability=checked["reliability"],
    )


def usage_of(checked: Mapping[str, Any] | None) -> Usage:
    """Return what a checked result, or an answer, used; unknown tokens count as none."""
    usage = checked or {}
    read, written, cached = (count_in(usage.get(f"{name}_tokens")) or 0 for name in ("input", "output", "cached"))
    return Usage(read, written, cached, measured_number(usage.get("cost_usd")))


def _status(checked: Mapping[str, Any]) -> str:
    return "failed" if checked["status"] == "unknown" else str(checked["status"])


def _trajectory(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": str(one.get("id")),
        "status": _one_of(get_args(TrajectoryStatus), one.get("status")),
        **{name: measured_number(one.get(name)) for name in _NUMBERS},
        **{name: text_in(one.get(name)) for name in _TEXTS},
        "attacks": [_attack(hit) for hit in objects_in(one.get("attacks"))],
        "criteria": _verdicts(one.get("criteria")),
        "metadata": one.get("metadata"),
        "more": {key: value for key, value in one.items() if key not in _KNOWN},
    }


def _attack(hit: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: str(hit.get(name, "")) for name in ("kind", "role", "excerpt")}
    certainty = _one_of(get_args(Certainty), hit.get("certainty"))
    return {**texts, "certainty": certainty, "message": count_in(hit.get("message"))}


def _verdicts(criteria: object) -> list[dict[str, Any]]:
    """Return the verdicts on a trajectory's criteria as a list, each with its ``id``."""
    known = criteria if isinstance(criteria, Mapping) else {}
    verdicts = []
    for name, verdict in known.items():
        if isinstance(verdict, Mapping):
            texts = {key: value for key in ("by", "reason") if isinstance(value := verdict.get(key), str)}
            met = verdict.get("met")
            verdicts.append({"id": str(name), "met": met if isinstance(met, bool) else None, **texts})
    return verdicts


def _written_criteria(recorded: object) -> dict[str, Any] | None:
    """Return the criteria that a model wrote for the group's prompt, or why there are none; None if not asked."""
    if not isinstance(recorded, Mapping):
        return None
    criteria = [
        {
            "id": str(criterion.get("id", "")),
            "text": text_in(criterion.get("text")),
            "points": measured_number(criterion.get("points")),
            "veto": criterion.get("veto") is True,
        }
        for criterion in objects_in(recorded.get("written"))[:_MOST_CRITERIA]
    ]
    return {"criteria": criteria, "problem": text_in(recorded.get("problem"))}


def _usage(usage: object) -> dict[str, Any] | None:
    if not isinstance(usage, Mapping):
        return None
    tokens = {name: count_in(usage.get(name)) for name in ("input_tokens", "output_tokens", "cached_tokens")}
    return {**tokens, "cost_usd": measured_number(usage.get("cost_usd"))}


def _reliability(recorded: object) -> Reliability:
    """Return the reliability of a result; it is unknown if it is no share."""
    fields = recorded if isinstance(recorded, Mapping) else {}
    value, basis = measured_number(fields.get("value")), fields.get("basis")
    if value is None or not 0 <= value <= 1 or basis not in get_args(ErrorBasis):
        return UNKNOWN_RELIABILITY
    ends = [measured_number(end) for end in list_in(fields.get("interval"))]
    interval = (ends[0], ends[1]) if len(ends) == 2 and ends[0] is not None and ends[1] is not None else None
    return Reliability(value, interval, cast("ErrorBasis", basis), measured_number(fields.get("freedom")))


def _one_of(known: Sequence[str], value: object) -> str:
    return value if isinstance(value, str) and value in known else "unknown"


def list_in(value: object) -> Sequence[Any]:
    """Return a value of a file if it is a list, and an empty one otherwise."""
    return value if isinstance(value, list | tuple) else ()


def text_in(value: object) -> str | None:
    """Return a value of a file if it is text."""
    return value if isinstance(value, str) else None


def count_in(value: object) -> int | None:
    """Return a value of a file if it is an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
