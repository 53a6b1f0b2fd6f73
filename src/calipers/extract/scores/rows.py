"""One row of a verdict: whom it names, and the one score it gives. ``verdicts`` reads the shapes rows stand in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from calipers.extract.scores.fields import on_scale_of_row, percent_of, scale_around, scale_beside
from calipers.extract.scores.found import Found, Scale, Stated, Unread, Value, is_template_text
from calipers.extract.scores.names import Names, is_placeholder
from calipers.extract.scores.roles import STATING, Role, is_mark, role_of
from calipers.extract.scores.stated import of_key
from calipers.extract.scores.values import read_value
from calipers.extract.strictjson import Pairs

Row: TypeAlias = list[tuple[str, Any]]
RoleList: TypeAlias = list[Role | None]

_LATER = ("final", "adjusted", "revised", "corrected", "updated")
MAX_ROWS = 4_000
_BEARING: frozenset[Role] = STATING | {"loose score", "percent", "normalized"}
"""Fields that may say on which scale the score beside them is."""
_SUMMARY = frozenset(
    ["average", "mean", "total", "overall", "sum", "median", "max", "min", "avg", "all", "none", "平均", "总计", "合计"]
)


@dataclass(frozen=True, slots=True)
class _Ids:
    """The ids a row names, or the name of one nobody asked about."""

    known: tuple[str, ...]
    stranger: str = ""


class RowReader:
    """Reads rows for one question."""

    def __init__(self, ids: Sequence[str], scale: tuple[float, float]) -> None:
        self.names = Names(ids)
        self.scale = scale

    def take_rows(self, rows: list[Row], roles: list[RoleList], found: Found) -> bool:
        """Rows with an id field; False when they are none after all."""
        taken = False
        for row, names in zip(rows, roles, strict=True):
            read = self.score_of(row, names)
            ids = self._ids_of(row, names)
            if ids is None and read is None:
                continue
            if ids is None:
                if type(read) is Value and len(rows) > 1:
                    found.doubts.append("a score that names nobody")
                continue
            taken = taken or read is not None
            if read is None:
                found.scoreless.update(ids.known)
            self._take(row, names, ids, read or Unread("no score", empty=True), found)
        return taken

    def _take(self, row: Row, names: RoleList, ids: _Ids, read: Value | Unread, found: Found) -> None:
        if len(ids.known) > 1:
            found.doubts.append("a row that names two ids")
        elif not ids.known:
            self.doubt_unknown(ids.stranger, read, found)
        else:
            found.add(ids.known[0], read)
            found.weak |= "id" not in names
            explain(ids.known[0], row, names, found)
        if type(read) is Unread and read.reason == _TWO:
            found.doubts.append(_TWO)

    def doubt_unknown(self, name: str, read: Value | Unread, found: Found) -> None:
        if type(read) is not Value or name.strip(" *_:.").casefold() in _SUMMARY:
            return
        if is_placeholder(name):
            found.placeholders += 1
        found.doubts.append(f"an unknown id: {name[:40]!r}")

    def _ids_of(self, row: Row, names: RoleList) -> _Ids | None:
        """Whom a row's id fields name; None without such a field."""
        for wanted in ("id", "weak id"):
            written = [_inner_id(value) for (_, value), name in zip(row, names, strict=True) if name == wanted]
            known = dict.fromkeys(id_ for id_ in map(self.names.match, written) if id_ is not None)
            if known:
                return _Ids(tuple(known))
            scalars = [value for value in written if isinstance(value, str | int | float) and type(value) is not bool]
            if scalars:
                return _Ids((), str(scalars[0]))
        return None

    def score_of(self, row: Row, names: RoleList) -> Value | Unread | None:
        """The one score of a row, on the scale that the row states for it; None when it has no field for one."""
        read = self._written(row, names)
        if read is None and "percent" in names:
            return percent_of(row, names, self.scale)
        if type(read) is not Value or _BEARING.isdisjoint(names):
            return read
        return on_scale_of_row(read, row, names, self.scale)

    def _revised(self, row: Row, names: RoleList, numbers: set[float]) -> bool:
        """Whether a field beside the score holds another one that came later: ``"final": 70``, ``"adjusted_score": 70``."""
        later = [
            self._field(key, value)
            for (key, value), name in zip(row, names, strict=True)
            if name in ("loose score", None) and str(key).casefold().startswith(_LATER)
        ]
        return any(type(read) is Value and read.number not in numbers for read in later)

    def _written(self, row: Row, names: RoleList) -> Value | Unread | None:
        for tier in ("score", "loose score"):
            reads = [
                self._field(key, value)
                for (key, value), name in zip(row, names, strict=True)
                if name == tier
                or (tier == "score" and name in ("scores", "final") and not isinstance(value, list | dict))
            ]
            if reads:
                numbers = {read.number for read in reads if type(read) is Value}
                if len(numbers) > 1 or (numbers and self._revised(row, names, numbers)):
                    return Unread(_TWO)
                return next((read for read in reads if type(read) is Value), reads[0])
        marks = [self._field(key, value) for key, value in row if is_mark(key)] if "text" in names else []
        return next((read for read in marks if type(read) is Value), None)

    def _field(self, key: str, value: Any) -> Value | Unread:
        """A score field; a whole row inside it belongs to somebody else, and only brackets were lost."""
        stated = of_key(key)[1]
        if stated is not None:
            read = self.value_of(value)
            return read.on(stated, self.scale) if type(read) is Value and read.stated is None else read
        if isinstance(value, dict | Pairs) and {"score", "text"} <= {role_of(key) for key, _ in pairs_of(value)}:
            return Unread("the score is not a number")
        return self.value_of(value)

    def value_of(self, value: Any) -> Value | Unread:
        """A score, also where it stands one level down: ``{"value": 0.9, "confidence": 0.5}``."""
        if isinstance(value, dict | Pairs):
            named = list(pairs_of(value))
            names = [role_of(key) for key, _ in named]
            if any(name is None and _is_row(inner) for (_, inner), name in zip(named, names, strict=True)):
                return Unread("the score is not a number")  # several rows whose brackets were lost
            return self.score_of(named, names) or Unread("the score is not a number")
        return read_value(value, self.scale)

    # --- scales ---

    def rescale(self, named: list[tuple[str, Any]], found: Found) -> None:
        """Convert what is still bare, where the object around it states a scale."""
        numbers = found.bare()
        if not numbers:
            return
        roles = [role_of(key) for key, _ in named]
        for (_, value), role in zip(named, roles, strict=True):
            if role == "top" and isinstance(value, dict | Pairs):
                self._each_its_top(value, found)
        found.restate(scale_around(named, roles, numbers, self.names, self.scale), self.scale)

    def _each_its_top(self, tops: Any, found: Found) -> None:
        """``{"max_scores": {"1": 10, "2": 100}}``."""
        for key, top in pairs_of(tops):
            id_ = self.names.match(key)
            value = found.values.get(id_) if id_ is not None else None
            scale = scale_beside([("out_of", top)], ["top"])
            if id_ is not None and type(value) is Value and value.stated is None and isinstance(scale, Stated):
                found.values[id_] = value.on(scale, self.scale)

    def scale_of(self, node: Any) -> Scale | None:
        """The scale that an object states which holds no scores."""
        if not isinstance(node, dict | Pairs) or len(node) > MAX_ROWS:
            return None
        row = [(key, value) for key, value in pairs_of(node) if key is not None]
        return scale_beside(row, [role_of(key) for key, _ in row])


def _is_row(node: Any) -> bool:
    return isinstance(node, dict | Pairs) and any(role_of(key) == "score" for key, _ in pairs_of(node))


def explain(id_: str, row: Row, names: RoleList, found: Found) -> None:
    """Take in a row's explanation."""
    text = next((v for (_, v), name in zip(row, names, strict=True) if name == "text" and type(v) is str), None)
    if text is not None:
        found.explanations[id_] = text
        found.placeholders += is_template_text(text)


_TWO = "two different scores in one row"


def pairs_of(node: Any) -> Iterable[tuple[Any, Any]]:
    """The (key, value) pairs of an object, strict or mended."""
    return node.items() if isinstance(node, dict) else node


def rows_of(named: Sequence[tuple[str, Any]]) -> list[Row]:
    """One row, or several where a repeated key shows that the brackets between them were lost."""
    rows: list[Row] = [[]]
    seen: set[str] = set()
    for key, value in named:
        if key in seen:
            rows.append([])
            seen = set()
        seen.add(key)
        rows[-1].append((key, value))
    return rows


def _inner_id(value: Any) -> Any:
    if isinstance(value, dict | Pairs):
        return next((inner for key, inner in pairs_of(value) if role_of(key) == "id"), None)
    return value
