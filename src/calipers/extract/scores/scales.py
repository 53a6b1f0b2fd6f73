"""Whether the numbers of one verdict lie on the scale asked for, and what becomes of them when they do not.

Numbers are judged together: 7, 10 and 15 clamped one by one to 1 would be a three-way tie. A number that looks as asked for
is left unread, and asked again, where the rest of the reply shows that it may be on another scale: other candidates got
theirs on a smaller one ("9/10", and then a bare 6), its explanation gives it with a top of its own ("a solid 8/10", and
then 8), or the text is cut where it may have gone on to say so.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import islice
from typing import Literal, TypeAlias

from calipers.extract.rejected import Rejected
from calipers.extract.scores.found import OFF_SCALE, UNCLEAR, Found, Stated, Unread, Value

OutOfRange: TypeAlias = Literal["reask", "rescale", "rank", "clamp"]

DUST = 1e-6
"""Floats this close to a bound are the bound."""
USUAL_SCALES = (1.0, 5.0, 10.0, 100.0)
"""Upper ends of the scales, from 0, that judges fall back to."""


def on_scale(
    values: Mapping[str, Value], scale: tuple[float, float], rule: OutOfRange, *, complete: bool
) -> tuple[dict[str, float], OutOfRange | None]:
    """Scores on ``scale``, and the ``rule`` when it was needed. Raises Rejected where the scale of numbers is not clear."""
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
    """On a wide scale: all at most 1 with a fraction among them, or one fraction among whole numbers far above it."""
    if low < 0 or high < 10:
        return False
    numbers = [value.number for value in values.values() if value.stated is None]
    if not any(0 < number < 1 for number in numbers):
        return False
    rest = [number for number in numbers if number > 1]
    return not rest or (all(number.is_integer() for number in rest) and max(rest) >= high / 10)


def fractional(numbers: list[float], high: float) -> bool:
    """Whether the numbers are fractions where a scale goes to 10 or more."""
    return high >= 10 and any(0 < number < 1 for number in numbers) and max(numbers) <= 1


def _check_stated(values: Mapping[str, Value]) -> None:
    """Raise Rejected where numbers cannot be on the scale that the reply states for them: fractions of 10 or more."""
    raw: dict[Stated, list[float]] = {}
    for value in values.values():
        if value.raw is not None and value.stated is not None:
            raw.setdefault(value.stated, []).append(value.raw)
    for stated, numbers in raw.items():
        if fractional(numbers, stated.high):
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
    """Ranks, spread evenly over the scale; equal numbers share the mean of their ranks."""
    ordered = sorted(scores.values())
    ranks = {number: (bisect_left(ordered, number) + bisect_right(ordered, number) - 1) / 2 for number in set(ordered)}
    return {id_: low + (high - low) * ranks[number] / (len(ordered) - 1) for id_, number in scores.items()}


def _rescaled(values: Mapping[str, Value], low: float, high: float) -> dict[str, float] | None:
    """From the one usual scale that fits: all numbers lie on it and the largest uses more than a tenth of it."""
    numbers = [value.number for value in values.values()]
    largest = max(numbers)
    fractions = any(0 < number < 1 for number in numbers)
    fitting = [1.0] if fractions and largest <= 1 else [top for top in USUAL_SCALES if top / 10 < largest <= top]
    stated = any(value.stated is not None for value in values.values())
    if stated or min(numbers) < 0 or len(fitting) != 1 or fitting[0] == high or (fitting[0] > 1 and fractions):
        return None
    return {id_: low + value.number / fitting[0] * (high - low) for id_, value in values.items()}


# --- numbers that the rest of the reply may put on another scale ------------------------------------------------------

_NUMBER = re.compile(r"(?<![\w.,/])\d{1,3}(?:\.\d{1,2})?(?=\s?/|\s(?:points?\s)?(?:out\sof|von|sur|из)\b|点|分|점)")
_MARKS = ("/", "out of", " von ", " sur ", " из ", "满分", "点満点", "점 만점")
_MOST_EXPLAINED = 20
_OTHER_TOPS = (5.0, 10.0, 20.0, 100.0)
_UNFINISHED = Unread("the reply ends where its scale may have been stated", cut=True)


def leave_unclear(found: Found, asked: tuple[float, float], text: str, *, cut: bool) -> None:
    """Leave bare numbers unread that other parts of ``text``, the reply, may put on another scale than the one asked for.

    ``cut``: its end may have stated one.
    """
    if "/" in text or "out of" in text or not text.isascii():
        _leave_explained(found, asked)
    if not found.plain:
        _leave_mixed(found, asked)
    if cut:
        _leave_unfinished(found, asked)


def _leave_unfinished(found: Found, asked: tuple[float, float]) -> None:
    """Leave bare numbers unread for which the end of the text may have stated another scale."""
    numbers = found.bare()
    fractions = any(0 < number < 1 for number in numbers)
    if not fractions and any(Stated(0.0, top).changes(numbers, asked) for top in _OTHER_TOPS):
        bare = {id_ for id_, value in found.values.items() if type(value) is Value and value.stated is None}
        found.values.update(dict.fromkeys(bare, _UNFINISHED))


def _leave_explained(found: Found, asked: tuple[float, float]) -> None:
    """Leave bare numbers unread whose explanations give them with a top of their own."""
    low, high = asked
    half = high / 2 if high >= 5 else low  # fractions are on no smaller scale
    for id_, text in found.explanations.items():
        value = found.values.get(id_)
        small = type(value) is Value and value.stated is None and low < value.number <= half
        if type(value) is Value and small and _is_explained(value.number, text, asked):
            found.values[id_] = OFF_SCALE[UNCLEAR]


def _leave_mixed(found: Found, asked: tuple[float, float]) -> None:
    """Leave bare numbers unread that lie on a scale which others have."""
    stated = {value.stated for value in found.values.values() if type(value) is Value and value.stated is not None}
    others = [scale for scale in stated if scale.of(asked[1], asked) != asked[1]]
    for id_, value in found.values.items():
        if others and type(value) is Value and value.stated is None and _may_be_on(value.number, others, asked):
            found.values[id_] = OFF_SCALE[UNCLEAR]


def _may_be_on(number: float, scales: list[Stated], asked: tuple[float, float]) -> bool:
    """Whether a number lies on one of the scales, and would mean another thing there."""
    if asked[1] <= 1 and number <= 1:
        return False
    return any(scale.changes([number], asked) for scale in scales if not (0 < number < 1 and scale.high >= 10))


def _is_explained(number: float, text: str, asked: tuple[float, float]) -> bool:
    """Whether an explanation gives the same number out of another top."""
    if f"{number:g}" not in text or not any(mark in text for mark in _MARKS):
        return False
    from calipers.extract.scores.stated import attached  # noqa: PLC0415 - slow to import, and hardly ever needed

    for match in islice(_NUMBER.finditer(text), _MOST_EXPLAINED):
        beside = attached(text[match.start() : match.start() + 60]) if float(match[0]) == number else None
        if beside is None:
            continue
        _, scale, end = beside
        counted = re.match(r"\s[a-z]{3,}", text[match.start() + end :])
        if counted is None and abs(scale.of(number, asked) - number) > 1e-9:
            return True
    return False
