"""What is remarkable about a judged group, in words that the page filters by.

Every flag is decided from the result and the recorded questions alone. docs/report.md explains them to users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import hypot, sqrt
from typing import Any, Final, TypeAlias

from calipers.report.cascades import ESCALATED
from calipers.study.intervals import t_quantile
from calipers.types.encoding import measured_number

REASKED: Final = frozenset(("missing", "doubt", "truncated", "window", "substitute", "canary"))
"""Causes of questions that repeat an earlier one because something went wrong."""
_Z95: Final = 1.959964
"""The 97.5 % quantile of the normal distribution: half the width of a 95 % interval in standard errors."""

_MOST_COMPARED: Final = 16
"""Candidates of a group whose margins tell a judge's noise: more would tell hardly more, and there are many pairs."""
_FEWEST: Final = 3
"""Answers that tell the noise of a judge; of fewer, any change of what it prefers counts."""

_Rated: TypeAlias = tuple[Mapping[str, float], Mapping[str, int]]
"""An answer's values by candidate, and the positions at which it was shown them."""
_Pair: TypeAlias = tuple[str, str]
_Margin: TypeAlias = tuple[bool | None, float]
"""Whether the first of a pair was shown first (None: not known), and by how much it was preferred."""


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
        "against-gold": any(one.get("wrong_sign") for one in members),
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
    order, by more than the 95 % error of its answers.

    The error is known where a judge compared two candidates in three answers or more. Any change counts elsewhere.
    """
    lists: dict[tuple[int, frozenset[str]], list[_Rated]] = {}
    pairs: dict[int, dict[_Pair, list[_Margin]]] = {}
    for question in questions:
        places = {name: at for at, name in enumerate(question.get("order") or ()) if name is not None}
        for slot, values in ratings_of(question["judgments"]).items():
            if len(values) > 1:
                lists.setdefault((slot, frozenset(values)), []).append((values, places))
        for one in question["judgments"]:
            margin = measured_number(one.get("margin"))
            if margin is not None and "first" in one and "second" in one:
                first, second = str(one["first"]), str(one["second"])
                pair, sign = ((first, second), 1) if first < second else ((second, first), -1)
                pairs.setdefault(one["slot"], {}).setdefault(pair, []).append((sign > 0, sign * margin))
    return any(_are_flipped(found) for found in pairs.values()) or any(_is_flipped(found) for found in lists.values())


def _is_flipped(answers: Sequence[_Rated]) -> bool:
    """Whether answers that rate the same candidates prefer different ones, because of their order."""
    tops = [_best(values) for values, _ in answers]
    if not _have_disjoint(tops):
        return False
    if len(answers) < _FEWEST:
        return True
    rivals = sorted(frozenset().union(*tops))
    names = [*rivals, *sorted(answers[0][0].keys() - frozenset(rivals))][:_MOST_COMPARED]
    margins = {
        pair: [(_is_first(pair, places), values[pair[0]] - values[pair[1]]) for values, places in answers]
        for pair in combinations(names, 2)
    }
    preferred = [
        pair for pair in margins if any(pair[0] in top for top in tops) and any(pair[1] in top for top in tops)
    ]
    return _are_flipped(margins, preferred)


def _are_flipped(margins: Mapping[_Pair, Sequence[_Margin]], among: Iterable[_Pair] | None = None) -> bool:
    """Whether the order decides which candidate of a pair (``among`` these) is preferred: the mean margin with one of
    them shown first has another sign than with the other first, and differs from it by more than its 95 % error.

    The variance of a margin is that within the two halves of its answers, pooled over all pairs.
    """
    chosen = [margins[pair] for pair in (margins if among is None else among)]
    changed = [one for one in chosen if min(margin for _, margin in one) < 0 < max(margin for _, margin in one)]
    halves = [_halves(one) for one in margins.values()]
    parts = [half for both in halves if both is not None for half in both if half]
    freedom = sum(len(half) - 1 for half in parts)
    if None in halves or not freedom:
        return bool(changed)
    means = [_mean(half) for half in parts]
    variance = sum((one - mean) ** 2 for half, mean in zip(parts, means, strict=True) for one in half) / freedom
    level = t_quantile(0.975, freedom)
    return any(_is_beyond(_halves(one) or ([], []), level * sqrt(variance)) for one in changed)


def _halves(margins: Sequence[_Margin]) -> tuple[list[float], list[float]] | None:
    """Return the margins with the first of the pair shown first, and the others; None if an order is not known."""
    if any(first is None for first, _ in margins):
        return None
    return [margin for first, margin in margins if first], [margin for first, margin in margins if not first]


def _is_beyond(halves: tuple[list[float], list[float]], error: float) -> bool:
    one, other = halves
    if not one or not other or _mean(one) * _mean(other) >= 0:
        return False
    return abs(_mean(one) - _mean(other)) > error * sqrt(1 / len(one) + 1 / len(other))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _is_first(pair: _Pair, places: Mapping[str, int]) -> bool | None:
    one, other = (places.get(name) for name in pair)
    return None if one is None or other is None else one < other


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
