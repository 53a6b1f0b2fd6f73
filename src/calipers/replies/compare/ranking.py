"""Reads in which order a judge's reply ranks the candidates, best first.

Only an explicit order counts: ``[2] > [1]``, a list, numbered lines. A ranking that must be inferred from prose, or one
with tied positions, is not read. Scores are read by ``scores``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Generic, TypeVar

from calipers.replies.caveats.denials import is_verdict_retracted
from calipers.replies.caveats.mentions import is_only_mentioned, ranks_by_other_quantity
from calipers.replies.caveats.ownership import document_denies_itself
from calipers.replies.caveats.quotations import is_in_block_quote, is_others_verdict
from calipers.replies.caveats.retractions import (
    begins_with_best,
    begins_with_worst,
    why_taken_back,
    words_after_document,
)
from calipers.replies.compare.references import NOUNS, distinguishing_names, labels_in_plain_text
from calipers.replies.formats.known import format_named
from calipers.replies.formats.labels import ranked_positions
from calipers.replies.rejected import Rejected
from calipers.replies.sentences import CORRECTING, FINAL, prepare_reply
from calipers.replies.text import reply_text
from calipers.types import Outcome

Id = TypeVar("Id", str, int)

_MOST_RUNS = 64
"""The number of orders that are read, counted from the end of the reply."""
_MOST_NAMES = 4096
"""At most this many names are read in one order. More names are a repetition loop."""


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


@dataclass(frozen=True, slots=True)
class _Order:
    """An order of candidates found in a reply: their names, best first, and the position where it ends.

    ``whole``: the reply is only this order. ``final``: words before the order call it final.
    """

    written: tuple[str, ...]
    whole: bool = False
    final: bool = False
    end: int = 0


def extract_ranking(
    text: str | None,
    ids: Sequence[Id],
    *,
    format: str | None = None,  # noqa: A002 - what people call it
) -> RankingReading[Id]:
    """Extract the order of ``ids`` that a judge's reply states, best first.

    The first mention of an id counts; repeats and unknown names are dropped and reported. ``2``, ``[2]``, ``Passage 2``
    all match id ``2``. An echo of the candidates, a template, tied positions and two different orders are rejected.
    ``format`` names the format that the judge was asked for (docs/reading.md). Raises ConfigError for an unknown format
    or a format without a ranking, and never because of the text. ``text`` None is an empty reply;
    anything else but text is a ConfigError.
    """
    text = reply_text(text)
    spelled = tuple(map(str, ids))
    form = format_named(format, "ranking") if format is not None else None
    try:
        if form is not None and form.names:
            return RankingReading(tuple(ids[place] for place in ranked_positions(text, spelled, form)), "strict")
        order, note = _read(text, spelled)
    except Rejected as reject:
        return RankingReading((), "rejected", tuple(ids), (), reject.reason)
    places, dropped = _placed(order.written, spelled)
    named = set(places)
    missing = tuple(one for place, one in enumerate(ids) if place not in named)
    notes = [f"{len(missing)} of {len(ids)} ids are not named"] if missing else []
    notes += [f"{len(dropped)} repeated or foreign names were dropped"] if dropped else []
    notes += [note] if note else []
    outcome: Outcome = "partial" if missing else "repaired" if notes else "strict" if order.whole else "text"
    return RankingReading(
        tuple(ids[place] for place in places), outcome, missing, tuple(dropped), "; ".join(notes) or None
    )


def _read(text: str, ids: tuple[str, ...]) -> tuple[_Order, str]:
    """Return the order that a reply states, and a note on how it was chosen. Raises Rejected."""
    order, note = _found(text, ids)
    if len(_placed(order.written, ids)[0]) < min(2, len(ids)):
        raise Rejected(note or "fewer than two ids are named in the order")
    return order, note


def _found(text: str, ids: tuple[str, ...]) -> tuple[_Order, str]:
    reply = prepare_reply(text, keep=labels_in_plain_text(ids)[1])
    listed = _listed(reply.document)
    if listed and _placed(listed, ids)[0]:
        turned = _of_keys(reply.document)
        if turned is None or document_denies_itself(reply.document) or is_verdict_retracted(words_after_document(text)):
            raise Rejected(_UNSURE, doubt=True)
        return _Order(listed[::-1] if turned else listed, whole=True), ""
    order, note = _settled(_written(reply.text, ids), ids)
    undone = why_taken_back(reply.text[order.end :], ids)
    if undone is not None:
        raise Rejected(undone, doubt=True)
    return order, note


def _written(text: str, ids: tuple[str, ...]) -> list[_Order]:
    """Return the orders of candidates in the running text of a reply."""
    every = list(_runs(text, ids))
    runs = [run for run in every[-_MOST_RUNS:] if not _is_quoted(run, ids, text)]
    if any(run.sign == "=" for run in runs):
        raise Rejected("positions are tied")
    chains = [_directed(run) for run in runs if run.sign in (">", "<")]
    lists = [_directed(run) for run in runs if run.sign == "," and (run.order.whole or run.announced)]
    return chains or lists or list(_numbered(text, ids))


_UNSURE = "which end of the order is the best is not certain"


def _settled(orders: list[_Order], ids: tuple[str, ...]) -> tuple[_Order, str]:
    """Choose between the orders in a reply: the only one, or the last if it is called final or alone is complete."""
    if not orders:
        raise Rejected("no order is stated")
    placed = [tuple(_placed(order.written, ids)[0]) for order in orders]
    if not all(order.written for order in orders):
        raise Rejected(_UNSURE, doubt=True)
    if len(set(placed)) == 1:
        return orders[-1], ""
    complete = {places for places in placed if len(places) == len(ids)}
    if orders[-1].final or complete == {placed[-1]}:
        return orders[-1], "the last of several orders"
    raise Rejected("several orders that contradict each other", doubt=True)


def _placed(written: Sequence[str], ids: tuple[str, ...]) -> tuple[list[int], list[str]]:
    fold = distinguishing_names(ids).fold
    known = {fold(one): place for place, one in reversed(list(enumerate(distinguishing_names(ids).shorts)))}
    known |= {fold(one): place for place, one in reversed(list(enumerate(ids)))}
    places: list[int] = []
    taken: set[int] = set()
    dropped: list[str] = []
    for name in written:
        place = known.get(fold(name))
        if place is None or place in taken:
            dropped.append(name)
            continue
        taken.add(place)
        places.append(place)
    return places, dropped


# --- candidates' names, and the signs between two names ---------------------------------------------------------------

_THING = rf"(?:(?:{NOUNS}|doc|paragraph|chunk|id|no\.?|number)s?\s?[#:_-]?\s?)?"
_OPEN, _CLOSE, _COUNTER = r"[\[(*_\"'`]{0,4}", r"[\])*_\"'`]{0,4}", r"(?:\d{1,3}\s?[.)]\s{0,3})?"
_NEXT = rf"\s{{0,4}}{_COUNTER}{_OPEN}{_THING}{_OPEN}"


@cache
def _gaps() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return (
        (">", re.compile(rf"{_CLOSE}\s{{0,4}}(?:>{{1,3}}|→|->|,? ?then\b){_NEXT}", re.IGNORECASE)),
        ("<", re.compile(rf"{_CLOSE}\s{{0,4}}<{{1,3}}(?!-){_NEXT}", re.IGNORECASE)),
        ("=", re.compile(rf"{_CLOSE}\s{{0,4}}(?:={{1,2}}|≈|~){_NEXT}", re.IGNORECASE)),
        (">", re.compile(rf"[)*_\"'`]{{0,3}}\][*_]{{0,2}}[ \t;]{{0,3}}{_COUNTER}[*_]{{0,2}}\[{_THING}", re.IGNORECASE)),
        (",", re.compile(rf"{_CLOSE}\s{{0,2}},\s{{0,2}}(?:and\s)?{_OPEN}{_THING}{_OPEN}", re.IGNORECASE)),
    )


_LONGEST_GAP = 48


@dataclass(frozen=True, slots=True)
class _Run:
    """Names in a row with the same kind of sign between them; ``announced`` if a word such as *ranking:* precedes them.

    ``lead`` and ``after`` are the words around the names, ``start`` is the position of the first name.
    """

    order: _Order
    sign: str
    announced: bool
    lead: str
    after: str
    start: int


@lru_cache(maxsize=64)
def _name(ids: tuple[str, ...]) -> re.Pattern[str]:
    """Return a regex for a candidate's name in an order: any number if the ids are numbers, any letter if they are
    letters.

    A list counter such as the ``1.`` of ``1. [3]`` is no name.
    """
    known = distinguishing_names(ids)
    if any(known.words):
        forms = "|".join(sorted(known.spellings(ids), key=len, reverse=True)) or r"(?!)"
    elif all(short.isdigit() for short in known.shorts):
        forms = r"\d{1,9}(?!\s?[.)]\s{0,3}[\[*A-Za-z])"
    else:
        forms = r"[A-Za-z]"
    return re.compile(rf"(?<![A-Za-z0-9])(?<!\d\.)(?:{forms})(?![A-Za-z0-9]|\.\d)", re.IGNORECASE)


def _runs(text: str, ids: tuple[str, ...]) -> Iterator[_Run]:
    """Yield the longest rows of names in a reply, in order."""
    row: list[re.Match[str]] = []
    signs: set[str] = set()
    for match in _name(ids).finditer(text):
        sign = _between(text[row[-1].end() : match.start()]) if row else None
        if row and sign is not None and (not signs or (sign == ",") == (signs == {","})):
            row.append(match)
            signs.add(sign)
            continue
        yield from _run(text, row, signs)
        row, signs = [match], set()
    yield from _run(text, row, signs)


def _between(gap: str) -> str | None:
    if len(gap) > _LONGEST_GAP:
        return None
    return next((sign for sign, pattern in _gaps() if pattern.fullmatch(gap)), None)


def _run(text: str, row: list[re.Match[str]], signs: set[str]) -> Iterator[_Run]:
    if len(row) < 2:
        return
    start, end = row[0].start(), row[-1].end()
    if text[: row[-1].start()].endswith("[") and not text[end:].strip():
        row = row[:-1]  # the reply is cut inside a bracket, so ``[1`` may be ``[12]``
    lead = text[max(0, start - 160) : start]
    whole = not text[end:].strip("])>*_'\"`. \t\n[") and not re.sub(
        rf"{_COUNTER}{_THING}", "", lead, flags=re.IGNORECASE
    ).strip("[(*_'\"` \t\n")
    sign = "=" if "=" in signs or {"<", ">"} <= signs else ">" if ">" in signs else "<" if "<" in signs else ","
    written = tuple(match[0] for match in row[:_MOST_NAMES])
    order = _Order(written, whole=whole, final=_is_final(lead), end=end)
    after = text[end : end + 80].split("\n", maxsplit=1)[0]
    yield _Run(order, sign, bool(_ANNOUNCED.search(lead)), lead, after, start)


def _is_quoted(run: _Run, ids: tuple[str, ...], text: str) -> bool:
    """Whether the words around a row of names say that it is somebody else's order, or does not rank by quality."""
    words = re.sub(rf"{_OPEN}{_THING}{_OPEN}\Z", "", run.lead)
    if is_in_block_quote(text, run.start, ids) or is_others_verdict(words, ids, of_scores=False):
        return True
    end = run.order.end
    return is_only_mentioned(words, "", text[end:]) or ranks_by_other_quantity(words, run.after)


def _directed(run: _Run) -> _Order:
    """Return a row's names, best first, according to the words around it. Empty if its signs contradict these words."""
    lead = run.lead.rsplit("\n\n", 1)[-1]
    turned = begins_with_worst(lead, run.after)
    written = run.order.written
    sure = turned is not None and not (turned and run.sign == ">")
    sure = sure and not (run.sign == "<" and begins_with_best(lead, run.after))
    return replace(run.order, written=(written[::-1] if turned or run.sign == "<" else written) if sure else ())


def _of_keys(document: object) -> bool | None:
    """Whether a JSON document says that its order begins with the worst. None if it also says the opposite."""
    if not isinstance(document, dict):
        return False
    words = [str(key)[:80] for key in document]
    words += [value[:200] for value in document.values() if isinstance(value, str)]
    return begins_with_worst(" . ".join(words), "")


_ANNOUNCED = re.compile(
    r"(?:\b(?:rank(?:ing|ed)?|order(?:ed)?|sorted|permutation|list)\b|排序|排名)"
    r"[^.\n\d]{0,60}[:=]\s*[\[(*_\"'` ]{0,4}$",
    re.IGNORECASE,
)


def _is_final(lead: str) -> bool:
    return bool(FINAL.search(lead) or CORRECTING.search(lead))


# --- numbered lines, JSON -------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _numbered_line(ids: tuple[str, ...]) -> re.Pattern[str]:
    name = _name(ids).pattern
    return re.compile(
        r"^[ \t*_]{0,6}(?P<nth>\d{1,4})\s?(?:[.):]|st\b|nd\b|rd\b|th\b)[ \t:*_\"'-]{0,4}"
        rf"{_OPEN}{_THING}{_OPEN}(?P<name>{name})(?P<rest>[^\n]*)",
        re.IGNORECASE | re.MULTILINE,
    )


_SHARED = re.compile(
    rf"{_CLOSE}\s?(?:,|and|&|/|=|und|y|et|、|和)\s?{_OPEN}{_THING}{_OPEN}(?:[A-Z]|\d{{1,3}}){_CLOSE}\s{{0,4}}\Z"
)


def _numbered(text: str, ids: tuple[str, ...]) -> Iterator[_Order]:
    """Yield the orders in numbered lines ``1. [3]``. Lines that discuss candidates in the prompt's order are no
    ranking.
    """
    lists: list[tuple[int, list[re.Match[str]]]] = []
    for match in _numbered_line(ids).finditer(text):
        nth = int(match["nth"])
        if nth == 1:
            lists.append((match.start(), []))
        if lists and nth == len(lists[-1][1]) + 1:
            lists[-1][1].append(match)
    for start, found in lists:
        if any(_SHARED.match(match["rest"]) for match in found):
            continue  # two candidates share a position
        written = tuple(match["name"] for match in found[:_MOST_NAMES])
        lead = text[max(0, start - 160) : start]
        talked = any(len(match["rest"]) > 30 for match in found) and not re.search(
            r"rank|order|best|排", lead, re.IGNORECASE
        )
        if len(written) > 1 and not (talked and _placed(written, ids)[0] == list(range(len(written)))):
            rest = text[found[-1].end() : found[-1].end() + 80].split("\n", maxsplit=1)[0]
            order = _Order(written, final=_is_final(lead), end=found[-1].start("rest"))
            yield _directed(_Run(order, ",", announced=True, lead=lead, after=rest, start=start))


def _listed(document: object) -> tuple[str, ...] | None:
    """Return the names in a JSON list, or in an object's only list under a key such as ``ranking``."""
    if isinstance(document, dict):
        lists = [
            value
            for key, value in document.items()
            if isinstance(value, list)
            and re.search(r"rank|order|sorted|permutation|result|排", str(key)[:80], re.IGNORECASE)
        ]
        return _listed(lists[0]) if len(lists) == 1 else None
    if not isinstance(document, list) or not 0 < len(document) <= _MOST_NAMES:
        return None
    if all(isinstance(one, str | int) and not isinstance(one, bool) for one in document):
        return tuple(str(one)[:200] for one in document)
    return _rows(document)


_ID_KEYS = ("id", "index", "candidate", "passage", "document", "passage_id", "label", "name")


def _rows(rows: list[object]) -> tuple[str, ...] | None:
    """Return the names of rows ``{"id": ..., "rank": ...}``, sorted by rank, or in their own order if no row has a
    rank.

    Returns None if two ranks are equal.
    """
    found: list[tuple[object, str]] = []
    for row in rows:
        if not isinstance(row, dict):
            return None
        keys = {str(key)[:80].lower(): value for key, value in row.items()}
        name = next((keys[key] for key in _ID_KEYS if key in keys), None)
        scored = any(re.search(r"score|rating", key) for key in keys)
        if not isinstance(name, str | int) or (scored and "rank" not in keys):
            return None
        found.append((keys.get("rank", keys.get("position")), str(name)[:200]))
    if all(rank is None for rank, _ in found):
        return tuple(name for _, name in found)
    ranks = [(rank, name) for rank, name in found if isinstance(rank, int)]
    if len(ranks) != len(found) or len({rank for rank, _ in ranks}) != len(ranks):
        return None
    return tuple(name for _, name in sorted(ranks))
