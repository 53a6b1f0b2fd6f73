"""A judged group as plain data for the page: everything that it shows of the group, and the row of the page's index.

Values from files are checked here, so that the page may rely on their types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import Any, Final, get_args

from calipers.report.flags import flags_of
from calipers.report.questions import Lines, questions_of
from calipers.report.recorded import recorded_reliability
from calipers.report.sources import Judged
from calipers.types import Certainty, GroupStatus, Message, Rubric, TrajectoryGroup, TrajectoryStatus
from calipers.types.encoding import measured_number

_NUMBERS: Final = ("reward", "score", "stderr")
_TEXTS: Final = ("explanation", "reason")
_COUNTS: Final = ("judge_calls", "attempts", "unusable")
_KNOWN: Final = frozenset(("id", "status", "attacks", "criteria", "metadata", *_NUMBERS, *_TEXTS))
_KNOWN_OF_GROUP: Final = frozenset(
    ("group_id", "status", "trajectories", "usage", "warnings", "judges", "reliability", "prompt_criteria", *_COUNTS)
)
_SNIPPET: Final = 160
_READ_FOR_SNIPPET: Final = 4000
_MOST_CRITERIA: Final = 100
_EDGE: Final = 1e-9
"""Advantages of this size are 0, as in calibration."""


def details_of(judged: Judged) -> dict[str, Any]:
    """Return all that the page shows of a judged group.

    ``shared`` are the messages that all trajectories begin with, None if the texts are not known. ``questions`` is None
    if no ledger has them; ``lines`` are the lines that they share.
    """
    result = judged.result
    shared, own = shared_and_own(judged.group)
    gold = _gold_of(judged)
    members = [
        _trajectory(one, None if own is None else own.get(str(one["id"])), gold.get(str(one["id"])))
        for one in result["trajectories"]
    ]
    wrong = wrong_signs({one["id"]: one["reward"] for one in members}, gold)
    members = [one | {"wrong_sign": one["id"] in wrong} for one in members]
    lines = Lines(chain(shared or (), *(one["messages"] or () for one in members)))
    found = {
        "id": str(result["group_id"]),
        "source": judged.source,
        "status": _one_of(get_args(GroupStatus), result.get("status")),
        "warnings": [str(one) for one in _list(result.get("warnings"))],
        **{name: _count(result.get(name)) for name in _COUNTS},
        "usage": _usage(result.get("usage")),
        "reliability": recorded_reliability(result.get("reliability")).to_dict(),
        "judges": [one for one in _list(result.get("judges")) if isinstance(one, dict)],
        "written": _written_criteria(result.get("prompt_criteria")),
        "more": {key: value for key, value in result.items() if key not in _KNOWN_OF_GROUP},
        "shared": shared,
        "tools": shown_tools(judged.group),
        "rubric": shown_rubric(judged.group),
        "trajectories": members,
        "questions": None if judged.recorded is None else questions_of(judged, lines),
        "lines": lines.table,
    }
    found["flags"] = flags_of(found)
    return found


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


def shared_and_own(
    group: TrajectoryGroup | None,
) -> tuple[list[Message] | None, dict[str, tuple[Message, ...]] | None]:
    """Return the messages that all trajectories of a group begin with, and those that each goes on with, by id.

    Both are None without a group.
    """
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


def shown_tools(group: TrajectoryGroup | None) -> list[Any]:
    """Return the tool definitions that a page shows of a group."""
    if group is None:
        return []
    own = [group.tools, *(one.tools for one in group.trajectories if one.tools)]
    return list(next((one for one in own if one is not None), ()))


def shown_rubric(group: TrajectoryGroup | None) -> Any:
    """Return the standards that a page shows of a group: text, an object with criteria, or None."""
    if group is None or group.rubric is None:
        return None
    return group.rubric.to_dict() if isinstance(group.rubric, Rubric) else group.rubric


def wrong_signs(rewards: Mapping[str, float | None], gold: Mapping[str, float]) -> set[str]:
    """Return the ids of a reported group's trajectories whose advantage has the other sign than gold's.

    Both advantages are less the mean over the trajectories that have a reward and gold, as in calibration. An
    advantage of 0 has no sign.
    """
    known = {name: reward for name, reward in rewards.items() if reward is not None and name in gold}
    if len(known) < 2:
        return set()
    means = fmean(known.values()), fmean(gold[name] for name in known)
    return {name for name, reward in known.items() if _sign(reward - means[0]) * _sign(gold[name] - means[1]) < 0}


def _sign(value: float) -> int:
    return 0 if abs(value) <= _EDGE else 1 if value > 0 else -1


def _gold_of(judged: Judged) -> dict[str, float]:
    """Return the gold of a group's trajectories by id: that of the groups file if it has any, else the ledger's."""
    for group in (judged.group, judged.recorded):
        found = {} if group is None else {one.id: one.gold for one in group.trajectories if one.gold is not None}
        if found:
            return found
    return {}


def _trajectory(one: Mapping[str, Any], messages: Sequence[Message] | None, gold: float | None) -> dict[str, Any]:
    return {
        "id": str(one["id"]),
        "status": _one_of(get_args(TrajectoryStatus), one.get("status")),
        **{name: measured_number(one.get(name)) for name in _NUMBERS},
        "gold": measured_number(gold),
        **{name: value if isinstance(value := one.get(name), str) else None for name in _TEXTS},
        "attacks": [_attack(hit) for hit in _list(one.get("attacks")) if isinstance(hit, dict)],
        "criteria": _verdicts(one.get("criteria")),
        "metadata": one.get("metadata"),
        "more": {key: value for key, value in one.items() if key not in _KNOWN},
        "messages": None if messages is None else list(messages),
    }


def _attack(hit: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: str(hit.get(name, "")) for name in ("kind", "role", "excerpt")}
    certainty = _one_of(get_args(Certainty), hit.get("certainty"))
    return {**texts, "certainty": certainty, "message": _count(hit.get("message"))}


def _verdicts(criteria: object) -> list[dict[str, Any]]:
    """Return the verdicts on a trajectory's criteria as a list, each with its ``id``."""
    known = criteria if isinstance(criteria, Mapping) else {}
    found = []
    for name, one in known.items():
        if isinstance(one, Mapping):
            texts = {key: value for key in ("by", "reason", "quote") if isinstance(value := one.get(key), str)}
            met = one.get("met")
            share = measured_number(one.get("share"))
            found.append({"id": str(name), "met": met if isinstance(met, bool) else None, "share": share, **texts})
    return found


def _written_criteria(recorded: object) -> dict[str, Any] | None:
    """Return the criteria that a model wrote for the group's prompt, or why there are none; None if not asked."""
    if not isinstance(recorded, Mapping):
        return None
    problem = recorded.get("problem")
    criteria = [
        {
            "id": str(one.get("id", "")),
            "text": text if isinstance(text := one.get("text"), str) else None,
            "points": measured_number(one.get("points")),
            "veto": one.get("veto") is True,
        }
        for one in _list(recorded.get("written"))[:_MOST_CRITERIA]
        if isinstance(one, Mapping)
    ]
    return {"criteria": criteria, "problem": problem if isinstance(problem, str) else None}


def _usage(usage: object) -> dict[str, float | None] | None:
    if not isinstance(usage, Mapping):
        return None
    names = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
    return {name: measured_number(usage.get(name)) for name in names}


def _snippet(messages: Sequence[Message]) -> str:
    """Return the beginning of the first message of a user, else of the first message, on one line."""
    by_user = [one for one in messages if one.get("role") == "user"]
    for message in by_user or messages:
        content: Any = message.get("content")
        parts = (
            [content]
            if isinstance(content, str)
            else [one.get("text") for one in _list(content) if isinstance(one, Mapping)]
        )
        if text := "\n".join(one for one in parts if isinstance(one, str)):
            return " ".join(text[:_READ_FOR_SNIPPET].split())[:_SNIPPET]
    return ""


def _one_of(known: Sequence[str], value: object) -> str:
    """Return a word that the page knows, and "unknown" for any other."""
    return value if isinstance(value, str) and value in known else "unknown"


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
