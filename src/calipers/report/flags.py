"""What is remarkable about a judged group, in words that the page filters by.

Every flag is decided from the result and the recorded questions alone. docs/report.md explains them to users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import hypot
from statistics import fmean
from typing import Any, TypeAlias

from calipers.types.encoding import measured_number

_Votes: TypeAlias = dict[str, list[float]]
"""What was said of each candidate."""


def flags_of(detail: Mapping[str, Any]) -> list[str]:
    """Return the flags of a group's report, in the order in which the page lists them."""
    members = detail["trajectories"]
    statuses = {detail["status"], *(member["status"] for member in members)}
    questions = detail["questions"] or ()
    flags = {
        "failed": "failed" in statuses,
        "abstained": "abstained" in statuses,
        "injected": any(member["attacks"] for member in members),
        "disputed": is_disputed(questions),
        "flipped": is_flipped(questions),
        "against-gold": any(member.get("wrong_sign") for member in members),
        "close": _is_close(members),
        "tied": _is_tied(members),
        "warned": bool(detail["warnings"]),
    }
    return [name for name, is_so in flags.items() if is_so]


def _is_tied(members: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all rewards are equal, so that the group has no gradient."""
    rewards = [member["reward"] for member in members if member["reward"] is not None]
    return len(rewards) > 1 and min(rewards) == max(rewards)


def _is_close(members: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the lead of the best score is smaller than its 95 % error. False where a standard error is unknown."""
    scored = sorted(
        ((member["score"], member["margin"]) for member in members if member["score"] is not None),
        key=lambda pair: -pair[0],
    )
    if len(scored) < 2:
        return False
    (best, error), (second, second_error) = scored[:2]
    return error is not None and second_error is not None and best - second < hypot(error, second_error)


def is_flipped(questions: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a judge of a report's group preferred another candidate when the order changed.

    Of each order, it prefers the best candidate by the mean of its answers.
    """
    asked: dict[tuple[int, frozenset[str]], dict[tuple[str, ...], _Votes]] = {}
    for question in questions:
        shown = tuple(name for name in question.get("order") or () if name is not None)
        for judgment in question["judgments"]:
            votes = _votes_of(judgment)
            order = tuple(name for name, _ in votes) if len(votes) == 2 else shown
            orders = asked.setdefault((judgment["slot"], frozenset(order)), {})
            _add(orders.setdefault(order, {}), votes)
    return any(_has_two_favourites(orders.values()) for orders in asked.values())


def is_disputed(questions: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether two judges of a report's group prefer different candidates, each by the mean of its answers."""
    by_judge: dict[int, _Votes] = {}
    for question in questions:
        for judgment in question["judgments"]:
            _add(by_judge.setdefault(judgment["slot"], {}), _votes_of(judgment))
    return _has_two_favourites(by_judge.values())


def _votes_of(judgment: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return what a judgment says of each candidate: a rating of one, or the margin of a pair in favour of each."""
    value, margin = measured_number(judgment.get("value")), measured_number(judgment.get("margin"))
    if value is not None and "item" in judgment:
        return [(str(judgment["item"]), value)]
    if margin is not None and "first" in judgment and "second" in judgment:
        return [(str(judgment["first"]), margin), (str(judgment["second"]), -margin)]
    return []


def _add(votes: _Votes, more: Iterable[tuple[str, float]]) -> None:
    for name, value in more:
        votes.setdefault(name, []).append(value)


def _has_two_favourites(parts: Iterable[_Votes]) -> bool:
    """Whether the best candidates, by mean vote, of two parts that compare candidates have none in common."""
    best = {_best({name: fmean(values) for name, values in part.items()}) for part in parts if len(part) > 1}
    return any(first.isdisjoint(second) for first, second in combinations(best, 2))


def _best(values: Mapping[str, float]) -> frozenset[str]:
    top = max(values.values())
    return frozenset(name for name, value in values.items() if value == top)
