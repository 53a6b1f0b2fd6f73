"""Reads which of the labels a judge's reply prefers, and in which order it ranks candidates.

Only what stands in a place of its own counts: a label alone, ``[[A]]``, ``Choice: A``, an order ``[2] > [1]``. Scores
are read by ``scores``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Generic, Literal, TypeVar

from calipers.replies.documents import EXPLAINING, answer_of, find_documents, is_list, pairs_of, plain_key
from calipers.replies.names import NOUN, WORDS_AROUND, Names, Rejected
from calipers.replies.text import is_text_after, reply_text, strip_fence
from calipers.types import Outcome

Label = TypeVar("Label", str, int)
Id = TypeVar("Id", str, int)

_MOST_NAMES: Final = 4096


@dataclass(frozen=True, slots=True)
class ChoiceReading(Generic[Label]):
    """The choice read from a judge's reply: one of the labels as given, ``"tie"``, or None with the ``reason``.

    ``margin`` (0-1) says how strong the preference is, in formats with graded marks (``A>>B``) or with scores. In other
    formats it is None.
    """

    choice: Label | Literal["tie"] | None
    outcome: Outcome
    reason: str | None = None
    margin: float | None = None


@dataclass(frozen=True, slots=True)
class RankingReading(Generic[Id]):
    """The ranking read from a judge's reply: ids as given, best first, each id once.

    ``missing`` are the ids that the reply did not name, which does not mean that they are last. ``dropped`` are the
    ignored names as the reply wrote them: repeated ids and unknown names. ``outcome`` is ``partial`` if ids are
    missing. The ``ranking`` of a rejected reading is empty.
    """

    ranking: tuple[Id, ...]
    outcome: Outcome
    missing: tuple[Id, ...] = ()
    dropped: tuple[str, ...] = ()
    reason: str | None = None


# --- choices ---------------------------------------------------------------------------------------------------------


def extract_choice(
    text: str | None,
    labels: Sequence[Label],
    *,
    tie: str | None = None,
    format: str | None = None,  # noqa: A002 - what people call it
) -> ChoiceReading[Label]:
    """Extract the label that a judge's reply prefers, ``"tie"``, or None if it does not state one label clearly.

    ``labels`` name two or more candidates: ``A``, ``(a)``, ``Output (a)``, ``**Model A**`` all match label ``A``.
    ``tie`` is the label for a tie and may be one of ``labels``. A label spelled *tie* or *draw* always means a tie.
    All marks (``[[A]]``), labelled lines (``Verdict: A``), verdict sentences (``Output (a) is better``) and a short
    last sentence (``No: B.``) must agree.

    ``format`` names the format that the judge was asked for (docs/reading.md). The format's own names (``A``,
    ``model_1``) stand for ``labels`` in the order in which the prompt listed the candidates. If all ``labels`` are such
    names, they are matched by name. Raises ConfigError for an unknown format or a format without a choice, and never
    because of the text. ``text`` None is an empty reply; anything else but text is a ConfigError.
    """
    text = reply_text(text)
    spelled: tuple[str, ...] = tuple(map(str, labels))
    try:
        if format is not None:
            from calipers.replies.formats.known import format_named  # noqa: PLC0415 - most replies have no format
            from calipers.replies.formats.values import TIE, stated_choice  # noqa: PLC0415 - likewise

            place, margin = stated_choice(text, spelled, format_named(format, "choice"))
            return ChoiceReading("tie" if place == TIE else labels[place], "strict", margin=margin)
        names = tuple(dict.fromkeys(spelled if tie is None or tie in spelled else (*spelled, tie)))
        choice, outcome = _choice(text, names, tie)
    except Rejected as reject:
        return ChoiceReading(None, "rejected", reject.reason)
    return ChoiceReading("tie" if choice == "tie" else labels[spelled.index(choice)], outcome)


_KEYS: Final = frozenset(
    {"choice", "winner", "verdict", "preference", "preferred", "selection", "answer", "result", "decision"}
)
_LABELLED: Final = rf"(?:(?:my|the|final|overall|your)\s){{0,3}}(?:{'|'.join(sorted(_KEYS))})"
_BETTER: Final = (
    rf"\sis\s(?:the\s)?better(?=(?:\s(?:\w+\s)?{NOUN}|\sthan\s[^.,!?;\n]{{1,30}})?(?:[.!,]|\s*$)"
    r"|\s(?:because|as|since|for)\b)(?![^.!?\n]*(?:[;:–—?]|,\s(?:but|worse)\b))"
)
_SENTENCE: Final = r"(?:^|(?<=[.!?]\s))"


@lru_cache(maxsize=256)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a label alone, a last one, a mark, a labelled line and the verdict sentences."""
    flags = re.IGNORECASE if len({label.casefold() for label in labels}) == len(labels) else re.NOFLAG
    spelled = sorted({*labels, "tie", "draw"}, key=len, reverse=True)
    label = rf"(?P<label>{'|'.join(map(re.escape, spelled))})(?![\w+>=])"
    named = rf"[*_`\"'(\[]{{0,4}}(?:(?:the\s)?{NOUN}[\s#:_-]{{0,3}})?[*_`\"'(\[]{{0,4}}{label}[*_`\"')\]]{{0,4}}"
    with_noun = rf"[*_`\"'(\[]{{0,4}}(?:the\s)?{NOUN}[\s#:_-]{{0,3}}[*_`\"'(\[]{{0,4}}{label}[*_`\"')\]]{{0,4}}"
    marked = rf"\[\[\s?{label}\s?\]\]"
    second_mark = marked.replace("?P<label>", "?P<other>")
    return tuple(
        re.compile(pattern, flags | re.MULTILINE)
        for pattern in (
            rf"\s*(?:i\s(?:choose|prefer|pick|select)\s)?{named}\s?\.?\s*",
            rf"(?:^|(?<=[.!?\]]\s))(?:[^.!?\]\n]{{0,18}}[\s:])?{named}(?:\sis\s(?:the\s)?better)?[\s.!]*\Z",
            marked,
            rf"^[\s*_#>-]{{0,6}}{_LABELLED}[*_]{{0,3}}\s?(?:is\s?)?[:：]?[*_\s]{{1,5}}{named}[ \t.]*$",
            rf"{_SENTENCE}(?:(?:therefore|overall)\b[^.!?\n]{{0,200}}?,\s)?(?:{with_noun}|{second_mark}){_BETTER}",
            rf"{_SENTENCE}(?:therefore,?\s)?i\s(?:choose|prefer|pick|select)\s{named}(?=[\s.]|$)(?!\s(?:or|and)\b)",
        )
    )


def _choice(text: str, labels: tuple[str, ...], tie: str | None) -> tuple[str, Outcome]:
    if len(labels) < 2 or len({label.strip() for label in labels}) < len(labels):
        raise Rejected("fewer than two different labels to choose from")
    body = strip_fence(answer_of(text))
    is_cased = len({label.casefold() for label in labels}) < len(labels)
    forms = {
        label if is_cased else label.casefold(): "tie" if label == tie or label.casefold() in ("tie", "draw") else label
        for label in ("tie", "draw", *labels)
    }
    alone, *_ = _patterns(labels)
    documents = find_documents(body)
    fields = [(plain_key(key), str(value)) for document in documents for key, value in pairs_of(document.node)]
    if values := [alone.fullmatch(value[:100]) for key, value in fields if key in _KEYS]:
        outcome: Outcome = "strict" if documents[0].strict else "repaired"
        if documents[-1].node is None or documents[-1].cut or is_text_after(body[documents[-1].end :]):
            raise Rejected(WORDS_AROUND, doubt=True)
        words = "\n".join(value for key, value in fields if key not in _KEYS)
        return _agreed([*(match and match["label"] for match in values), *_marked(words, labels)], forms), outcome
    if match := alone.fullmatch(body):
        return _agreed([match["label"]], forms), "text"
    if named := _marked(body, labels):
        return _agreed(named, forms), "text"
    raise Rejected("no choice in a place of its own")


def _marked(text: str, labels: tuple[str, ...]) -> list[str]:
    """Return the labels that stand in places of their own in words: also in a short last sentence after the others."""
    _, ending, *places = _patterns(labels)
    marks = [mark for place in places for mark in place.finditer(text)]
    last = ending.search(text)
    if marks and last and max(mark.end() for mark in marks) <= last.start():
        marks.append(last)
    return [next(filter(None, mark.groupdict().values())) for mark in marks]


def _agreed(named: Sequence[str | None], forms: dict[str, str]) -> str:
    choices = {None if name is None else forms.get(name) or forms.get(name.casefold()) for name in named}
    choice = choices.pop()
    if choices or choice is None:
        raise Rejected("marks that contradict each other, or name none of the labels", doubt=True)
    return choice


# --- rankings --------------------------------------------------------------------------------------------------------


def extract_ranking(
    text: str | None,
    ids: Sequence[Id],
    *,
    format: str | None = None,  # noqa: A002 - what people call it
) -> RankingReading[Id]:
    """Extract the order of ``ids`` that a judge's reply states, best first.

    The reply must be the order alone: ``[2] > [1]``, a JSON list (under ``ranking``), or a numbered line an id. The
    first mention of an id counts; repeats and unknown names are dropped and reported. ``2``, ``[2]``, ``Passage 2`` all
    match id ``2``. Words around the order, tied positions and two different orders are rejected. ``format`` names the
    format that the judge was asked for (docs/reading.md). Raises ConfigError for an unknown format or a format without
    a ranking, and never because of the text. ``text`` None is an empty reply; anything else but text is a ConfigError.
    """
    text = reply_text(text)
    names = Names(tuple(map(str, ids)))
    by_name = dict(zip(map(str, ids), ids, strict=True))
    try:
        if format is not None:
            from calipers.replies.formats.known import format_named  # noqa: PLC0415 - most replies have no format
            from calipers.replies.formats.values import stated_ranking  # noqa: PLC0415 - likewise

            form = format_named(format, "ranking")
            if form.names:
                places = stated_ranking(text, tuple(by_name), form)
                return RankingReading(tuple(ids[place] for place in places), "strict")
        written, outcome = _order(strip_fence(answer_of(text)), names)
    except Rejected as reject:
        return RankingReading((), "rejected", tuple(by_name.values()), reason=reject.reason)
    ranking: dict[str, None] = {}
    dropped = []
    for name in written[:_MOST_NAMES]:
        id_ = names.match(name)
        if id_ is None or id_ in ranking:
            dropped.append(str(name)[:40])
        else:
            ranking[id_] = None
    if not ranking:
        return RankingReading((), "rejected", tuple(by_name.values()), tuple(dropped), "the order names no candidate")
    missing = tuple(id_ for name, id_ in by_name.items() if name not in ranking)
    reason = "ids are missing" if missing else "names were dropped" if dropped else None
    return RankingReading(
        tuple(by_name[name] for name in ranking), "partial" if missing else outcome, missing, tuple(dropped), reason
    )


_INTRO: Final = re.compile(
    r"[\s*_#]{0,6}(?:(?:my|the|final|overall)\s){0,2}ranking[*_]{0,3}\s?[:：]?[*_]{0,3}\s*", re.IGNORECASE
)
_CHAIN: Final = re.compile(r"(?!\s*>)\s*(?:\d{1,3}\.\s)?(?P<chain>[^>]{0,60}(?:>[^>]{0,60})+)", re.DOTALL)
_NUMBERED: Final = re.compile(r"[\s*_-]{0,6}(?P<place>\d{1,3})[.)][\s*_]{1,5}(?P<name>\S[^\n.!?:]{0,80})")
_INLINE: Final = re.compile(r"(?P<place>\d{1,3})\.\s\[(?P<name>[^\[\]\n]{1,40})\]\s*")


def _order(body: str, names: Names) -> tuple[list[Any], Outcome]:
    """Return the names in a reply that is only an order, as written. Raises Rejected."""
    documents = find_documents(body)
    if body[:1] in ("{", "[") and documents and documents[0].start == 0:
        document = documents[0]
        order = _listed(document.node)
        if order is not None and len(documents) == 1:
            if document.cut or is_text_after(body[document.end :]):
                raise Rejected("words around the order", doubt=True)
            return order, "strict" if document.strict else "repaired"
        if body[0] == "{" or order is None:
            raise Rejected("no order under the key that was asked for")
    intro = _INTRO.match(body)
    return _order_in_words(body[intro.end() :] if intro else body, names), "text"


def _order_in_words(body: str, names: Names) -> list[Any]:
    """Return the names of a chain ``[2] > [1]``, of numbered lines, or of a list with commas. Raises Rejected."""
    if chain := _CHAIN.fullmatch(body):
        written = [part.strip() for part in chain["chain"].split(">") if part.strip(" []")]
        known = [name for name in written if names.match(name)]
        strange = [name for name in written if not re.fullmatch(r"[\[(\s]{0,3}[\w.-]{0,20}[\])\s.]{0,3}", name)]
        if len(known) < 2 or any(name not in known for name in strange):
            raise Rejected("no order of the candidates, or words around it")
        return written
    if (inline := list(_INLINE.finditer(body))) and "".join(match[0] for match in inline) == body.strip():
        return _numbered(inline)
    lines = [line for line in body.split("\n") if line.strip()]
    rows = [_NUMBERED.fullmatch(line.rstrip()) for line in lines[:_MOST_NAMES]]
    if len(rows) > 1 and all(row and names.match(row["name"]) for row in rows):
        return _numbered([row for row in rows if row])
    parts = re.split(r"\s*,\s*", body.strip(" .\n"))
    if len(parts) > 1 and all(names.match(part) for part in parts):
        return list(parts)
    raise Rejected("no order of the candidates in the reply")


def _numbered(rows: Sequence[re.Match[str]]) -> list[Any]:
    if [int(row["place"]) for row in rows] != list(range(1, len(rows) + 1)):
        raise Rejected("places that are not numbered from 1", doubt=True)
    return [row["name"].strip(" *_") for row in rows]


def _listed(node: Any) -> list[Any] | None:
    """Return the items of a list, or of the list under ``ranking``; None for any other document."""
    if pairs_of(node):
        fields = {plain_key(key): value for key, value in pairs_of(node)}
        node = fields.get("ranking") if fields.keys() <= {"ranking", *EXPLAINING} else None
    if not is_list(node) or not node or any(isinstance(item, bool | dict | list | None) for item in node):
        return None
    return list(node)
