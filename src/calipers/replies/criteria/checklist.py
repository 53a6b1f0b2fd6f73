"""Reads a judge's verdict on each of several criteria from one reply: met, not met, or one of the criterion's levels.

Only exact words count: a criterion without a plain verdict is missing, with a reason. A single verdict in running text
is read by ``verdict``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from calipers.replies.caveats.quotations import is_in_block_quote, is_others_verdict
from calipers.replies.caveats.retractions import TAKEN_BACK, takes_score_back, why_taken_back
from calipers.replies.criteria.met import Met, Row, read_met
from calipers.replies.documents import Document, find_documents, unescape_reply
from calipers.replies.rejected import Rejected
from calipers.replies.scores.names import Names
from calipers.replies.strictjson import Pairs, pairs_of, parse_strict_json, plain_key
from calipers.replies.text import TOLERANT_LIMIT, strip_fence, strip_reasoning
from calipers.replies.wordlists import list_words
from calipers.types import FinishReason, Outcome


@dataclass(frozen=True, slots=True)
class ChecklistReading:
    """The verdicts read from a judge's reply: for each criterion asked about, a value in ``verdicts`` or a reason in
    ``missing``.

    ``undecided`` are the missing criteria on which the judge said that it cannot tell. ``reasons`` and ``quotes`` are
    the judge's words. ``doubt`` is True if the reply contradicts itself or names a criterion that was not asked about.
    Nothing is read then.
    """

    verdicts: dict[str, Met]
    missing: dict[str, str]
    outcome: Outcome
    undecided: frozenset[str] = frozenset()
    reasons: dict[str, str] = field(default_factory=dict)
    quotes: dict[str, str] = field(default_factory=dict)
    reason: str | None = None
    doubt: bool = False
    truncated: bool = False


def extract_checklist(
    text: str,
    ids: Sequence[str],
    *,
    levels: Mapping[str, Mapping[str, float]] | None = None,
    finish_reason: FinishReason | None = None,
) -> ChecklistReading:
    """Extract the judge's verdict on each criterion of ``ids`` from its reply. Never raises.

    ``levels`` maps the id of a criterion that has levels to their shares (0-1). Verdicts are booleans, 0 and 1, and
    words such as PRESENT, NOT PRESENT, met, unmet, yes, no. They are matched by id, by number or by position, in JSON
    (also damaged), lists of rows, or lines. A reply that is cut off inside its answer is not read in part.
    """
    reader = _Reader(tuple(dict.fromkeys(ids)), levels or {})
    try:
        rows, outcome = reader.read(text, cut=finish_reason == "length")
    except Rejected as reject:
        nothing = dict.fromkeys(reader.ids, reject.reason)
        return ChecklistReading(
            {}, nothing, "rejected", reason=reject.reason, doubt=reject.doubt, truncated=reject.truncated
        )
    verdicts = {id_: row.value for id_ in reader.ids if (row := rows.get(id_)) and row.value is not None}
    missing = {id_: _why(rows.get(id_)) for id_ in reader.ids if id_ not in verdicts}
    return ChecklistReading(
        verdicts,
        missing,
        "rejected" if not verdicts else "partial" if missing else outcome,
        frozenset(id_ for id_ in missing if (row := rows.get(id_)) and row.undecided),
        {id_: row.reason for id_, row in rows.items() if row.reason},
        {id_: row.quote for id_, row in rows.items() if row.quote},
        "; ".join(dict.fromkeys(missing.values())) or None,
    )


def _why(row: Row | None) -> str:
    return "not in the reply" if row is None else row.problem or "its value cannot be read"


_MET_KEYS, _REASON_KEYS, _QUOTE_KEYS, _ID_KEYS = (
    list_words("verdicts", name) for name in ("MET_KEYS", "REASON_KEYS", "QUOTE_KEYS", "ID_KEYS")
)
_BIT = re.compile(r"\[\[\s{0,3}(-?\d{1,6})\s{0,3}\]\]")
_NOTHING = "no verdict in it"
_CONTRADICTS = "two verdicts on it that contradict each other"
_OFF = "a number is repeated and another missing, so this may be another's"
_NAMED = re.compile(
    r"(?:the )?(?:rubrics?|criteri(?:on|a)|questions?|items?|requirements?|constraints?|checks?|points?)"
    r"(?:[ _-]{0,2}(?:item|id|no\.?|number))?[\s_\-#:.]{0,4}(?P<rest>\S.{0,100})",
    re.IGNORECASE,
)


# --- documents --------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads verdicts on one set of criteria from replies."""

    def __init__(self, ids: tuple[str, ...], levels: Mapping[str, Mapping[str, float]]) -> None:
        self.ids = ids
        self._levels = levels
        self._names = Names(ids)
        self._numbered = ids == tuple(str(n) for n in range(1, len(ids) + 1))

    def read(self, text: str, *, cut: bool) -> tuple[dict[str, Row], Outcome]:
        """Extract a reply's rows by criterion id, and the outcome. Raises Rejected if nothing can be read."""
        if cut:
            raise Rejected("the reply was cut off", truncated=True)
        answer = strip_reasoning(text)
        for body in (text, strip_fence(answer or "")):
            document = parse_strict_json(body) if _BIT.fullmatch(body.strip()) is None else None
            if isinstance(document, dict | list):
                rows = self._rows(document) or self._in_order(document)
                if not rows:
                    raise Rejected("no verdicts in the reply")
                return rows, "strict"
        if answer is None:
            raise Rejected("the reasoning never ends", truncated=True)
        if not body:
            raise Rejected("the reply is empty")
        if len(body) > TOLERANT_LIMIT:
            raise Rejected("the reply is too long to be read in part")
        return self._mixed(unescape_reply(body))

    def _mixed(self, text: str) -> tuple[dict[str, Row], Outcome]:
        """Read verdicts from JSON documents among words. The last complete document counts.

        Raises Rejected if other documents, or the words after the last complete document, contradict it.
        """
        documents = find_documents(text)
        if documents is None:
            raise Rejected("the JSON of the reply is too damaged to be read")
        floors = [0, *(document.end for document in documents)]
        found = [
            (document, rows, _is_quoted(text, document.start, floor))
            for document, floor in zip(documents, floors, strict=False)
            if (rows := self._of_document(text, document))
        ]
        if not found:
            return self._of_lines(text), "text"
        own = [(document, rows) for document, rows, quoted in found if not quoted]
        if not own:
            raise Rejected("the only verdicts are a draft, an example or a quotation", doubt=True)
        complete = [pair for pair in own if pair[1].keys() >= set(self.ids)]
        document, rows = complete[-1] if complete else own[-1]
        earlier = [] if complete else [others for _, others in own]
        rows = _agreed([*earlier, rows, *(others for later, others in own if later.start > document.start)])
        reason = why_taken_back(text[document.end :].strip(" \r\n\t`~"))
        if reason is not None:
            raise Rejected(reason, doubt=True)
        return rows, "strict" if document.strict else "repaired"

    def _of_document(self, text: str, document: Document) -> dict[str, Row]:
        rows = self._rows(document.node)
        if not rows and len(self.ids) == 1:
            rows = self._in_order(document.node)
        if not rows and isinstance(document.node, list) and not isinstance(document.node, Pairs):
            rows = self._in_order(document.node)
        if document.cut and (rows or document.start == 0 or text[: document.start].strip("` \n").endswith("json")):
            raise Rejected("the reply ends inside its verdicts", truncated=True)
        if rows and document.garbled:
            raise Rejected("words out of place inside the verdicts", doubt=True)
        return rows

    def _rows(self, node: Any, depth: int = 3) -> dict[str, Row]:
        """Return the rows of the outermost table in ``node``: an object keyed by criteria, or a list of named rows."""
        pairs = list(pairs_of(node))
        items = node if isinstance(node, list) and not pairs else []
        rows = self._keyed(pairs) or self._listed(items)
        if rows or not depth:
            return rows
        inner = [value for _, value in pairs] or items
        found = [rows for value in inner[:200] if (rows := self._rows(value, depth - 1))]
        lists = [value for _, value in pairs if isinstance(value, list) and not isinstance(value, Pairs)]
        if not found and len(lists) == 1:  # {"verdicts": [true, false]}
            return self._in_order(lists[0])
        return _merged(found)

    def _keyed(self, pairs: list[tuple[Any, Any]]) -> dict[str, Row]:
        keys = [key for key, _ in pairs]
        shift = self._shift(keys)
        rows = [(id_, self._row(value, id_)) for key, value in pairs if (id_ := self._match(key, shift)) is not None]
        if rows and (unknown := [key for key in keys if self._is_foreign(key, shift)]):
            raise Rejected(f"a verdict on {str(unknown[0])[:20]!r}, which was not asked about", doubt=True)
        return _merged([{id_: row} for id_, row in self._in_place(rows)])

    def _in_place(self, rows: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
        """Mark numbered rows in a wrong position as unread if one number is repeated and so another is missing.

        The repeated number is a mistake, so a row in a wrong position may be about another criterion.
        """
        places = {id_: place for place, id_ in enumerate(self.ids)}
        if not self._numbered or len(rows) != len(self.ids) or len({id_ for id_, _ in rows}) == len(rows):
            return rows
        at_home = {id_ for place, (id_, _) in enumerate(rows) if places[id_] == place}
        return [(id_, row if id_ in at_home else Row(None, _OFF)) for id_, row in rows]

    def _listed(self, items: list[Any]) -> dict[str, Row]:
        """Read verdicts from rows that each name their criterion."""
        named: list[tuple[Any, Any]] = []
        for item in items[:500]:
            fields = {plain_key(key): value for key, value in pairs_of(item)}
            names = [fields[key] for key in _ID_KEYS if type(fields.get(key)) in (str, int)]
            if names:
                named.append((max(names, key=self._names_one), item))
        return self._keyed(named) if len(named) == len(items) else {}

    def _in_order(self, node: Any) -> dict[str, Row]:
        """Read verdicts that name no criterion: as many as there are criteria, or one verdict on a single criterion."""
        if len(self.ids) == 1 and pairs_of(node):
            (id_,) = self.ids
            row = self._row(node, id_)
            return {} if row.problem == _NOTHING else {id_: row}
        if not isinstance(node, list) or isinstance(node, Pairs) or len(node) != len(self.ids):
            return {}
        rows = {id_: self._row(value, id_) for id_, value in zip(self.ids, node, strict=True)}
        return rows if any(row.value is not None for row in rows.values()) else {}

    def _row(self, value: Any, id_: str) -> Row:
        levels = self._levels.get(id_, {})
        pairs = pairs_of(value)
        if not pairs:
            return Row(None, "a list where a verdict belongs") if isinstance(value, list) else read_met(value, levels)
        fields: dict[str, Any] = {}
        contradicts = any(fields.setdefault(plain_key(key), item) != item for key, item in pairs)
        read = [read_met(fields[key], levels) for key in _MET_KEYS if not isinstance(fields.get(key, []), list | dict)]
        if contradicts or len({row.value for row in read if row.value is not None}) > 1:
            return Row(None, _CONTRADICTS)
        row = next((row for row in read if row.value is not None), read[0] if read else Row(None, _NOTHING))
        return replace(row, reason=_first(fields, _REASON_KEYS), quote=_first(fields, _QUOTE_KEYS))

    # --- names of criteria ---

    def _match(self, key: object, shift: int) -> str | None:
        if shift and (number := _number(key)) is not None:
            return self._names.match(str(number + shift))
        found = self._names.match(key)
        if found is None and isinstance(key, str) and (named := _NAMED.fullmatch(key.strip(" *_`"))):
            found = self._match(named["rest"], shift)
        return found

    def _names_one(self, name: object) -> bool:
        return _number(name) is not None or self._match(name, 0) is not None

    def _shift(self, keys: list[Any]) -> int:
        """Return 1 if the reply numbers the criteria from 0, that is, 0 occurs and the last number does not; else
        return 0.
        """
        numbers = {_number(key) for key in keys}
        return int(self._numbered and 0 in numbers and len(self.ids) not in numbers)

    def _is_foreign(self, key: object, shift: int) -> bool:
        """Whether a key is a number beyond those of the criteria asked about."""
        number = _number(key)
        return number is not None and self._numbered and not 1 <= number + shift <= len(self.ids)

    def _of_lines(self, text: str) -> dict[str, Row]:
        """Read one criterion per line (``1. NOT PRESENT``), or the only verdict of a reply about a single criterion."""
        alone = len(self.ids) == 1 and not self._levels
        bits = set(_BIT.findall(text)) if alone else set()
        if len(bits) > 1:
            raise Rejected("two verdicts that contradict each other", doubt=True)
        if bits:  # VerIF's [[1]] or [[0]], anywhere in the reply
            (bit,) = bits
            return {
                self.ids[0]: Row(bit == "1")
                if bit in ("0", "1")
                else Row(None, f"[[{bit}]] is neither met nor not met")
            }
        rows: list[dict[str, Row]] = []
        lines = text.split("\n")[:2000]
        end = 0
        for place, line in enumerate(lines):
            match = _LINE.fullmatch(line[:500].rstrip())
            id_ = self._match(match["name"], 0) if match else None
            if match and id_ is not None:
                rows.append({id_: read_met(match["value"], self._levels.get(id_, {}))})
                end = place + 1
        if rows and takes_score_back("\n".join(lines[end:])):
            raise Rejected(TAKEN_BACK, doubt=True)
        if not rows and alone:
            from calipers.replies.criteria.verdict import extract_verdict  # noqa: PLC0415 - slow to compile

            met = extract_verdict(text).met
            rows = [{self.ids[0]: Row(met)}] if met is not None else []
        if not rows:
            raise Rejected("no verdicts in the reply")
        return _merged(rows)


_LINE = re.compile(
    r"[\s>*_#|-]{0,8}(?P<name>[^:：.)|=]{1,60}?)[*_`]{0,3}\s{0,3}(?:[:：|=)]|\.\s|->|→)\s{0,3}(?P<value>[^|]{1,300}?)\s*\|?"
)


def _is_quoted(text: str, start: int, floor: int) -> bool:
    return is_others_verdict(text[max(floor, start - 200) : start]) or is_in_block_quote(text, start)


def _number(key: object) -> int | None:
    if isinstance(key, int) and not isinstance(key, bool):
        return key
    if not isinstance(key, str):
        return None
    named = _NAMED.fullmatch(key.strip(" *_`"))
    text = (named["rest"] if named else key).strip(" *_`#.:")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else None


def _first(folded: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((folded[key] for key in keys if isinstance(folded.get(key), str) and folded[key].strip()), None)


def _agreed(tables: Sequence[Mapping[str, Row]]) -> dict[str, Row]:
    """Merge the criterion rows of several documents; raise Rejected if two of them contradict each other."""
    merged = _merged(tables)
    for table in tables:
        if any(merged[id_].value != row.value for id_, row in table.items()):
            raise Rejected("two verdicts on one criterion that contradict each other", doubt=True)
    return merged


def _merged(tables: Sequence[Mapping[str, Row]]) -> dict[str, Row]:
    """Merge all criterion rows. A criterion with two different values stays unread, and other criteria are not
    affected.
    """
    merged: dict[str, Row] = {}
    for table in tables:
        for id_, row in table.items():
            if merged.setdefault(id_, row).value != row.value:
                merged[id_] = Row(None, _CONTRADICTS)
    return merged
