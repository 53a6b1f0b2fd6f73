"""The scale that fields beside a score state: ``max_score``, ``out_of``, ``"scale": "0-10"``, a unit, a percentage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.extract.scores.announced import agreed, announced, settled, told
from calipers.extract.scores.found import (
    UNCLEAR,
    UNCLEAR_VALUE,
    UPSIDE_DOWN,
    UPSIDE_DOWN_VALUE,
    Scale,
    Stated,
    Unread,
    Value,
)
from calipers.extract.scores.names import Names
from calipers.extract.scores.roles import STATING, Role, role_of
from calipers.extract.scores.stated import described, number_of
from calipers.extract.scores.values import PERCENTAGE
from calipers.extract.strictjson import CUT, Pairs

_END = re.compile(r"\s*(\d{1,7}(?:[.,]\d{1,2})?)\s*(?:points?|pts?\.?|分|点|점|punkte|puntos)?\s*", re.IGNORECASE)
_PERCENT = frozenset({"%", "percent", "percentage", "pct", "per cent", "prozent"})
_STATISTICS = frozenset(
    {"mean", "average", "avg", "median", "std", "stdev", "variance", "n", "count", "samples", "sum"}
)
_MAY_BE_STATISTICS = frozenset(
    {"max", "maximum", "min", "minimum", "maxscore", "maximumscore", "scoremax", "maxpoints", "最高分"}
)
_ABOUT = frozenset({"metadata", "meta", "info", "config", "settings", "scoring", "rubric", "details", "criteria_scale"})
_MAX_NOTE = 2_000
_NORMALIZED = frozenset({"normalizedscore", "scorenormalized", "normalisedscore"})
_PARTS = frozenset({3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30})
"""Tops that a total may well be."""


def scale_beside(pairs: Sequence[tuple[str, Any]], roles: Sequence[Role | None]) -> Scale | None:
    """The scale that fields state for the numbers beside them; None where they state none."""
    if STATING.isdisjoint(roles):
        return None
    measured = any(str(key).casefold() in _STATISTICS for key, _ in pairs)
    return agreed(_stated(pairs, roles, measured=measured))


def _stated(pairs: Sequence[tuple[str, Any]], roles: Sequence[Role | None], *, measured: bool) -> Iterator[Scale]:
    fields = [(_plain(key), value, role) for (key, value), role in zip(pairs, roles, strict=True) if role in STATING]
    if measured:  # the smallest and the largest of several measurements
        fields = [field for field in fields if field[0] not in _MAY_BE_STATISTICS]
    low = next((_end(value) for _, value, role in fields if role == "bottom"), None)
    for plain, value, role in fields:
        if value is CUT or getattr(value, "closed", True) is False:
            yield UNCLEAR
        elif role == "top":
            yield from _of_top(value, low, statistic=plain in _MAY_BE_STATISTICS)
        elif role == "unit" and type(value) is str and value.strip().casefold() in _PERCENT:
            yield PERCENTAGE
        elif role == "scale":
            scale = described(_whole(value))
            if scale is not None and not (plain == "range" and _is_interval(scale)):
                yield scale


def _of_top(value: Any, low: float | None, *, statistic: bool) -> Iterator[Scale]:
    high = _end(value)
    if high is not None:
        yield _of_ends(low, high, statistic=statistic)
    elif type(value) is str:
        yield UNCLEAR


def _of_ends(low: float | None, high: float, *, statistic: bool) -> Scale:
    if high <= (low or 0):
        return UNCLEAR
    return Stated(low or 0.0, high, both=low is not None, statistic=statistic)


def _is_interval(scale: Scale) -> bool:
    """Whether a range says how sure a number is, and not where it may lie."""
    return isinstance(scale, Stated) and scale.low not in (0, 1)


def _plain(key: str) -> str:
    return "".join(char for char in str(key).casefold() if char.isalnum())


def _end(value: Any) -> float | None:
    if isinstance(value, int | float) and type(value) is not bool:
        return float(value) if abs(value) <= 1e6 else None
    found = _END.fullmatch(value) if type(value) is str else None
    return None if found is None else number_of(found[1])


def _whole(value: Any) -> Any:
    """A mended object or list as a plain one; anything else as it is."""
    if isinstance(value, Pairs):
        return {key: inner for key, inner in value if type(key) is str}
    return list(value) if isinstance(value, list) else value


def on_scale_of_row(
    read: Value, pairs: Sequence[tuple[str, Any]], roles: Sequence[Role | None], asked: tuple[float, float]
) -> Value | Unread:
    """A row's score in units of the scale asked for, by what the row's other fields say of it."""
    scale = scale_beside(pairs, roles)
    if scale == UPSIDE_DOWN:
        return UPSIDE_DOWN_VALUE
    differs = isinstance(scale, Stated) and read.stated is not None and not read.stated.agrees(scale)
    if scale == UNCLEAR or differs:
        return UNCLEAR_VALUE
    value = read.on(scale, asked) if isinstance(scale, Stated) and read.stated is None else read
    if "percent" in roles:
        return _as_in_percent(value, pairs, roles, asked)
    bare = value.stated is None
    if bare and (_is_renormalized(value.number, pairs, asked) or _has_larger_total(value.number, pairs, asked)):
        return UNCLEAR_VALUE
    return value


def _as_in_percent(
    value: Value, pairs: Sequence[tuple[str, Any]], roles: Sequence[Role | None], asked: tuple[float, float]
) -> Value | Unread:
    """A score beside a percentage: they agree, or neither is read."""
    percent = percent_of(pairs, roles, asked)
    if percent is None or abs(percent.number - value.number) <= 0.0051 * (asked[1] - asked[0]):  # rounded
        return value
    share = value.raw / value.stated.high * 100 if value.stated is not None and value.raw is not None else None
    if share is not None and percent.raw is not None and abs(share - percent.raw) <= 0.51:
        return value
    return percent if value.stated is None and value.number == percent.raw else UNCLEAR_VALUE


def percent_of(
    pairs: Sequence[tuple[str, Any]], roles: Sequence[Role | None], asked: tuple[float, float]
) -> Value | None:
    """The number of a field such as ``percentage``."""
    for (_, value), role in zip(pairs, roles, strict=True):
        number = _end(value.rstrip(" %") if type(value) is str else value) if role == "percent" else None
        if number is not None:
            return Value(number).on(PERCENTAGE, asked)
    return None


def _is_renormalized(number: float, pairs: Sequence[tuple[str, Any]], asked: tuple[float, float]) -> bool:
    """``{"score": 8, "normalized_score": 0.8}`` where 0 to 100 was asked for: the score is on another scale."""
    shares = [_end(value) for key, value in pairs if _plain(key) in _NORMALIZED]
    return any(
        share is not None and abs(asked[0] + share * (asked[1] - asked[0]) - number) > 0.01 * asked[1]
        for share in shares
    )


def _has_larger_total(number: float, pairs: Sequence[tuple[str, Any]], asked: tuple[float, float]) -> bool:
    """``{"score": 8, "total": 10}``: out of ten, or one part of a sum."""
    totals = [_end(value) for key, value in pairs if _plain(key) == "total"]
    return any(
        total is not None and total != asked[1] and (total > number or (total == number and total in _PARTS))
        for total in totals
    )


def scale_around(
    pairs: Sequence[tuple[str, Any]],
    roles: Sequence[Role | None],
    numbers: Sequence[float],
    names: Names,
    asked: tuple[float, float],
) -> Scale | None:
    """The scale that an object states for the bare ``numbers`` in it: by fields, notes, or among its metadata."""
    scale = told(scale_beside(pairs, roles), numbers)
    if scale is None:
        about = [
            list(_whole(value).items())
            for key, value in pairs
            if _plain(key) in _ABOUT and isinstance(_whole(value), Mapping)
        ]
        scale = agreed(_each(scale_beside(inner, [role_of(key) for key, _ in inner]) for inner in about[:4]))
    notes = [
        value
        for (_, value), role in zip(pairs, roles, strict=True)
        if type(value) is str and len(value) <= _MAX_NOTE and role in ("text", "aside", None)
    ]
    said = [one for note in notes[:8] for one in announced(note, names)]
    if "id" in roles or "weak id" in roles:  # an explanation of one candidate
        said = [replace(one, sure=False) for one in said]
    noted = settled(said, numbers, asked)
    if scale is None or noted is None or noted == scale:
        return scale if noted is None else noted
    return agreed((scale, noted)) if noted != UNCLEAR else UNCLEAR


def _each(scales: Iterable[Scale | None]) -> Iterator[Scale]:
    return (scale for scale in scales if scale is not None)
