"""What is remarkable about a judged group, in words that the page filters by.

Every flag is decided from the result and the recorded questions alone. docs/report.md explains them to users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import hypot
from typing import Any, Final

from calipers.report.cascades import ESCALATED
from calipers.types.encoding import measured_number

REASKED: Final = frozenset(("missing", "doubt", "truncated", "window", "substitute", "canary"))
"""Causes of questions that repeat an earlier one because something went wrong."""
_Z95: Final = 1.959964
"""The 97.5 % quantile of the normal distribution: half the width of a 95 % interval in standard errors."""


def flags_of(detail: Mapping[str, Any]) -> list[str]:
    """Return the flags of a group's report, in the order in which the page lists them."""
    members = detail["trajectories"]
    statuses = {one["status"] for one in members}
    questions = detail["questions"] or ()
    found = {
        "failed": "failed" in statuses or detail["status"] == "failed",
        "abstained": "abstained" in statuses or detail["status"] == "abstained",
        "injected": any(one["attacks"] for one in members),
        "disputed": is_disputed(questions),
        "flipped": is_flipped(questions),
        "close": _is_close(members),
        "escalated": (detail["route"] or {}).get("why") in ESCALATED,
        "checked": (detail["route"] or {}).get("why") == "check",
        "tied": _is_tied(members),
        "reasked": any(one["cause"] in REASKED for one in questions),
        "shortened": any(_says_shortened(one) for one in detail["warnings"]),
        "warned": bool(detail["warnings"]),
    }
    return [name for name, is_so in found.items() if is_so]


def _says_shortened(warning: str) -> bool:
    return warning.endswith(" left out") or " was not shown to the judge" in warning


def _is_tied(members: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all rewards are equal, so that the group has no gradient."""
    rewards = [one["reward"] for one in members if one["reward"] is not None]
    return len(rewards) > 1 and min(rewards) == max(rewards)


def _is_close(members: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the lead of the best score is smaller than its 95 % error. False where a standard error is unknown."""
    scored = sorted(
        ((one["score"], one["stderr"]) for one in members if one["score"] is not None), key=lambda pair: -pair[0]
    )
    if len(scored) < 2:
        return False
    (best, error), (second, other) = scored[:2]
    return error is not None and other is not None and best - second < _Z95 * hypot(error, other)


def is_flipped(questions: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a judge of a report's group preferred other candidates when the same ones were shown in another
    order.
    """
    lists: dict[tuple[int, frozenset[str]], list[frozenset[str]]] = {}
    pairs: dict[tuple[int, frozenset[str]], list[float]] = {}
    for question in questions:
        for slot, values in ratings_of(question["judgments"]).items():
            if len(values) > 1:
                lists.setdefault((slot, frozenset(values)), []).append(_best(values))
        for one in question["judgments"]:
            margin = measured_number(one.get("margin"))
            if margin is not None and "first" in one and "second" in one:
                sign = 1 if one["first"] < one["second"] else -1
                pairs.setdefault((one["slot"], frozenset((one["first"], one["second"]))), []).append(sign * margin)
    return any(_have_disjoint(tops) for tops in lists.values()) or any(
        min(margins) < 0 < max(margins) for margins in pairs.values()
    )


def is_disputed(questions: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether two judges of a report's group prefer different candidates, each by the mean of its answers."""
    sums: dict[int, dict[str, list[float]]] = {}
    for question in questions:
        for one in question["judgments"]:
            means = sums.setdefault(one["slot"], {})
            value, margin = measured_number(one.get("value")), measured_number(one.get("margin"))
            if value is not None and "item" in one:
                means.setdefault(one["item"], []).append(value)
            if margin is not None and "first" in one and "second" in one:
                means.setdefault(one["first"], []).append(margin)
                means.setdefault(one["second"], []).append(-margin)
    by_judge = [{name: sum(all_) / len(all_) for name, all_ in means.items()} for means in sums.values()]
    return _have_disjoint([_best(means) for means in by_judge if len(means) > 1])


def ratings_of(judgments: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, float]]:
    """Return the rated values of one answer by slot and candidate."""
    found: dict[int, dict[str, float]] = {}
    for one in judgments:
        value = measured_number(one.get("value"))
        if value is not None and "item" in one:
            found.setdefault(one["slot"], {})[one["item"]] = value
    return found


def _best(values: Mapping[str, float]) -> frozenset[str]:
    top = max(values.values())
    return frozenset(name for name, value in values.items() if value == top)


def _have_disjoint(sets: Sequence[frozenset[str]]) -> bool:
    return any(one.isdisjoint(other) for one, other in combinations(set(sets), 2))
