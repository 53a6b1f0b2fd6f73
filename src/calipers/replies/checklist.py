"""Reads a judge's verdict on each of several criteria from one reply: met or not met.

Rows that carry a number or the text of a criterion are matched by it; position counts only for bare values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from calipers.replies.documents import EXPLAINING, is_list, pairs_of, plain_key
from calipers.replies.names import ERROR_BESIDE, NOUN, TWO_VERDICTS, WORDS_AROUND, Names, Rejected
from calipers.replies.text import condense_reply, is_headed, is_introduction
from calipers.replies.verdict import MET_KEYS, Row, document_of, read_row, read_scalar, read_single
from calipers.types import FinishReason, Outcome

_MAX_ROWS: Final = 2000
_OUTER: Final = 3
_SHORTEST: Final = 8
"""A part of a criterion's text with fewer characters than this does not identify it."""
_NUMBERING: Final = re.compile(rf"(?:.*_)?(?:{NOUN}|n|num|number|index|idx|key|criteria|rule|check)|")
_LINE: Final = re.compile(
    r"[\s*_-]{0,8}(?P<name>[^:：|=\n]{1,120}?)[*_`]{0,3}\s{0,3}(?:[:：|=]|\.\s|->|→)[*_\s]{0,4}(?P<value>[^|:\n]{1,60}?)\s*\|?"
)


@dataclass(frozen=True, slots=True)
class ChecklistReading:
    """The verdicts read from a judge's reply: for each criterion asked about, a value in ``verdicts`` or a reason in
    ``missing``.

    ``undecided`` are the missing criteria on which the judge said that it cannot tell. ``reasons`` are the
    judge's words. ``doubt`` is True if the reply contradicts itself, names a criterion that was not asked about, or
    has words around its verdicts; nothing is read then, but ``doubted`` verdicts count if the judge gives them again.
    """

    verdicts: dict[str, bool]
    missing: dict[str, str]
    outcome: Outcome
    undecided: frozenset[str] = frozenset()
    reasons: dict[str, str] = field(default_factory=dict)
    reason: str | None = None
    doubt: bool = False
    truncated: bool = False
    doubted: dict[str, bool] = field(default_factory=dict)


def extract_checklist(
    text: str,
    ids: Sequence[str],
    *,
    texts: Mapping[str, str] | None = None,
    finish_reason: FinishReason | None = None,
) -> ChecklistReading:
    """Extract the judge's verdict on each criterion of ``ids`` from its reply. Never raises.

    ``texts`` maps the ids to the criteria's texts, by which rows are matched that carry a text. Verdicts are booleans,
    0 and 1, and words such as PRESENT, NOT PRESENT, met, unmet, yes, no, in JSON (also damaged), lists of rows, or one
    line a criterion.
    """
    reader = _Reader(tuple(dict.fromkeys(ids)), texts or {})
    try:
        rows, outcome, surplus = reader.read(condense_reply(text), cut=finish_reason == "length")
    except Rejected as reject:
        nothing = dict.fromkeys(reader.ids, reject.reason)
        return ChecklistReading(
            {}, nothing, "rejected", reason=reject.reason, doubt=reject.doubt, truncated=reject.truncated
        )
    verdicts = {id_: row.value for id_ in reader.ids if (row := rows.get(id_)) and row.value is not None}
    absent = Row(None, "not in the reply")
    missing = {id_: rows.get(id_, absent).problem or "no verdict in it" for id_ in reader.ids if id_ not in verdicts}
    words = {id_: row.reason for id_, row in rows.items() if row.reason}
    undecided = frozenset(id_ for id_ in missing if (row := rows.get(id_)) and row.undecided)
    if surplus and verdicts:
        nothing = dict.fromkeys(reader.ids, WORDS_AROUND)
        doubted = {} if missing else verdicts
        return ChecklistReading({}, nothing, "rejected", frozenset(), words, WORDS_AROUND, doubt=True, doubted=doubted)
    return ChecklistReading(
        verdicts,
        missing,
        "rejected" if not verdicts else "partial" if missing else outcome,
        undecided,
        words,
        None if verdicts else next(iter(missing.values()), None),
    )


class _Reader:
    """Reads the verdicts of one reply on the criteria ``ids``."""

    def __init__(self, ids: tuple[str, ...], texts: Mapping[str, str]) -> None:
        self.ids = ids
        self._names = Names(ids)
        self._texts = {id_: _letters(text) for id_, text in texts.items() if id_ in ids}
        self._numbered = ids == tuple(str(number) for number in range(1, len(ids) + 1))

    def read(self, text: str, *, cut: bool) -> tuple[dict[str, Row], Outcome, bool]:
        """Return a reply's rows by criterion, the outcome, and whether it has words around. Raises Rejected."""
        if cut:
            raise Rejected("the reply was cut off", truncated=True)
        body, node, outcome, surplus = document_of(text)
        if node is None:
            rows, surplus = self._lines(body)
            return rows, "text", surplus
        rows = self._rows(node, _OUTER)
        doubt = next((row.problem for row in rows.values() if row.doubt), None)
        if self._differs(node, rows, _OUTER):
            doubt = TWO_VERDICTS
        if not rows or doubt is not None:
            raise Rejected(doubt or "no verdicts in the reply", doubt=doubt is not None)
        return rows, outcome, surplus

    def _rows(self, node: Any, depth: int) -> dict[str, Row]:
        """Return the rows of the outermost table in ``node``: an object keyed by criteria, or a list."""
        if is_list(node):
            return self._listed(node[:_MAX_ROWS])
        pairs = list(pairs_of(node))[:_MAX_ROWS]
        fields = {plain_key(key): value for key, value in pairs}
        if any(fields.get(key) for key in ("error", "errors", "refusal", "refused")):
            raise Rejected(ERROR_BESIDE, doubt=True)
        if any(self._match(key) is not None for key, _ in pairs):
            return self._named(pairs)
        if len(self.ids) == 1 and fields.keys() & MET_KEYS:
            stated = self._stated_by(node)
            return self._named([(stated or self.ids[0], node)])
        inner = [(plain_key(key), value) for key, value in pairs if isinstance(value, dict | list)]
        if depth and len(inner) == 1 and not re.search("(?:^|_)(?:un|not_|absent|violat|fail|miss|error)", inner[0][0]):
            return self._rows(inner[0][1], depth - 1)
        return {}

    def _differs(self, node: Any, rows: Mapping[str, Row], depth: int) -> bool:
        """Whether an object inside a reply decides a criterion otherwise than ``rows``."""
        for value in [value for _, value in pairs_of(node) if isinstance(value, dict | list)] if depth else ():
            try:
                inner = self._rows(value, 0)
            except Rejected:
                inner = {}
            known = [(row.value, rows[id_].value) for id_, row in inner.items() if id_ in rows]
            if any(first not in (None, second) for first, second in known) or self._differs(value, rows, depth - 1):
                return True
        return False

    def _named(self, named: Sequence[tuple[Any, Any]], *, are_checked: bool = False) -> dict[str, Row]:
        """Read verdicts that stand under names of criteria, or under numbers from 0 if those are used throughout."""
        numbers = {_number(key) for key, _ in named}
        shift = int(self._numbered and numbers == set(range(len(self.ids))))
        rows: dict[str, Row] = {}
        for key, value in named:
            number = _number(key)
            id_ = self._names.match(str(number + shift)) if shift and number is not None else self._match(key)
            if id_ is None:
                if number is not None:
                    raise Rejected(f"a verdict on {str(key)[:20]!r}, which was not asked about", doubt=True)
                continue
            if not are_checked and pairs_of(value) and (stated := self._stated_by(value)) not in (None, id_):
                raise Rejected(f"a verdict on {id_!r} with the name of {stated!r}", doubt=True)
            row = read_row(value)
            if rows.setdefault(id_, row).value != row.value:
                raise Rejected("two verdicts on one criterion that contradict each other", doubt=True)
        return rows

    def _listed(self, items: Sequence[Any]) -> dict[str, Row]:
        """Read rows: each by the number, id or text that it carries, or bare values by their position."""
        if all(not isinstance(item, dict | list) for item in items):
            values = list(zip(self.ids, items, strict=True)) if len(items) == len(self.ids) else []
            return {id_: read_scalar(item) for id_, item in values}
        carried = [self._carried(item) for item in items]
        if len(items) == len(self.ids) and all(pairs_of(item) for item in items) and not any(carried):
            return self._named(list(zip(self.ids, items, strict=True)))
        numbers = [next((value for value in names if _number(value) is not None), None) for names in carried]
        if None not in numbers and len(set(map(str, numbers))) == len(numbers):
            zero_based = self._numbered and {_number(n) for n in numbers} == set(range(len(self.ids)))
            places = [str((_number(n) or 0) + zero_based) for n in numbers]
            by_text = map(self._by_text, carried)
            if any(stated not in (None, place) for stated, place in zip(by_text, places, strict=True)):
                raise Rejected("a row with the number of one criterion and the text of another", doubt=True)
            return self._named(list(zip(numbers, items, strict=True)), are_checked=True)
        rows = [(self._stated_by(item), item) for item in items]
        if any(id_ is None for id_, _ in rows):
            raise Rejected("a verdict on a criterion that was not asked about, or whose name is unknown", doubt=True)
        return self._named(rows, are_checked=True)

    def _carried(self, item: Any) -> list[Any]:
        """Return what a row may carry as the name of its criterion: texts and numbers, None for other numbers."""
        return [
            value if _number(value) is None or _NUMBERING.fullmatch(plain_key(key)) else None
            for key, value in pairs_of(item)
            if type(value) in (str, int) and plain_key(key) not in MET_KEYS | EXPLAINING
        ]

    def _stated_by(self, item: Any) -> str | None:
        """Return the criterion that a row's own number or text names, or None."""
        names = self._carried(item)
        return next((match for name in names if (match := self._match(name))), None) or self._by_text(names)

    def _by_text(self, names: Sequence[Any]) -> str | None:
        """Return the only criterion whose text is, contains, or is contained in one of ``names``."""
        for name in names:
            text = _letters(str(name))
            same = [id_ for id_, criterion in self._texts.items() if text in (criterion, f"{id_} {criterion}")]
            part = [
                id_
                for id_, criterion in self._texts.items()
                if len(text) >= _SHORTEST <= len(criterion) and (text in criterion or criterion in text)
            ]
            if len(same or part) == 1:
                return (same or part)[0]
        return None

    def _match(self, key: object) -> str | None:
        return self._names.match(key) or (self._by_text([key]) if isinstance(key, str) else None)

    def _lines(self, body: str) -> tuple[dict[str, Row], bool]:
        """Read one criterion a line (``1. NOT PRESENT``), or the only verdict of a reply about a single criterion."""
        lines = [line for line in body.split("\n") if line.strip(" `~*_-|:#")][:_MAX_ROWS]
        if len(lines) > 1 and is_introduction(lines[0]):
            del lines[0]
        rows: dict[str, Row] = {}
        surplus = False
        for line in lines:
            match = _LINE.fullmatch(line[:300].rstrip().strip("|"))
            id_ = self._match(match["name"]) if match else None
            row = read_scalar(match["value"]) if match and id_ else None
            is_sentence = 1 in (len(self.ids), len(lines)) or line.rstrip(" *_|")[-1:] in ".!?。"
            if not rows and is_headed(line if id_ or is_sentence else f"{line}:"):
                raise Rejected("verdicts under another heading", doubt=True)
            if row is None or id_ is None or row.value is None:
                surplus = True
            elif rows.setdefault(id_, row).value != row.value:
                raise Rejected("two verdicts on one criterion that contradict each other", doubt=True)
        if not rows and len(self.ids) == 1:
            return {self.ids[0]: Row(read_single(body))}, False
        if not rows:
            raise Rejected("no verdicts in the reply")
        return rows, surplus


def _number(key: object) -> int | None:
    """Return the number that a key is, alone or after a noun (``question_1``), or None."""
    if isinstance(key, int) and not isinstance(key, bool):
        return key
    match = isinstance(key, str) and re.fullmatch(r"(?:[A-Za-z]{1,12}[\s_#-]{0,2})?(\d{1,6})", key.strip(" *_`#.:"))
    return int(match[1]) if match else None


def _letters(text: str) -> str:
    """Return a criterion's text in the form in which texts are compared: letters and digits, lower case."""
    return re.sub(r"[\W_]+", " ", text[:4000]).strip().casefold()
