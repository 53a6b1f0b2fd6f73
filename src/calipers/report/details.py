"""A judged group as plain data for the page: everything that it shows of the group, and the row of the page's index.

Values from files are checked here, so that the page may rely on their types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final, get_args

from calipers.report.candidates import candidate_ids
from calipers.report.cascades import cascade_route
from calipers.report.flags import flags_of
from calipers.report.gold import gold_of, wrong_signs
from calipers.report.group_texts import shared_and_own, shown_rubric, shown_tools
from calipers.report.prompt_criteria import written_criteria
from calipers.report.questions import Lines, questions_of
from calipers.report.recorded import recorded_reliability
from calipers.report.redaction import redacted
from calipers.report.sources import Judged
from calipers.types import Certainty, GroupStatus, Message, TrajectoryStatus
from calipers.types.encoding import measured_number

_NUMBERS: Final = ("reward", "score", "stderr")
_TEXTS: Final = ("explanation", "reason")
_KNOWN: Final = frozenset(("id", "status", "attacks", "criteria", "metadata", *_NUMBERS, *_TEXTS))
_KNOWN_OF_GROUP: Final = frozenset(
    (
        "group_id",
        "status",
        "trajectories",
        "judge_calls",
        "usage",
        "warnings",
        "attempts",
        "unusable",
        "judges",
        "reliability",
    )
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
    shared, own = shared_and_own(judged.group)
    gold = gold_of(judged)
    members = [
        _trajectory(one, None if own is None else own.get(str(one["id"])), gold.get(str(one["id"])))
        for one in result["trajectories"]
    ]
    wrong = wrong_signs({one["id"]: one["reward"] for one in members}, gold)
    members = [one | {"wrong_sign": one["id"] in wrong} for one in members]
    lines = Lines(chain(shared or (), *(one["messages"] or () for one in members)))
    questions = None
    if judged.recorded is not None:
        questions = questions_of(judged, candidate_ids(judged.shown()), lines)
    route, written = cascade_route(result.get("cascade")), written_criteria(result.get("prompt_criteria"))
    shown = {"cascade": route, "prompt_criteria": written}
    known = _KNOWN_OF_GROUP | {name for name, one in shown.items() if one is not None}
    found = {
        "id": str(result["group_id"]),
        "source": judged.source,
        "status": _one_of(_GROUP_STATUSES, result.get("status")),
        "warnings": [str(one) for one in _list(result.get("warnings"))],
        "judge_calls": _count(result.get("judge_calls")),
        "attempts": _count(result.get("attempts")),
        "unusable": _count(result.get("unusable")),
        "usage": _usage(result.get("usage")),
        "reliability": recorded_reliability(result.get("reliability")).to_dict(),
        "judges": [one for one in _list(result.get("judges")) if isinstance(one, dict)],
        "route": route,
        "written": written,
        "more": {key: value for key, value in result.items() if key not in known},
        "shared": shared,
        "tools": shown_tools(judged.group),
        "rubric": shown_rubric(judged.group),
        "trajectories": members,
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


def _trajectory(one: Mapping[str, Any], messages: Sequence[Message] | None, gold: float | None) -> dict[str, Any]:
    numbers = {name: measured_number(one.get(name)) for name in _NUMBERS}
    texts = {name: value if isinstance(value := one.get(name), str) else None for name in _TEXTS}
    criteria = one.get("criteria")
    return {
        "id": str(one["id"]),
        "status": _one_of(_STATUSES, one.get("status")),
        **numbers,
        "gold": measured_number(gold),
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
    return [_verdict(str(name), one) for name, one in criteria.items() if isinstance(one, Mapping)]


def _verdict(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    met = one.get("met")
    texts = {key: value for key in ("by", "reason", "quote") if isinstance(value := one.get(key), str)}
    known = {"id": name, "met": met if isinstance(met, bool) else None, "share": measured_number(one.get("share"))}
    return {key: value for key, value in one.items() if key not in ("by", "reason", "quote")} | known | texts


def _usage(usage: object) -> dict[str, float | None] | None:
    if not isinstance(usage, Mapping):
        return None
    names = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
    return {name: measured_number(usage.get(name)) for name in names}


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
