"""Reads one row of a verdict: the candidate that it names and its score. ``verdicts`` reads the shapes around rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from calipers.replies.scores.fields import (
    STATING,
    Row,
    is_remark_or_score,
    percent_of_row,
    role_of_key,
    scale_of_object,
    scale_of_row,
    score_on_row_scale,
)
from calipers.replies.scores.found import Found, Scale, Score, StatedScale, Unread, Value, convert_score
from calipers.replies.scores.names import Names
from calipers.replies.scores.stated import scale_of_key
from calipers.replies.scores.values import read_score_value
from calipers.replies.strictjson import Pairs, pairs_of
from calipers.replies.wordlists import list_words

_LATER = tuple(list_words("roles", "later"))
_SUMMARY = frozenset(list_words("roles", "summary"))
MAX_ROWS = 4_000
_BEARING = STATING | {"loose score", "percent", "normalized"}
"""Roles of fields that may state the scale of the score in the same row."""
_PLACEHOLDER = re.compile(
    r"<.{0,60}>|\{.{0,60}\}|\.{2,}|…|string|str|int|integer|number"
    r"|(?:trajectory|candidate)?[ _-]?(?:id|key|name)|[xn]|id\d?|\$\w{0,20}",
    re.IGNORECASE,
)
_NO_NUMBER = Unread("the score is not a number")
_TWO = Unread("two different scores in one row")


class RowReader:
    """Reads rows of scores for one set of candidates."""

    def __init__(self, ids: Sequence[str], scale: tuple[float, float]) -> None:
        self.names = Names(ids)
        self.scale = scale

    def take_rows(self, rows: list[Row], found: Found) -> bool:
        """Extract the scores of rows with an id field into ``found``; return False if no row had a score."""
        taken = False
        for row in rows:
            read = self.score_of(row)
            known, stranger = self._ids_of(row)
            if not known and stranger is None:
                if type(read) is Value and len(rows) > 1:
                    found.doubts.append("a score without an id")
                continue
            taken = taken or read is not None
            if read is None:
                found.scoreless.update(known)
                read = Unread("no score", empty=True)
            if len(known) > 1:
                found.doubts.append("a row that names two ids")
            elif not known:
                self.doubt_unknown(str(stranger), read, found)
            else:
                found.add(known[0], read)
                found.weak |= "id" not in row.roles
                found.explain(known[0], next((text for text in row.values("text") if type(text) is str), None))
            if read == _TWO:
                found.doubts.append(_TWO.reason)
        return taken

    def doubt_unknown(self, name: str, read: Score, found: Found) -> None:
        """Record a doubt if an extracted row scores an unknown id, and count the id if it is a placeholder."""
        if type(read) is not Value or name.strip(" *_:.").casefold() in _SUMMARY:
            return
        found.placeholders += is_placeholder(name)
        found.doubts.append(f"an unknown id: {name[:40]!r}")

    def _ids_of(self, row: Row) -> tuple[list[str], object]:
        """Return the known ids that a row's id fields name, and the first name in these fields, known or not."""
        for wanted in ("id", "weak id"):
            written = [_inner_id(value) for value in row.values(wanted)]
            known = dict.fromkeys(id_ for id_ in map(self.names.match, written) if id_ is not None)
            scalars = [value for value in written if isinstance(value, str | int | float) and type(value) is not bool]
            if known or scalars:
                return list(known), scalars[0] if scalars else None
        return [], None

    def score_of(self, row: Row) -> Score | None:
        """Extract a row's score on the scale asked for, or None if the row has no field for a score."""
        read = self._written(row)
        if read is None and "percent" in row.roles:
            return percent_of_row(row, self.scale)
        return (
            read
            if type(read) is not Value or _BEARING.isdisjoint(row.roles)
            else score_on_row_scale(read, row, self.scale)
        )

    def _written(self, row: Row) -> Score | None:
        for strict in (True, False):
            reads = [
                self.read_field(key, value)
                for key, value, role in row.fields
                if role == ("score" if strict else "loose score")
                or (strict and role in ("scores", "final") and not isinstance(value, list | dict))
            ]
            if reads:
                numbers = {read.number for read in reads if type(read) is Value}
                if len(numbers) > 1 or (numbers and self._is_revised(row, numbers)):
                    return _TWO
                return next((read for read in reads if type(read) is Value), reads[0])
        marks = [
            self.read_field(key, value)
            for key, value, _ in row.fields
            if "text" in row.roles and is_remark_or_score(key)
        ]
        return next((read for read in marks if type(read) is Value), None)

    def _is_revised(self, row: Row, numbers: set[float]) -> bool:
        """Whether a field beside the score gives a different, later score: ``"final": 70``, ``"new_score": 70``."""
        later = (
            self.read_field(key, value)
            for key, value, role in row.fields
            if role in ("loose score", None) and str(key).casefold().startswith(_LATER)
        )
        return any(type(read) is Value and read.number not in numbers for read in later)

    def read_field(self, key: str, value: Any) -> Score:
        """Extract a score from its field. A value that is a whole row is another candidate's row that lost its
        brackets, and no score.
        """
        stated = scale_of_key(key)[1]
        if stated is None and {"score", "text"} <= Row.of(pairs_of(value)).roles:
            return _NO_NUMBER
        return convert_score(self.value_of(value), stated, self.scale)

    def value_of(self, value: Any) -> Score:
        """Extract a score, or the score one level down in an object: ``{"value": 0.9, "confidence": 0.5}``."""
        if not isinstance(value, dict | Pairs):
            return read_score_value(value, self.scale)
        row = Row((key, inner, role_of_key(key)) for key, inner in pairs_of(value))
        if any(role is None and "score" in Row.of(pairs_of(inner)).roles for _, inner, role in row.fields):
            return _NO_NUMBER  # several rows whose brackets were lost
        return self.score_of(row) or _NO_NUMBER

    def rescale(self, row: Row, found: Found) -> None:
        """Convert the extracted bare scores in ``found`` if the object around them states a scale."""
        numbers = found.bare_numbers()
        if not numbers:
            return
        for key, top in (pair for tops in row.values("top") for pair in pairs_of(tops)):  # {"max_scores": {"1": 10}}
            id_, scale = self.names.match(key), scale_of_row(Row([("out_of", top, "top")]))
            if id_ in found.values and isinstance(scale, StatedScale):
                found.values[id_] = convert_score(found.values[id_], scale, self.scale)
        found.apply_scale(scale_of_object(row, numbers, self.names, self.scale), self.scale)

    def scale_of(self, node: Any) -> Scale | None:
        """Extract the scale that an object without scores states."""
        pairs = pairs_of(node)
        return scale_of_row(Row.of(pairs)) if len(pairs) <= MAX_ROWS else None


def rows_of_object(pairs: Iterable[tuple[Any, Any]]) -> list[Row]:
    """Extract an object's fields as rows of scores.

    A key that occurs again begins another row: the judge left out the brackets between the rows.
    """
    rows: list[dict[Any, Any]] = [{}]
    for key, value in pairs:
        if key in rows[-1]:
            rows.append({})
        rows[-1][key] = value
    return [Row.of(row.items()) for row in rows]


def is_placeholder(name: str) -> bool:
    """Whether an extracted candidate's id is a template's placeholder: ``<id>``, ``...``, ``string``."""
    return _PLACEHOLDER.fullmatch(name.strip()) is not None


def _inner_id(value: Any) -> Any:
    if isinstance(value, dict | Pairs):
        return next((inner for key, inner in pairs_of(value) if role_of_key(key) == "id"), None)
    return value
