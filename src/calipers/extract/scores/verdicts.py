"""From a parsed document to the scores it states, whatever shape they were put in.

Reads lists of rows, objects keyed by candidate, parallel lists, and the wrappers around them. Not responsible for
finding documents (``documents``), for choosing among several, or for whether a number is on the scale (``scores``).
"""

from __future__ import annotations

import re
from typing import Any

from calipers.extract.scores.announced import agreed
from calipers.extract.scores.found import Found, Scale, Unread, Value, is_template_text
from calipers.extract.scores.remarks import doubtful_remark
from calipers.extract.scores.roles import STATING, Role, role_of
from calipers.extract.scores.rows import MAX_ROWS, RoleList, Row, RowReader, explain, pairs_of, rows_of
from calipers.extract.scores.stated import of_key
from calipers.extract.scores.values import read_value
from calipers.extract.strictjson import CUT, Pairs, strict

_SCORE_OF = re.compile(
    r"(?:scores?|rating)[\s_-]{0,2}(?:(?:for|of)[\s_-])?(.{1,60})|(.{1,60}?)(?:'s)?[\s_-]{0,2}(?:scores?|rating)",
    re.IGNORECASE,
)
_MAX_DEPTH = 10
_QUIET = frozenset({"scores", "explanations"})
"""Keys that say nothing by themselves."""
_CONTAINERS: frozenset[Role] = frozenset({"final", "scores", "wrapper", "ids", "score", "loose score"})
_BESIDE_SCORES: frozenset[Role | None] = STATING | {"scores", "text"}
_BESIDE_SCORE: frozenset[Role | None] = STATING | {"score", "loose score", "percent", "text"}
_ORDER: dict[Role | None, int] = {"final": 4, "scores": 3, "score": 3, "loose score": 2, "wrapper": 2, "ids": 2}


class VerdictReader(RowReader):
    """Walks documents for one question. Never raises; depth and rows are bounded."""

    def read(self, node: Any) -> Found:
        """The scores ``node`` states; empty when it is no verdict."""
        plain = Found.as_asked(node, self.names.known)
        if plain is not None:
            return plain
        found = self._read(node, 0)
        if not found.values and not found.positional:
            found.positional = self._positional(node)
            found.nameless = isinstance(node, dict | Pairs) and len(node) <= MAX_ROWS and self._scores_nobody(node)
            if found.positional and isinstance(node, dict | Pairs):
                self.rescale([(key, value) for key, value in pairs_of(node) if key is not None], found)
        if found.values and isinstance(node, dict | Pairs) and len(node) <= MAX_ROWS:
            self._explain(node, found)
            self._doubt(node, found)
        return found

    def _doubt(self, node: Any, found: Found) -> None:
        """Add what stands beside the scores and puts them in doubt."""
        if all(key in self.names.known or key in _QUIET for key, _ in pairs_of(node)):
            return
        scores = {id_: value.number for id_, value in found.values.items() if type(value) is Value}
        reason = doubtful_remark(node, self.names.ids, scores=scores, scale=self.scale)
        if reason is not None:
            found.doubts.append(reason)

    # --- shapes ---

    def _read(self, node: Any, depth: int) -> Found:
        if depth > _MAX_DEPTH:
            return Found()
        if isinstance(node, dict | Pairs):
            return self._object(node, depth)
        if isinstance(node, list):
            return self._list(node, depth)
        return Found()

    def _list(self, node: list[Any], depth: int) -> Found:
        found = Found()
        if len(node) > MAX_ROWS:
            return found
        numbers = self._number_pairs(node)
        if numbers is not None:
            return numbers
        nameless = False
        scales: list[Scale] = []
        for item in node:
            kind = type(item)
            if kind is float or kind is int or kind is str:
                continue
            if isinstance(item, dict | Pairs):
                inner = self._object(item, depth + 1)
                nameless = nameless or (not inner.values and self._scores_nobody(item))
                found.merge(inner)
                scale = None if inner.values else self.scale_of(item)
                scales += [] if scale is None else [scale]
            elif isinstance(item, list):
                pair = self._pair(item)
                if pair is None:
                    found.merge(self._list(item, depth + 1) if depth < _MAX_DEPTH else Found())
                else:
                    found.add(*pair)
        if nameless and found.values:
            found.doubts.append("a score that names nobody")
        if scales and found.values:
            found.restate(agreed(scales), self.scale)
        return found

    def _scores_nobody(self, item: Any) -> bool:
        row = [(key, value) for key, value in pairs_of(item) if key is not None]
        names = [role_of(key) for key, _ in row]
        return "id" not in names and "weak id" not in names and type(self.score_of(row, names)) is Value

    def _pair(self, item: list[Any]) -> tuple[str, Value | Unread] | None:
        """``["1", 0.9]``; a pair of two bare numbers says nothing."""
        if len(item) != 2 or type(item[0]) is not str or type(item[1]) not in (int, float):
            return None
        id_ = self.names.match(item[0])
        return None if id_ is None else (id_, read_value(item[1], self.scale))

    def _number_pairs(self, node: list[Any]) -> Found | None:
        """``[[1, 0.9], [2, 0.4]]``: only where the first numbers are the ids and the second ones could not be."""
        if len(node) != len(self.names.ids) or not all(isinstance(item, list) and len(item) == 2 for item in node):
            return None
        if not all(type(name) is int and type(number) in (int, float) for name, number in node):
            return None
        ids = [self.names.match(name) for name, _ in node]
        if None in ids or len(set(ids)) != len(ids) or all(self.names.match(number) for _, number in node):
            return None
        return Found({id_: read_value(number, self.scale) for id_, (_, number) in zip(ids, node, strict=True) if id_})

    def _object(self, node: Any, depth: int) -> Found:
        found = Found()
        if len(node) > MAX_ROWS or _role_in_chat(node):
            return found
        pairs = list(pairs_of(node))
        named = [(key, value) for key, value in pairs if key is not None]
        loose = [value for key, value in pairs if key is None]
        rows = rows_of(named)
        roles = [[role_of(key) for key, _ in row] for row in rows]
        with_ids = any("id" in row or "weak id" in row for row in roles)
        if not with_ids or not self.take_rows(rows, roles, found):
            scoreless, found = found, Found()
            self._keyed(named, found)
            if not found.values and not found.doubts:
                found = self._inside(named, depth)
            if not found.values and not found.doubts and len(rows) == 1 and not scoreless.values:
                self._only_one(rows[0], roles[0], found)
            found.merge(scoreless)
        for value in loose:  # rows whose brackets were lost
            if isinstance(value, list | dict):
                found.merge(self._read(value, depth + 1))
        self.rescale(named, found)
        return found

    def _keyed(self, named: list[tuple[str, Any]], found: Found) -> None:
        """``{"1": 0.9, "2": {"score": 0.4}}``."""
        matches = [(self._key_id(key), key, value) for key, value in named]
        if not any(id_ is not None for id_, _, _ in matches):
            self._parallel(named, found)
            return
        for id_, key, value in matches:
            inner = list(pairs_of(value)) if isinstance(value, dict | Pairs) else []
            if id_ is not None:
                self._keyed_one(id_, key, value, found)
            elif role_of(key) is None or (role_of(key) == "scores" and inner):
                read = self.value_of(value)
                if isinstance(value, list):
                    continue
                if role_of(key) == "scores" and type(read) is Unread:
                    found.merge(self._read(value, 1))
                else:
                    self.doubt_unknown(key, read, found)

    def _key_id(self, key: str) -> str | None:
        """The id a key names: ``1``, ``Trajectory 1``, ``trajectory_1_score``, ``score_1``."""
        id_ = self.names.match(key)
        if id_ is None and type(key) is str and "s" in key.casefold() and len(key) <= 60 and role_of(key) is None:
            found = _SCORE_OF.fullmatch(key)
            id_ = self.names.match(found[1] or found[2]) if found else None
        return id_

    def _keyed_one(self, id_: str, key: str, value: Any, found: Found) -> None:
        inner = list(pairs_of(value)) if isinstance(value, dict | Pairs) else []
        found.add(id_, self._field(key, value) if not inner else self.value_of(value))
        names = [role_of(key) for key, _ in inner]
        for (_, text), name in zip(inner, names, strict=True):
            if name == "text" and type(text) is str:
                found.explanations[id_] = text
                found.placeholders += is_template_text(text)
            elif name == "id" and self.names.match(text) not in (id_, None):
                found.doubts.append("a row that names two ids")

    def _parallel(self, named: list[tuple[str, Any]], found: Found) -> None:
        """``{"ids": [...], "scores": [...]}``."""
        ids = [value for key, value in named if role_of(key) in ("ids", "id") and isinstance(value, list)]
        scores = [value for key, value in named if role_of(key) in ("scores", "score") and isinstance(value, list)]
        if len(ids) != 1 or len(scores) != 1 or len(ids[0]) != len(scores[0]) or len(ids[0]) > MAX_ROWS:
            return
        if not all(getattr(part, "closed", True) for part in (ids[0], scores[0])):
            return
        if any(isinstance(item, list | dict) for item in (*ids[0], *scores[0])):
            return
        for name, value in zip(ids[0], scores[0], strict=True):
            id_ = self.names.match(name)
            read = read_value(value, self.scale)
            if id_ is None:
                self.doubt_unknown(str(name), read, found)
            else:
                found.add(id_, read)

    def _inside(self, named: list[tuple[str, Any]], depth: int) -> Found:
        """The verdict inside a wrapper; of several, those under the most telling key."""
        best, best_order = Found(), -1
        for key, value in named:
            role = role_of(key)
            final_is_cut = role == "final" and (value is CUT or getattr(value, "closed", True) is False)
            if final_is_cut and best.values:
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
        """The verdict under one key, as far as such a key may hold one."""
        if role in ("aside", "text", "percent") or role in STATING:
            return Found()
        held = value
        if type(value) is str:
            held = _decoded(value) if role in _CONTAINERS else None
        if not isinstance(held, list | dict) or (role is None and not _may_hold_scores(key) and self._is_flat(held)):
            return Found()
        if role is None and self._is_part(key, held):
            return Found()
        found, stated = self._read(held, depth + 1), of_key(key)[1]
        found.restate(stated, self.scale)
        return found

    def _is_part(self, key: str, held: Any) -> bool:
        """``{"accuracy": {"score": 3}}`` where one candidate was asked about: a part of its score."""
        if len(self.names.ids) != 1 or not isinstance(held, dict | Pairs) or _WHOLE.search(str(key)[:60]):
            return False
        return self._scores_nobody(held)

    def _is_flat(self, value: Any) -> bool:
        """Whether this is a map from ids to bare numbers, which may be anything: costs, steps, ranks."""
        if not isinstance(value, dict | Pairs):
            return False
        return any(self.names.match(key) and type(inner) in (int, float) for key, inner in pairs_of(value))

    def _only_one(self, row: Row, names: RoleList, found: Found) -> None:
        """``{"score": 0.9}`` where one candidate was asked about."""
        if len(self.names.ids) != 1:
            return
        read = self.score_of(row, names)
        if read is not None:
            found.add(self.names.ids[0], read)
            explain(self.names.ids[0], row, names, found)

    def _positional(self, node: Any) -> list[Value | Unread]:
        """Scores without names: ``[0.9, 0.4]``, ``{"scores": [0.9, 0.4]}``, rows without ids."""
        if isinstance(node, dict | Pairs):
            others = [value for key, value in pairs_of(node) if role_of(key) not in _BESIDE_SCORES]
            lists = [value for key, value in pairs_of(node) if role_of(key) == "scores"]
            if len(lists) != 1 or others:
                return []
            node = lists[0]
        if not isinstance(node, list) or isinstance(node, Pairs) or len(node) != len(self.names.ids):
            return []
        if not getattr(node, "closed", True):
            return []
        if all(isinstance(item, dict | Pairs) for item in node):
            return self._nameless_rows(node)
        if any(isinstance(item, list | dict) for item in node):
            return []
        return [read_value(item, self.scale) for item in node]

    def _nameless_rows(self, node: list[Any]) -> list[Value | Unread]:
        reads = []
        for item in node:
            row = [(key, value) for key, value in pairs_of(item) if key is not None]
            names = [role_of(key) for key, _ in row]
            read = self.score_of(row, names)
            if read is None or not _BESIDE_SCORE.issuperset(names):
                return []  # a rank or a name may order the rows
            reads.append(read)
        return reads

    def _explain(self, node: Any, found: Found) -> None:
        """Take in a map of explanations that stands beside the scores."""
        for _ in range(4):
            wrapped = None
            for key, value in pairs_of(node):
                if not isinstance(value, dict | Pairs):
                    continue
                if role_of(key) != "text":
                    wrapped = wrapped or value
                    continue
                for name, text in pairs_of(value):
                    id_ = self.names.match(name)
                    if id_ is not None and type(text) is str:
                        found.explanations.setdefault(id_, text)
            if wrapped is None:
                return
            node = wrapped


def _decoded(value: str) -> Any:
    """A document inside a string (tool-call arguments); only strict JSON, only where a wrapper's key says so."""
    text = value.strip()
    if text[:1] not in ("{", "["):
        return None
    return strict(text)


_KINDS = r"scor|rat(?:e|ing)|grad|eval|judg|verdict|result|traj|candid|assess|apprais|mark|answer|output|overall|评|判|結果|결과"
_WHOLE = re.compile(_KINDS, re.IGNORECASE)
_SCORE_LIKE = re.compile(rf"{_KINDS}|[^\x00-\x7f]", re.IGNORECASE)


def _may_hold_scores(key: Any) -> bool:
    return key is None or _SCORE_LIKE.search(str(key)[:60]) is not None


def _role_in_chat(value: Any) -> bool:
    """Whether this is a chat message of somebody else's: an echo of the input."""
    if isinstance(value, list) and not isinstance(value, Pairs):
        return False
    return isinstance(value, dict | Pairs) and dict(pairs_of(value)).get("role") in (
        "user",
        "system",
        "tool",
        "developer",
    )
