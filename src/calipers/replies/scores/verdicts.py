"""Reads the scores that a parsed JSON document states, in many shapes.

Shapes are lists of rows, objects keyed by candidate, parallel lists, and wrappers around them. ``documents`` finds the
documents, ``selection`` chooses among several, ``scales`` checks the scale.
"""

from __future__ import annotations

import re
from typing import Any

from calipers.replies.scores.announced import agreed_scale
from calipers.replies.scores.beside import why_remark_doubtful
from calipers.replies.scores.fields import STATING, Role, Row, role_of_key
from calipers.replies.scores.found import Found, Score, Unread, Value
from calipers.replies.scores.rows import MAX_ROWS, RowReader, rows_of_object
from calipers.replies.scores.stated import scale_of_key
from calipers.replies.scores.values import read_score_value
from calipers.replies.strictjson import CUT, Pairs, pairs_of, parse_strict_json

_SCORE_OF = re.compile(
    r"(?:scores?|rating)[\s_-]{0,2}(?:(?:for|of)[\s_-])?(.{1,60})|(.{1,60}?)(?:'s)?[\s_-]{0,2}(?:scores?|rating)",
    re.IGNORECASE,
)
_KINDS = (
    r"scor|rat(?:e|ing)|grad|eval|judg|verdict|result|traj|candid|assess|apprais|mark|answer|output|overall"
    r"|评|判|結果|결과"
)
_WHOLE = re.compile(_KINDS, re.IGNORECASE)
_SCORE_LIKE = re.compile(rf"{_KINDS}|[^\x00-\x7f]", re.IGNORECASE)
_MAX_DEPTH = 10
_QUIET = frozenset({"scores", "explanations"})
"""Keys that are never a remark on the scores."""
_CONTAINERS: frozenset[Role] = frozenset({"final", "scores", "wrapper", "ids", "score", "loose score"})
_BESIDE_SCORES: frozenset[Role | None] = STATING | {"scores", "text"}
_BESIDE_SCORE: frozenset[Role | None] = STATING | {"score", "loose score", "percent", "text"}
_ORDER: dict[Role | None, int] = {"final": 4, "scores": 3, "score": 3, "loose score": 2, "wrapper": 2, "ids": 2}


class VerdictReader(RowReader):
    """Reads scores from JSON documents of replies about one set of candidates. Depth and number of rows are bounded."""

    def read(self, node: Any) -> Found:
        """Extract the scores that a document states, or an empty result if it is no verdict."""
        plain = Found.as_asked(node, self.names.known)
        if plain is not None:
            return plain
        found = self._inner(node, 0)
        pairs = pairs_of(node) if len(pairs_of(node)) <= MAX_ROWS else ()
        if not found.values and not found.positional:
            found.positional = self._positional(node)
            found.nameless = self._scores_nobody(pairs)
            if found.positional:
                self.rescale(Row.of(pairs), found)
        if found.values and pairs:
            self._take_explanations(node, found)
            if not all(key in self.names.known or key in _QUIET for key, _ in pairs):
                reason = why_remark_doubtful(node, self.names.ids, scores=found.numbers, scale=self.scale)
                found.doubts += [reason] if reason is not None else []
        return found

    # --- shapes ---

    def _inner(self, node: Any, depth: int) -> Found:
        if depth > _MAX_DEPTH or not isinstance(node, dict | list):
            return Found()
        return self._object(node, depth) if isinstance(node, dict | Pairs) else self._list(node, depth)

    def _list(self, node: list[Any], depth: int) -> Found:
        found = Found()
        if len(node) > MAX_ROWS:
            return found
        numbers = self._number_pairs(node)
        if numbers is not None:
            return numbers
        nameless = False
        scales = []
        for item in node:
            pair = self._pair(item)
            if pair is not None:
                found.add(*pair)
            elif isinstance(item, dict | list):
                inner = self._inner(item, depth + 1)
                found.merge(inner)
                if not inner.values:
                    nameless = nameless or self._scores_nobody(pairs_of(item))
                    scales.append(self.scale_of(item))
        if nameless and found.values:
            found.doubts.append("a score without an id")
        if found.values:
            found.apply_scale(agreed_scale(scales), self.scale)
        return found

    def _scores_nobody(self, pairs: Any) -> bool:
        row = Row.of(pairs)
        return row.roles.isdisjoint({"id", "weak id"}) and type(self.score_of(row)) is Value

    def _pair(self, item: Any) -> tuple[str, Score] | None:
        """Read a pair of an id and a score: ``["1", 0.9]``. A pair of two bare numbers is not read."""
        if (
            not isinstance(item, list)
            or len(item) != 2
            or type(item[0]) is not str
            or type(item[1]) not in (int, float)
        ):
            return None
        id_ = self.names.match(item[0])
        return None if id_ is None else (id_, read_score_value(item[1], self.scale))

    def _number_pairs(self, node: list[Any]) -> Found | None:
        """Read ``[[1, 0.9], [2, 0.4]]`` if the first numbers are the ids and the second numbers cannot be ids."""
        pairs = [
            item for item in node if isinstance(item, list) and list(map(type, item)) in ([int, int], [int, float])
        ]
        if not len(node) == len(pairs) == len(self.names.ids):
            return None
        ids = [self.names.match(name) for name, _ in pairs]
        if None in ids or len(set(ids)) != len(ids) or all(self.names.match(number) for _, number in pairs):
            return None
        return Found(
            {id_: read_score_value(number, self.scale) for id_, (_, number) in zip(ids, pairs, strict=True) if id_}
        )

    def _object(self, node: Any, depth: int) -> Found:
        pairs = list(pairs_of(node))
        if len(pairs) > MAX_ROWS or dict(pairs).get("role") in ("user", "system", "tool", "developer"):
            return Found()  # a chat message with such a role repeats the input
        found = Found()
        named = [(key, value) for key, value in pairs if key is not None]
        rows = rows_of_object(named)
        with_ids = any(not row.roles.isdisjoint({"id", "weak id"}) for row in rows)
        if not with_ids or not self.take_rows(rows, found):
            scoreless, found = found, self._keyed(named)
            if not found.values and not found.doubts:
                found = self._wrapped(named, depth)
            if not found.values and not found.doubts and len(rows) == 1 and not scoreless.values:
                self._take_only_one(rows[0], found)
            found.merge(scoreless)
        for key, value in pairs:  # rows whose brackets were lost
            if key is None and isinstance(value, list | dict):
                found.merge(self._inner(value, depth + 1))
        self.rescale(Row.of(named), found)
        return found

    def _keyed(self, named: list[tuple[str, Any]]) -> Found:
        """Read an object keyed by candidate: ``{"1": 0.9, "2": {"score": 0.4}}``."""
        found = Found()
        ids = [self._key_id(key) for key, _ in named]
        if not any(id_ is not None for id_ in ids):
            self._take_parallel(named, found)
            return found
        for id_, (key, value) in zip(ids, named, strict=True):
            if id_ is not None:
                self._take_keyed(id_, key, value, found)
                continue
            role = role_of_key(key)
            among_scores = role == "scores" and len(pairs_of(value)) > 0
            if isinstance(value, list) or not (role is None or among_scores):
                continue
            read = self.value_of(value)
            if among_scores and type(read) is Unread:
                found.merge(self._inner(value, 1))
            else:
                self.doubt_unknown(key, read, found)
        return found

    def _key_id(self, key: str) -> str | None:
        """Return the id that a key names: ``1``, ``Trajectory 1``, ``trajectory_1_score``, ``score_1``."""
        id_ = self.names.match(key)
        if id_ is None and type(key) is str and "s" in key.casefold() and len(key) <= 60 and role_of_key(key) is None:
            found = _SCORE_OF.fullmatch(key)
            id_ = self.names.match(found[1] or found[2]) if found else None
        return id_

    def _take_keyed(self, id_: str, key: str, value: Any, found: Found) -> None:
        inner = Row.of(pairs_of(value))
        found.add(id_, self.value_of(value) if inner.fields else self.read_field(key, value))
        for text in inner.values("text"):
            found.explain(id_, text)
        if any(self.names.match(name) not in (id_, None) for name in inner.values("id")):
            found.doubts.append("a row that names two ids")

    def _take_parallel(self, named: list[tuple[str, Any]], found: Found) -> None:
        """Read parallel lists of ids and scores: ``{"ids": [...], "scores": [...]}``."""
        row = Row.of(named)
        ids = [value for value in row.values("ids", "id") if isinstance(value, list)]
        scores = [value for value in row.values("scores", "score") if isinstance(value, list)]
        if len(ids) != 1 or len(scores) != 1 or not len(ids[0]) == len(scores[0]) <= MAX_ROWS:
            return
        scalars = not any(isinstance(item, list | dict) for item in (*ids[0], *scores[0]))
        if not scalars or not all(getattr(part, "closed", True) for part in (ids[0], scores[0])):
            return
        for name, value in zip(ids[0], scores[0], strict=True):
            id_, read = self.names.match(name), read_score_value(value, self.scale)
            if id_ is None:
                self.doubt_unknown(str(name), read, found)
            else:
                found.add(id_, read)

    def _wrapped(self, named: list[tuple[str, Any]], depth: int) -> Found:
        """Read the verdict inside a wrapper object. Of several verdicts, take the one under the most specific key."""
        best, best_order = Found(), -1
        for key, value in named:
            role = role_of_key(key)
            if role == "final" and (value is CUT or getattr(value, "closed", True) is False) and best.values:
                best.doubts.append("a later verdict is cut off")
            inner = self._under(key, value, role, depth)
            if not inner.values and not inner.doubts:
                continue
            order = _ORDER.get(role, 1)
            if order > best_order:
                best, best_order = inner, order
            elif order == best_order:
                best.merge(inner)
        return best

    def _under(self, key: str, value: Any, role: Role | None, depth: int) -> Found:
        """Read the verdict under one key of a wrapper, unless a key of that role cannot contain a verdict."""
        if role in ("aside", "text", "percent") or role in STATING:
            return Found()
        held = value
        if type(value) is str:  # a document inside a string (tool-call arguments)
            held = parse_strict_json(value.strip()) if role in _CONTAINERS and value.strip()[:1] in ("{", "[") else None
        if not isinstance(held, list | dict) or (
            role is None and (self._is_flat(key, held) or self._is_part(key, held))
        ):
            return Found()
        found = self._inner(held, depth + 1)
        found.apply_scale(scale_of_key(key)[1], self.scale)
        return found

    def _is_part(self, key: str, held: Any) -> bool:
        """Whether the value is only one aspect of a single candidate's score: ``{"accuracy": {"score": 3}}``."""
        return len(self.names.ids) == 1 and not _WHOLE.search(str(key)[:60]) and self._scores_nobody(pairs_of(held))

    def _is_flat(self, key: str, held: Any) -> bool:
        """Whether the value maps ids to bare numbers that need not be scores: costs, steps, ranks."""
        flat = any(self.names.match(name) and type(inner) in (int, float) for name, inner in pairs_of(held))
        return flat and _SCORE_LIKE.search(str(key)[:60]) is None

    def _take_only_one(self, row: Row, found: Found) -> None:
        """Read the score of the only candidate from an object without an id: ``{"score": 0.9}``."""
        read = self.score_of(row) if len(self.names.ids) == 1 else None
        if read is not None:
            found.add(self.names.ids[0], read)
            found.explain(self.names.ids[0], next((text for text in row.values("text") if type(text) is str), None))

    def _positional(self, node: Any) -> list[Score]:
        """Read scores without ids: ``[0.9, 0.4]``, ``{"scores": [0.9, 0.4]}``, rows without an id field."""
        if isinstance(node, dict | Pairs):
            row = Row(((key, value, role_of_key(key)) for key, value in pairs_of(node)))
            lists = row.values("scores")
            node = lists[0] if len(lists) == 1 and _BESIDE_SCORES.issuperset(row.roles) else None
        if not isinstance(node, list) or isinstance(node, Pairs) or len(node) != len(self.names.ids):
            return []
        rows = [Row.of(pairs_of(item)) for item in node if isinstance(item, dict | Pairs)]
        if not getattr(node, "closed", True) or (
            len(rows) < len(node) and any(isinstance(one, list | dict) for one in node)
        ):
            return []
        if not rows:
            return [read_score_value(item, self.scale) for item in node]
        reads = [self.score_of(row) for row in rows if _BESIDE_SCORE.issuperset(row.roles)]
        return [read for read in reads if read is not None] if len(reads) == len(rows) and None not in reads else []

    def _take_explanations(self, node: Any, found: Found) -> None:
        """Record the explanations of scores from a map in the same object."""
        for _ in range(4):
            objects = [(key, value) for key, value in pairs_of(node) if isinstance(value, dict | Pairs)]
            for name, text in (
                pair for key, value in objects if role_of_key(key) == "text" for pair in pairs_of(value)
            ):
                id_ = self.names.match(name)
                if id_ is not None and type(text) is str:
                    found.explanations.setdefault(id_, text)
            node = next((value for key, value in objects if value and role_of_key(key) != "text"), None)
