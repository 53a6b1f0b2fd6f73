"""A judged group as plain data for the page: everything that it shows of the group, and the row of the page's index.

Values from files are checked here, so that the page may rely on their types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from calipers.report.candidates import candidate_ids
from calipers.report.flags import flags_of
from calipers.report.questions import Lines, questions_of
from calipers.report.redaction import redacted
from calipers.report.sources import Judged
from calipers.types import Certainty, GroupStatus, Message, Rubric, TrajectoryGroup, TrajectoryStatus
from calipers.types.encoding import finite_number

_NUMBERS: Final = ("reward", "score", "stderr")
_TEXTS: Final = ("explanation", "reason")
_KNOWN: Final = frozenset(("id", "status", "attacks", "criteria", "metadata", *_NUMBERS, *_TEXTS))
_KNOWN_OF_GROUP: Final = frozenset(
    ("group_id", "status", "trajectories", "judge_calls", "usage", "warnings", "attempts", "unusable", "judges")
)
_STATUSES: Final = get_args(TrajectoryStatus)
_GROUP_STATUSES: Final = get_args(GroupStatus)
_SNIPPET: Final = 160
_READ_FOR_SNIPPET: Final = 4000


def details_of(judged: Judged, *, redact: bool = False) -> dict[str, Any]:
    """Return all that the page shows of a judged group; with ``redact``, without any text of the group or its judges.

    ``shared`` are the messages that all trajectories begin with, None if the texts are not known. ``questions`` is None
    if no ledger has them; ``lines`` are the lines that they share.
    """
    result = judged.result
    lines = Lines()
    shared, own = _messages(judged.group)
    questions = None
    if judged.recorded is not None:
        questions = questions_of(judged, candidate_ids(judged.shown()), lines)
    found = {
        "id": str(result["group_id"]),
        "source": judged.source,
        "status": _one_of(_GROUP_STATUSES, result.get("status")),
        "warnings": [str(one) for one in _list(result.get("warnings"))],
        "judge_calls": _count(result.get("judge_calls")),
        "attempts": _count(result.get("attempts")),
        "unusable": _count(result.get("unusable")),
        "usage": _usage(result.get("usage")),
        "judges": [one for one in _list(result.get("judges")) if isinstance(one, dict)],
        "more": {key: value for key, value in result.items() if key not in _KNOWN_OF_GROUP},
        "shared": shared,
        "tools": _tools(judged.group),
        "rubric": _rubric(judged.group),
        "trajectories": [
            _trajectory(one, None if own is None else own.get(str(one["id"]))) for one in result["trajectories"]
        ],
        "questions": questions,
        "lines": lines.table,
    }
    found["flags"] = flags_of(found)
    return redacted(found) if redact else found


def index_row(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page's list shows of a group, from its details: small, because all rows are read at once."""
    members = detail["trajectories"]
    return {
        "id": detail["id"],
        "source": detail["source"],
        "status": detail["status"],
        "flags": detail["flags"],
        "scores": [[one["score"], one["stderr"], one["reward"]] for one in members],
        "prompt": _snippet([*(detail["shared"] or ()), *(members[0]["messages"] or () if members else ())]),
        "calls": detail["judge_calls"],
        "cost": (detail["usage"] or {}).get("cost_usd"),
    }


def _trajectory(one: Mapping[str, Any], messages: Sequence[Message] | None) -> dict[str, Any]:
    numbers = {name: finite_number(one.get(name)) for name in _NUMBERS}
    texts = {name: value if isinstance(value := one.get(name), str) else None for name in _TEXTS}
    criteria = one.get("criteria")
    return {
        "id": str(one["id"]),
        "status": _one_of(_STATUSES, one.get("status")),
        **numbers,
        **texts,
        "attacks": [_attack(hit) for hit in _list(one.get("attacks")) if isinstance(hit, dict)],
        "criteria": _criteria(criteria),
        "metadata": one.get("metadata"),
        "more": {key: value for key, value in one.items() if key not in _KNOWN},
        "messages": None if messages is None else list(messages),
    }


def _attack(hit: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: str(hit.get(name, "")) for name in ("kind", "role", "excerpt")}
    certainty = _one_of(get_args(Certainty), hit.get("certainty"))
    return {**texts, "certainty": certainty, "message": _count(hit.get("message"))}


def _criteria(criteria: object) -> list[dict[str, Any]]:
    """Return the verdicts on a trajectory's criteria as a list, each with its ``id``."""
    if not isinstance(criteria, Mapping):
        return []
    return [{"id": str(name), **one} for name, one in criteria.items() if isinstance(one, Mapping)]


def _usage(usage: object) -> dict[str, float | None] | None:
    if not isinstance(usage, Mapping):
        return None
    names = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
    return {name: finite_number(usage.get(name)) for name in names}


def _messages(
    group: TrajectoryGroup | None,
) -> tuple[list[Message] | None, dict[str, tuple[Message, ...]] | None]:
    """Return the messages that all trajectories begin with, and those that each goes on with, by id."""
    if group is None:
        return None, None
    own = [one.messages for one in group.trajectories if one.messages]
    common = 0
    if len(own) > 1:
        shortest = min(map(len, own)) - 1  # so that each candidate keeps a message of its own
        while common < shortest and all(one[common] == own[0][common] for one in own):
            common += 1
    shared = [*group.context, *(own[0][:common] if own else ())]
    return shared, {one.id: one.messages[common:] for one in group.trajectories}


def _tools(group: TrajectoryGroup | None) -> list[Any]:
    if group is None:
        return []
    if group.tools is not None:
        return list(group.tools)
    own = [one.tools for one in group.trajectories if one.tools]
    return list(own[0]) if own else []


def _rubric(group: TrajectoryGroup | None) -> Any:
    if group is None or group.rubric is None:
        return None
    return group.rubric.to_dict() if isinstance(group.rubric, Rubric) else group.rubric


def _snippet(messages: Sequence[Message]) -> str:
    """Return the beginning of the first message of a user, else of the first message, on one line."""
    by_user = [one for one in messages if one.get("role") == "user"]
    for message in by_user or messages:
        if text := _text(message.get("content")):
            return " ".join(text[:_READ_FOR_SNIPPET].split())[:_SNIPPET]
    return ""


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = [one.get("text") for one in _list(content) if isinstance(one, Mapping)]
    return "\n".join(one for one in parts if isinstance(one, str))


def _one_of(known: Sequence[str], value: object) -> str:
    """Return a word that the page knows, and "unknown" for any other."""
    return value if isinstance(value, str) and value in known else "unknown"


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
