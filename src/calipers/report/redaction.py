"""Removes every text that a policy, a user or a judge wrote from a group's report; numbers, statuses and ids stay.

What may stay is listed here, so that a new field of a report is removed until somebody adds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_OF_GROUP: Final = (
    "id", "source", "status", "flags", "judge_calls", "attempts", "unusable", "usage", "reliability", "trajectories",
    "questions", "shared",
)  # fmt: skip
_OF_TRAJECTORY: Final = ("id", "status", "reward", "score", "stderr", "gold", "wrong_sign")
_OF_ATTACK: Final = ("kind", "message", "role", "certainty")
_OF_VERDICT: Final = ("id", "met", "share", "by", "asked")
_OF_CRITERION: Final = ("id", "points", "veto")
_OF_QUESTION: Final = ("number", "cause", "outcome", "failed", "judge", "order", "canary")
_OF_JUDGMENT: Final = (
    "item", "first", "second", "value", "margin", "presentation", "place", "slot", "spread", "met", "share",
    "criterion",
)  # fmt: skip
_OF_ANSWER: Final = (
    "finish_reason", "served_model", "input_tokens", "output_tokens", "cached_tokens", "cost_usd", "latency",
    "attempts", "answered_at",
)  # fmt: skip
_ROLES: Final = frozenset(("system", "developer", "user", "assistant", "tool", "function"))


def redacted(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group's details for the page without texts. Messages keep their role, length and number of calls."""
    kept = _only(detail, _OF_GROUP)
    kept["shared"] = _messages(detail["shared"])
    kept["trajectories"] = [_trajectory(one) for one in detail["trajectories"]]
    kept["questions"] = None if detail["questions"] is None else [_question(one) for one in detail["questions"]]
    if (written := detail["written"]) is not None:
        criteria = [{**_only(one, _OF_CRITERION), "text": None} for one in written["criteria"]]
        written = {"criteria": criteria, "problem": None}
    return {
        **kept, "redacted": True, "warnings": [], "warning_count": len(detail["warnings"]), "judges": [], "more": {},
        "tools": [], "rubric": None, "lines": [], "written": written,
    }  # fmt: skip


def _only(value: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value[name] for name in names if name in value}


def _trajectory(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_only(one, _OF_TRAJECTORY),
        "explanation": None,
        "reason": None,
        "attacks": [_only(hit, _OF_ATTACK) | {"excerpt": ""} for hit in one["attacks"]],
        "criteria": [_only(verdict, _OF_VERDICT) for verdict in one["criteria"]],
        "metadata": None,
        "more": {},
        "messages": _messages(one["messages"]),
    }


def _question(one: Mapping[str, Any]) -> dict[str, Any]:
    answer = one["answer"]
    return {
        **_only(one, _OF_QUESTION),
        "reason": None,
        "judgments": [_only(judgment, _OF_JUDGMENT) for judgment in one["judgments"]],
        "missing": dict.fromkeys(one["missing"], ""),
        "names": {},
        "request": None,
        "answer": None if answer is None else {**_only(answer, _OF_ANSWER), "text": None, "reasoning": None},
    }


def _messages(messages: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]] | None:
    if messages is None:
        return None
    return [
        {
            "role": one["role"] if one.get("role") in _ROLES else "other",
            "characters": _length(one.get("content")) + _length(one.get("reasoning")),
            "calls": len(one["tool_calls"]) if isinstance(one.get("tool_calls"), list | tuple) else 0,
        }
        for one in messages
    ]


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return _length(value.get("text"))
    return sum(map(_length, value)) if isinstance(value, list | tuple) else 0
