"""What is remarkable about a judged group, in words that the page filters by.

Every flag is decided from the result and the recorded questions alone. docs/report.md explains them to users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import hypot, sqrt
from typing import Any, Final, TypeAlias

from calipers.study.intervals import t_quantile
from calipers.types.encoding import measured_number

_Z95: Final = 1.959964
"""The 97.5 % quantile of the normal distribution: half the width of a 95 % interval in standard errors."""
_MOST_COMPARED: Final = 16
"""Candidates whose margins tell a judge's noise: more would tell hardly more, and there are many pairs."""
_Pair: TypeAlias = tuple[str, str]
_Margins: TypeAlias = tuple[list[float], list[float]]
"""By how much the first of a pair was preferred: where it was shown before the second, and where after it."""


def flags_of(detail: Mapping[str, Any]) -> list[str]:
    """Return the flags of a group's report, in the order in which the page lists them."""
    members = detail["trajectories"]
    statuses = {detail["status"], *(one["status"] for one in members)}
    questions = detail["questions"] or ()
    found = {
        "failed": "failed" in statuses,
        "abstained": "abstained" in statuses,
        "injected": any(one["attacks"] for one in members),
        "disputed": is_disputed(questions),
        "flipped": is_flipped(questions),
        "against-gold": any(one.get("wrong_sign") for one in members),
        "close": _is_close(members),
        "tied": _is_tied(members),
        "warned": bool(detail["warnings"]),
    }
    return [name for name, is_so in found.items() if is_so]


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
    """Return whether a judge of a report's group preferred another candidate when the order changed, by more than the
    95 % error of its answers where that is known.

    Of lists, only candidates that an answer rated best count.
    """
    lists: dict[int, list[tuple[Mapping[str, float], Mapping[str, int]]]] = {}
    pairs: dict[int, dict[_Pair, _Margins]] = {}
    for question in questions:
        places = {name: at for at, name in enumerate(question.get("order") or ()) if name is not None}
        for slot, values in _ratings_of(question["judgments"]).items():
            lists.setdefault(slot, []).append((values, places))
        for one in question["judgments"]:
            margin = measured_number(one.get("margin"))
            if margin is not None and "first" in one and "second" in one:
                first, second = str(one["first"]), str(one["second"])
                is_first = first < second
                halves = pairs.setdefault(one["slot"], {}).setdefault(
                    (first, second) if is_first else (second, first), ([], [])
                )
                halves[not is_first].append(margin if is_first else -margin)
    return any(_order_decides(own, own.keys()) for own in pairs.values()) or any(
        map(_order_decides_best, lists.values())
    )


def _order_decides_best(answers: Sequence[tuple[Mapping[str, float], Mapping[str, int]]]) -> bool:
    """Whether the order decides which candidate is best; answers are values by candidate, and where it was shown."""
    best = sorted(frozenset().union(*(_best(values) for values, _ in answers)))
    others = {name for values, _ in answers for name in values} - {*best}
    names = [*best, *sorted(others)][:_MOST_COMPARED]
    margins: dict[_Pair, _Margins] = {pair: ([], []) for pair in combinations(names, 2)}
    for values, places in answers:
        for (one, other), halves in margins.items():
            if {one, other} <= values.keys() & places.keys():
                halves[places[one] > places[other]].append(values[one] - values[other])
    return _order_decides(margins, [pair for pair in margins if {*best}.issuperset(pair)])


def _order_decides(margins: Mapping[_Pair, _Margins], among: Iterable[_Pair]) -> bool:
    """Whether the mean margin of a pair ``among`` these changes its sign with the order, by more than its 95 % error.

    The variance of a margin is that within the two halves of a pair's answers, pooled over all pairs; without repeats
    it is unknown, and any change counts.
    """
    halves = [half for both in margins.values() for half in both if half]
    freedom = sum(len(half) - 1 for half in halves)
    squares = sum((one - _mean(half)) ** 2 for half in halves for one in half)
    for one, other in map(margins.__getitem__, among):
        if not one or not other or _mean(one) * _mean(other) >= 0:
            continue
        if not freedom:
            return True
        error = t_quantile(0.975, freedom) * sqrt(squares / freedom * (1 / len(one) + 1 / len(other)))
        if abs(_mean(one) - _mean(other)) > error:
            return True
    return False


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def is_disputed(questions: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether two judges of a report's group prefer different candidates, each by the mean of its answers."""
    tops = [
        _best({name: _mean(values) for name, values in own.items()})
        for own in values_by_judge(questions).values()
        if len(own) > 1
    ]
    return any(one.isdisjoint(other) for one, other in combinations(set(tops), 2))


def values_by_judge(questions: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, list[float]]]:
    """Return what each judge of a report's group said of each candidate: ratings, and margins in its favour."""
    found: dict[int, dict[str, list[float]]] = {}
    for question in questions:
        for one in question["judgments"]:
            own = found.setdefault(one["slot"], {})
            value, margin = measured_number(one.get("value")), measured_number(one.get("margin"))
            if value is not None and "item" in one:
                own.setdefault(one["item"], []).append(value)
            if margin is not None and "first" in one and "second" in one:
                own.setdefault(one["first"], []).append(margin)
                own.setdefault(one["second"], []).append(-margin)
    return found


def _ratings_of(judgments: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, float]]:
    """Return the rated values of one answer by slot and candidate."""
    found: dict[int, dict[str, float]] = {}
    for one in judgments:
        value = measured_number(one.get("value"))
        if value is not None and "item" in one:
            found.setdefault(one["slot"], {})[str(one["item"])] = value
    return found


def _best(values: Mapping[str, float]) -> frozenset[str]:
    top = max(values.values())
    return frozenset(name for name, value in values.items() if value == top)
