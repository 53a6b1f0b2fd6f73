"""Reads what the fields of a JSON row mean, and on which scale the fields say that the row's score is.

The meaning of a field is called its role. The keys with each role are lists in ``words/roles.txt``. Fields such as
``max_score``, ``out_of``, ``"scale": "0-10"``, a unit or a percentage state a scale.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, get_args

from calipers.replies.scores.announced import (
    agreed_scale,
    announced_scales,
    scale_of_bare_numbers,
    unless_largest_score,
)
from calipers.replies.scores.found import (
    OFF_SCALE,
    UNCLEAR,
    UPSIDE_DOWN,
    Scale,
    Score,
    StatedScale,
    Value,
    convert_score,
)
from calipers.replies.scores.names import Names
from calipers.replies.scores.stated import described_scale, parse_number, scale_of_key
from calipers.replies.scores.values import PERCENTAGE
from calipers.replies.strictjson import CUT, Pairs, pairs_of
from calipers.replies.wordlists import list_words

Role: TypeAlias = Literal[
    "score", "loose score", "normalized", "percent", "top", "bottom", "scale", "unit", "id", "weak id", "ids", "text",
    "scores", "wrapper", "final", "aside",
]  # fmt: skip
STATING: Final[frozenset[Role]] = frozenset({"top", "bottom", "scale", "unit"})
"""Roles of fields that state the scale of the numbers beside them."""


def fold_key(key: object) -> str:
    """Return the JSON key of an extracted row without case, blanks and punctuation, as in the list of roles."""
    return "".join(char for char in str(key).casefold() if char.isalnum())


_ROLES: dict[str, Role] = {}
for _role in get_args(Role):
    for _key in list_words("roles", _role):
        _ROLES.setdefault(fold_key(_key), _role)
_FAST: dict[str, Role] = {
    "trajectory_id": "id", "score": "score", "explanation": "text", "scores": "scores", "explanations": "text",
}  # fmt: skip
_OTHERS, _PERCENT, _STATISTICS, _MAY_BE_STATISTICS, _ABOUT = (
    frozenset(list_words("roles", name))
    for name in ("others", "percent units", "statistics", "may be statistics", "about")
)
_BRACKETED = re.compile(r"\([^()]{0,30}\)")
_END = re.compile(r"\s*(\d{1,7}(?:[.,]\d{1,2})?)\s*(?:points?|pts?\.?|分|点|점|punkte|puntos)?\s*", re.IGNORECASE)
_PARTS = frozenset({3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30})
"""Totals that are likely to be the top of a scale."""


def role_of_key(key: Any) -> Role | None:
    """Return the role of a JSON key in an extracted row, such as ``"id"`` or ``"score"``, or None if unknown."""
    if type(key) is not str:
        return None
    known = _FAST.get(key)
    if known is not None or len(key) > 60:
        return known
    plain = key if key.isascii() else unicodedata.normalize("NFKC", key)
    name = fold_key(plain)
    if name not in _ROLES:
        others = (fold_key(scale_of_key(plain)[0]), fold_key(_BRACKETED.sub("", plain)))
        name = next((other for other in others if other in _ROLES), name)
    known = _ROLES.get(name)
    return "aside" if known is None and any(word in name for word in _OTHERS) else known


def is_remark_or_score(key: Any) -> bool:
    """Whether an extracted JSON key means a remark in one language and a score in another, as ``note`` in French."""
    return type(key) is str and fold_key(scale_of_key(key)[0]) in ("note", "notes")


class Row:
    """The fields of one JSON object with a score as (key, value, role), and the set of their roles."""

    __slots__ = ("fields", "roles")

    def __init__(self, fields: Iterable[tuple[Any, Any, Role | None]]) -> None:
        self.fields = list(fields)
        self.roles = {role for _, _, role in self.fields}

    @classmethod
    def of(cls, pairs: Iterable[tuple[Any, Any]]) -> Row:
        """Extract a row of scores from an object's (key, value) pairs."""
        return cls((key, value, role_of_key(key)) for key, value in pairs if key is not None)

    def values(self, *roles: Role) -> list[Any]:
        """Extract the values of the fields in a row of scores that have one of the given roles."""
        return [value for _, value, role in self.fields if role in roles]


def scale_of_row(row: Row) -> Scale | None:
    """Extract the scale that the fields of a row state for its score, or None."""
    return None if STATING.isdisjoint(row.roles) else agreed_scale(_stated(row))


def _stated(row: Row) -> Iterator[Scale | None]:
    measured = any(str(key).casefold() in _STATISTICS for key, _, _ in row.fields)
    fields = [(fold_key(key), value, role) for key, value, role in row.fields if role in STATING]
    if measured:  # beside statistics such as a mean, min and max are the extremes of several measurements
        fields = [field for field in fields if field[0] not in _MAY_BE_STATISTICS]
    low = next((_end(value) for _, value, role in fields if role == "bottom"), None)
    for key, value, role in fields:
        if value is CUT or getattr(value, "closed", True) is False:
            yield UNCLEAR
        elif role == "top":
            high = _end(value)
            if high is not None and high > (low or 0):
                yield StatedScale(low or 0.0, high, both=low is not None, statistic=key in _MAY_BE_STATISTICS)
            elif high is not None or type(value) is str:
                yield UNCLEAR
        elif role == "unit" and type(value) is str and value.strip().casefold() in _PERCENT:
            yield PERCENTAGE
        elif role == "scale":
            scale = described_scale(_whole(value))
            # A range from 75 says how sure the score is, and is no scale.
            yield None if key == "range" and isinstance(scale, StatedScale) and scale.low not in (0, 1) else scale


def _end(value: Any) -> float | None:
    if isinstance(value, int | float) and type(value) is not bool:
        return float(value) if abs(value) <= 1e6 else None
    found = _END.fullmatch(value) if type(value) is str else None
    return None if found is None else parse_number(found[1])


def _whole(value: Any) -> Any:
    """Return a dict or list that was repaired as a plain dict or list, and any other value unchanged."""
    if isinstance(value, Pairs):
        return {key: inner for key, inner in value if type(key) is str}
    return list(value) if isinstance(value, list) else value


def score_on_row_scale(read: Value, row: Row, asked: tuple[float, float]) -> Score:
    """Convert a row's extracted score to the scale asked for, according to the row's other fields."""
    scale = scale_of_row(row)
    if scale == UPSIDE_DOWN:
        return OFF_SCALE[UPSIDE_DOWN]
    differs = isinstance(scale, StatedScale) and read.stated is not None and not read.stated.agrees(scale)
    value = OFF_SCALE[UNCLEAR] if differs or scale == UNCLEAR else convert_score(read, scale, asked)
    if type(value) is not Value:
        return value
    if "percent" in row.roles:
        return _as_in_percent(value, row, asked)
    bare = value.stated is None
    if bare and (_is_renormalized(value.number, row, asked) or _has_larger_total(value.number, row, asked)):
        return OFF_SCALE[UNCLEAR]
    return value


def _as_in_percent(value: Value, row: Row, asked: tuple[float, float]) -> Score:
    """Return a score if it agrees with the percentage in its row, or the reason why it is not read."""
    percent = percent_of_row(row, asked)
    if type(percent) is not Value or abs(percent.number - value.number) <= 0.0051 * (
        asked[1] - asked[0]
    ):  # the percentage may be rounded
        return value
    share = value.raw / value.stated.high * 100 if value.stated is not None and value.raw is not None else None
    if share is not None and percent.raw is not None and abs(share - percent.raw) <= 0.51:
        return value
    return percent if value.stated is None and value.number == percent.raw else OFF_SCALE[UNCLEAR]


def percent_of_row(row: Row, asked: tuple[float, float]) -> Score | None:
    """Extract the score that a row gives as a percentage, converted to the scale asked for, or None."""
    ends = (_end(value.rstrip(" %") if type(value) is str else value) for value in row.values("percent"))
    number = next((end for end in ends if end is not None), None)
    return None if number is None else convert_score(Value(number), PERCENTAGE, asked)


def _is_renormalized(number: float, row: Row, asked: tuple[float, float]) -> bool:
    """Whether the normalised score in a row shows that the score itself is on another scale than the one asked for.

    An example is ``"score": 8, "normalized_score": 0.8``.
    """
    shares = [share for value in row.values("normalized") if (share := _end(value)) is not None]
    return any(abs(asked[0] + share * (asked[1] - asked[0]) - number) > 0.01 * asked[1] for share in shares)


def _has_larger_total(number: float, row: Row, asked: tuple[float, float]) -> bool:
    """Whether a row has a total of which the score may be a part: ``{"score": 8, "total": 10}``."""
    totals = [_end(value) for key, value, _ in row.fields if fold_key(key) == "total"]
    return any(
        total is not None and total != asked[1] and (total > number or (total == number and total in _PARTS))
        for total in totals
    )


def scale_of_object(row: Row, numbers: Sequence[float], names: Names, asked: tuple[float, float]) -> Scale | None:
    """Extract the scale that an object's fields, notes or metadata state for the scores in the object, or None."""
    scale = unless_largest_score(scale_of_row(row), numbers)
    if scale is None:
        about = [
            value for key, value, _ in row.fields if fold_key(key) in _ABOUT and isinstance(_whole(value), Mapping)
        ]
        scale = agreed_scale(scale_of_row(Row.of(pairs_of(value))) for value in about)
    notes = [value for _, value, role in row.fields if type(value) is str and role in ("text", "aside", None)]
    said = announced_scales("\n".join(notes), names)
    if not row.roles.isdisjoint(
        {"id", "weak id"}
    ):  # the note explains one candidate's score, so other scores may be on another scale
        said = [replace(one, sure=False) for one in said]
    noted = scale_of_bare_numbers(said, numbers, asked)
    if noted is None or scale is None:
        return scale if noted is None else noted
    return agreed_scale((scale, noted)) if noted != UNCLEAR else UNCLEAR
