"""A judged group as plain data for the page: everything that it shows of the group, and the row of the page's index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from calipers.report.flags import flags_of
from calipers.report.questions import Lines, questions_of
from calipers.report.sources import Judged
from calipers.rewards.reliability import errors_of_interval
from calipers.types import Message, Rubric, TrajectoryGroup
from calipers.types.encoding import measured_number, objects_in

_SNIPPET: Final = 160
_READ_FOR_SNIPPET: Final = 4000
_EDGE: Final = 1e-9
"""Advantages of this size are 0, as in calibration."""


def details_of(judged: Judged) -> dict[str, Any]:
    """Return all that the page shows of a judged group.

    ``shared`` are the messages that all trajectories begin with, None if the texts are not known. ``questions`` is None
    if no ledger has them; ``lines`` are the lines that they share.
    """
    result = judged.result
    shared, by_id = shared_and_own(judged.group)
    gold = _gold_of(judged)
    wrong = wrong_signs({row["id"]: row["reward"] for row in result["trajectories"]}, gold)
    errors = errors_of_interval(result["reliability"].freedom)
    members = [
        {
            **row,
            "margin": None if row["stderr"] is None else errors * row["stderr"],
            "gold": measured_number(gold.get(row["id"])),
            "messages": None if by_id is None or row["id"] not in by_id else list(by_id[row["id"]]),
            "wrong_sign": row["id"] in wrong,
        }
        for row in result["trajectories"]
    ]
    lines = Lines()
    details = {
        **result,
        "id": result["group_id"],
        "source": judged.source,
        "reliability": result["reliability"].to_dict(),
        "shared": shared,
        "tools": shown_tools(judged.group),
        "rubric": shown_rubric(judged.group),
        "trajectories": members,
        "questions": None if judged.recorded is None else questions_of(judged, lines),
        "lines": lines.table,
    }
    details["flags"] = flags_of(details)
    return details


def index_row(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page's list shows of a group, from its details: small, because all rows are read at once."""
    members = detail["trajectories"]
    return {
        "id": detail["id"],
        "source": detail["source"],
        "status": detail["status"],
        "flags": detail["flags"],
        "scores": [[member["score"], member["margin"], member["reward"]] for member in members],
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
    conversations = [trajectory.messages for trajectory in group.trajectories if trajectory.messages]
    common = 0
    if len(conversations) > 1:
        shortest = min(map(len, conversations)) - 1  # so that each candidate keeps a message of its own
        while common < shortest and all(messages[common] == conversations[0][common] for messages in conversations):
            common += 1
    shared = [*group.context, *(conversations[0][:common] if conversations else ())]
    return shared, {trajectory.id: trajectory.messages[common:] for trajectory in group.trajectories}


def shown_tools(group: TrajectoryGroup | None) -> list[Any]:
    """Return the tool definitions that a page shows of a group."""
    if group is None:
        return []
    listed = [group.tools, *(trajectory.tools for trajectory in group.trajectories if trajectory.tools)]
    return list(next((tools for tools in listed if tools is not None), ()))


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
        gold = (
            {}
            if group is None
            else {trajectory.id: trajectory.gold for trajectory in group.trajectories if trajectory.gold is not None}
        )
        if gold:
            return gold
    return {}


def _snippet(messages: Sequence[Message]) -> str:
    """Return the beginning of the first message of a user, else of the first message, on one line."""
    by_user = [message for message in messages if message.get("role") == "user"]
    for message in by_user or messages:
        content: Any = message.get("content")
        parts = [content] if isinstance(content, str) else [part.get("text") for part in objects_in(content)]
        if text := "\n".join(part for part in parts if isinstance(part, str)):
            return " ".join(text[:_READ_FOR_SNIPPET].split())[:_SNIPPET]
    return ""
