"""Checks whether the scores of one verdict lie on the scale asked for, and applies the out-of-range rule.

Scores are checked together: 7, 10 and 15 clamped separately to 1 would be a three-way tie. Even a number that fits the
scale asked for is not read in three cases:

- other candidates have scores on a smaller scale ("9/10", and then a bare 6)
- its explanation gives the number with another top ("a solid 8/10", and then 8)
- the text is cut off where it may have stated a scale
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import islice
from typing import Literal, TypeAlias

from calipers.replies.rejected import Rejected
from calipers.replies.scores.found import OFF_SCALE, UNCLEAR, Found, StatedScale, Unread, Value

OutOfRange: TypeAlias = Literal["reask", "rescale", "rank", "clamp"]

DUST = 1e-6
"""The distance from a bound of the scale within which a float counts as equal to the bound."""
USUAL_SCALES = (1.0, 5.0, 10.0, 100.0)
"""The tops of the scales from 0 that judges use when they ignore the scale asked for."""


def scores_on_scale(
    values: Mapping[str, Value], scale: tuple[float, float], rule: OutOfRange, *, complete: bool
) -> tuple[dict[str, float], OutOfRange | None]:
    """Return extracted scores on ``scale``, and the out-of-range ``rule`` if it was applied.

    Raises Rejected if the scale of the numbers is unclear.
    """
    low, high = scale
    scores = {id_: _dusted(value.number, low, high) for id_, value in values.items()}
    off = next((number for number in scores.values() if not low <= number <= high), None)
    adjusted = None
    if off is not None or _fractions(values, low, high):
        adjusted = _adjusted(values, scores, scale, rule, complete=complete)
        if adjusted is None:
            why = f"fractions where {low:g} to {high:g} was asked for"
            why = why if off is None else f"{off:g} is not between {low:g} and {high:g}"
            raise Rejected(f"off-scale: {why}", doubt=True)
    _check_stated(values)
    return (scores, None) if adjusted is None else (adjusted, rule)


def _dusted(number: float, low: float, high: float) -> float:
    return float(low) if abs(number - low) <= DUST else float(high) if abs(number - high) <= DUST else number


def _fractions(values: Mapping[str, Value], low: float, high: float) -> bool:
    """Whether scores look like fractions although the scale reaches 10 or more.

    They do if all are at most 1 and one is a fraction, or if one is a fraction among whole numbers far above 1.
    """
    if low < 0 or high < 10:
        return False
    numbers = [value.number for value in values.values() if value.stated is None]
    if not any(0 < number < 1 for number in numbers):
        return False
    rest = [number for number in numbers if number > 1]
    return not rest or (all(number.is_integer() for number in rest) and max(rest) >= high / 10)


def are_fractions(numbers: list[float], high: float) -> bool:
    """Whether all extracted scores are at most 1, with a fraction among them, on a scale to 10 or more."""
    return high >= 10 and any(0 < number < 1 for number in numbers) and max(numbers) <= 1


def _check_stated(values: Mapping[str, Value]) -> None:
    """Raise Rejected if scores cannot be on the scale that the reply states: fractions on a scale to 10 or more."""
    raw: dict[StatedScale, list[float]] = {}
    for value in values.values():
        if value.raw is not None and value.stated is not None:
            raw.setdefault(value.stated, []).append(value.raw)
    for stated, numbers in raw.items():
        if are_fractions(numbers, stated.high):
            why = f"off-scale: fractions where the reply states {stated.low:g} to {stated.high:g}"
            raise Rejected(why, doubt=True)


def _adjusted(
    values: Mapping[str, Value],
    scores: dict[str, float],
    scale: tuple[float, float],
    rule: OutOfRange,
    *,
    complete: bool,
) -> dict[str, float] | None:
    low, high = scale
    match rule:
        case "clamp":
            return {id_: min(max(number, low), high) for id_, number in scores.items()}
        case "rank":
            return _ranked(scores, low, high) if complete and len(scores) > 1 else None
        case "rescale":
            return _rescaled(values, low, high)
        case _:
            return None


def _ranked(scores: dict[str, float], low: float, high: float) -> dict[str, float]:
    """Replace scores by their ranks, evenly spread over the scale; equal scores share the mean of their ranks."""
    ordered = sorted(scores.values())
    ranks = {number: (bisect_left(ordered, number) + bisect_right(ordered, number) - 1) / 2 for number in set(ordered)}
    return {id_: low + (high - low) * ranks[number] / (len(ordered) - 1) for id_, number in scores.items()}


def _rescaled(values: Mapping[str, Value], low: float, high: float) -> dict[str, float] | None:
    """Convert scores from the only usual scale that fits: all lie on it, and the largest exceeds a tenth of its top."""
    numbers = [value.number for value in values.values()]
    largest = max(numbers)
    fractions = any(0 < number < 1 for number in numbers)
    fitting = [1.0] if fractions and largest <= 1 else [top for top in USUAL_SCALES if top / 10 < largest <= top]
    stated = any(value.stated is not None for value in values.values())
    if stated or min(numbers) < 0 or len(fitting) != 1 or fitting[0] == high or (fitting[0] > 1 and fractions):
        return None
    return {id_: low + value.number / fitting[0] * (high - low) for id_, value in values.items()}


# --- scores that may be on another scale --- --------------------------------------------------------------------------

_NUMBER = re.compile(r"(?<![\w.,/])\d{1,3}(?:\.\d{1,2})?(?=\s?/|\s(?:points?\s)?(?:out\sof|von|sur|из)\b|点|分|점)")
_MARKS = ("/", "out of", " von ", " sur ", " из ", "满分", "点満点", "점 만점")
_MOST_EXPLAINED = 20
_OTHER_TOPS = (5.0, 10.0, 20.0, 100.0)
_UNFINISHED = Unread("the reply ends where its scale may have been stated", cut=True)


def mark_unclear_scores(found: Found, asked: tuple[float, float], text: str, *, cut: bool) -> None:
    """Mark extracted bare scores as unread if the rest of the reply suggests another scale than the one asked for.

    ``cut``: the reply was cut off, and its end may have stated a scale.
    """
    if "/" in text or "out of" in text or not text.isascii():
        _leave_explained(found, asked)
    if not found.plain:
        _leave_mixed(found, asked)
    if cut:
        _leave_unfinished(found, asked)


def _leave_unfinished(found: Found, asked: tuple[float, float]) -> None:
    """Mark bare scores as unread if the missing end of the reply may have stated another scale."""
    numbers = found.bare_numbers()
    fractions = any(0 < number < 1 for number in numbers)
    if not fractions and any(StatedScale(0.0, top).changes(numbers, asked) for top in _OTHER_TOPS):
        bare = {id_ for id_, value in found.values.items() if type(value) is Value and value.stated is None}
        found.values.update(dict.fromkeys(bare, _UNFINISHED))


def _leave_explained(found: Found, asked: tuple[float, float]) -> None:
    """Mark bare scores as unread if their explanations repeat them with another top of the scale."""
    low, high = asked
    half = high / 2 if high >= 5 else low  # fractions cannot be on a smaller scale
    for id_, text in found.explanations.items():
        value = found.values.get(id_)
        small = type(value) is Value and value.stated is None and low < value.number <= half
        if type(value) is Value and small and _is_explained(value.number, text, asked):
            found.values[id_] = OFF_SCALE[UNCLEAR]


def _leave_mixed(found: Found, asked: tuple[float, float]) -> None:
    """Mark bare scores as unread if other scores of the reply have a stated scale on which they would lie."""
    stated = {value.stated for value in found.values.values() if type(value) is Value and value.stated is not None}
    others = [scale for scale in stated if scale.convert_number(asked[1], asked) != asked[1]]
    for id_, value in found.values.items():
        if others and type(value) is Value and value.stated is None and _may_be_on(value.number, others, asked):
            found.values[id_] = OFF_SCALE[UNCLEAR]


def _may_be_on(number: float, scales: list[StatedScale], asked: tuple[float, float]) -> bool:
    """Whether a score lies on one of the scales and would change its value there."""
    if asked[1] <= 1 and number <= 1:
        return False
    return any(scale.changes([number], asked) for scale in scales if not (0 < number < 1 and scale.high >= 10))


def _is_explained(number: float, text: str, asked: tuple[float, float]) -> bool:
    """Whether an explanation repeats the score with another top of the scale."""
    if f"{number:g}" not in text or not any(mark in text for mark in _MARKS):
        return False
    from calipers.replies.scores.stated import attached_scale  # noqa: PLC0415 - slow to import, and hardly ever needed

    for match in islice(_NUMBER.finditer(text), _MOST_EXPLAINED):
        beside = attached_scale(text[match.start() : match.start() + 60]) if float(match[0]) == number else None
        if beside is None:
            continue
        _, scale, end = beside
        counted = re.match(r"\s[a-z]{3,}", text[match.start() + end :])
        if counted is None and abs(scale.convert_number(number, asked) - number) > 1e-9:
            return True
    return False
