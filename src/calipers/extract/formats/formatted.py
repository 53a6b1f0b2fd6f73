"""What a reply in a known format states: the value in the format's own place, or why there is none.

Bounded and total like all reading. Not responsible for where values stand (``formats``), nor for whose id or label a
value belongs to (the readers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

from calipers.extract.caveats.denials import withdrawn
from calipers.extract.caveats.quotations import is_others
from calipers.extract.compare.claims import TIE
from calipers.extract.compare.references import HAN_NOUNS, NOUNS, clashing, spelling
from calipers.extract.documents import find_documents, unwrapped
from calipers.extract.formats.known import FORMATS, Format, Reads
from calipers.extract.marks import Mark, asked, settled, torn
from calipers.extract.scores.prose import CORRECTING, FINAL, Prepared, plain, prepared
from calipers.extract.strictjson import Pairs
from calipers.extract.text import cap, strip_reasoning
from calipers.types import Outcome

_MOST = 64
"""Values looked at in one place, from the end; more is a repetition loop."""
_MOST_KEYS = 500
_NUMBER = r"[-+]?\d{1,4}(?:\.\d{1,3})?(?:\s?(?:/|out of|of)\s?\d{1,3})?"
_BETWEEN = r"[\s*]{0,3}(?:[,;|&]|\s)[\s*]{0,3}"

Said: TypeAlias = Hashable
"""A choice's ``(place, margin)``, numbers as written, a verdict's word, or names, best first."""


@dataclass(frozen=True, slots=True)
class Stated:
    """``value`` in its place; ``end`` is where its last mention ends in ``reply`` (-1: in a document)."""

    value: Any
    outcome: Outcome = "strict"
    reason: str | None = None
    reply: Prepared | None = None
    last: bool = False
    """Whether nothing follows it."""


@dataclass(frozen=True, slots=True)
class Unstated:
    """Why nothing can be taken from the reply.

    ``doubt``: it says too much; ``truncated``: it ends too early; ``nowhere``: no value stands where the format has it.
    """

    reason: str
    doubt: bool = False
    truncated: bool = False
    nowhere: bool = False


@dataclass(frozen=True, slots=True)
class Values:
    """What a value can look like: a regex, and what a match or a scalar of a document means (None: nothing)."""

    pattern: str
    of_match: Callable[[re.Match[str]], Said | None] = field(compare=False)
    of_scalar: Callable[[object], Said | None] = field(compare=False)


def stated(text: str, form: Format, kind: Reads, *, count: int = 1) -> Stated | Unstated:
    """The one value of ``kind`` that ``text`` states in the places of ``form``; ``count`` candidates were shown."""
    reply = prepared(text)
    if isinstance(reply, str):
        return Unstated(reply, truncated="never" in reply)
    values = _values(form.name, kind, count)
    if form.keys:
        found = _of_documents(text, form.keys, values)
        if found is not None:
            return found
    for place in form.places:
        found = _settled(list(_marks(reply.text, place, values)), reply, values)
        if found is not None:
            return found
    return Unstated(f"no value where the format {form.name} has it", nowhere=True)


def listed(text: str, form: Format, count: int) -> Stated | Unstated:
    """``count`` numbers in as many places, in order."""
    reply = prepared(text)
    if isinstance(reply, str):
        return Unstated(reply)
    values = _values(form.name, "scores", 1)
    for place in form.places:
        found = list(_marks(reply.text, place, values))
        if found and len(found) != count:
            return Unstated(f"{len(found)} scores where {count} were asked for", doubt=True)
        if found:
            tail = reply.text[found[-1].match.end() :]
            if withdrawn(tail):
                return Unstated("words after the verdict take it back", doubt=True)
            written = tuple(mark.match["numbers"] for mark in found)
            return Stated(written, reply=reply, last=not tail.strip())
    return Unstated(f"no value where the format {form.name} has it", nowhere=True)


def ordered(text: str) -> Stated | Unstated:
    """Names by rank, from rows of ``{"model": ..., "rank": ...}``; the last document that holds such rows counts."""
    body = strip_reasoning(text)
    if body is None:
        return Unstated("the reasoning never ended", truncated=True)
    body = unwrapped(cap(body))
    orders, end = set[Any](), 0
    for document in find_documents(body) or ():
        rows = _rows(document.node)
        if rows is None or is_others(body[max(end, document.start - 200) : document.start]):
            continue
        if document.cut or document.garbled:
            return Unstated(
                "the reply ends inside its ranking" if document.cut else "words out of place", truncated=document.cut
            )
        orders.add(_by_rank(rows))
        end = document.end
    if not orders:
        return Unstated("no ranking in the reply")
    if len(orders) > 1 or None in orders:
        return Unstated("ranks that contradict each other or are tied", doubt=True)
    if withdrawn(body[end:]):
        return Unstated("words after the verdict take it back", doubt=True)
    return Stated(orders.pop())


# --- places ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _pattern(place: str, value: str) -> re.Pattern[str]:
    return re.compile(place.replace("VALUE", f"(?:{value})"), re.IGNORECASE)


def _marks(text: str, place: str, values: Values) -> Iterator[Mark]:
    """The values in one place that are the judge's own verdict: no template, example or quotation."""
    found = list(_pattern(place, values.pattern).finditer(text))[-_MOST:]
    end = 0
    for match in found:
        before = text[max(end, match.start() - 300) : match.start()]
        if asked(match) or torn(match) or is_others(before):
            continue
        lead = before[-30:] + match[0]
        yield Mark(match, bool(FINAL.search(lead)), bool(CORRECTING.search(before + match[0])))
        end = match.end()


def _settled(found: list[Mark], reply: Prepared, values: Values) -> Stated | Unstated | None:
    if not found:
        return None
    value, reason = settled([(values.of_match(mark.match), mark) for mark in found])
    if value is None:
        return Unstated(reason or "the value is none that the format knows", doubt=reason is not None)
    tail = reply.text[found[-1].match.end() :]
    if withdrawn(tail):
        return Unstated("words after the verdict take it back", doubt=True)
    return Stated(value, "repaired" if reason else "strict", reason, reply, not tail.strip())


def _of_documents(text: str, keys: tuple[str, ...], values: Values) -> Stated | Unstated | None:
    """The one value under any of ``keys`` in the documents of a reply."""
    body = strip_reasoning(text)
    body = unwrapped(cap(body)) if body else ""
    said, end, unread = set[Any](), 0, False
    for document in find_documents(body) or ():
        scalars = list(_scalars(document.node, keys))
        if not scalars or is_others(body[max(end, document.start - 200) : document.start]):
            continue
        if document.cut or document.garbled:
            return Unstated(
                "the reply ends inside its verdict" if document.cut else "words out of place", truncated=document.cut
            )
        read = {one for scalar in scalars if (one := values.of_scalar(scalar)) is not None}
        unread = unread or not read
        said |= read
        end = document.end
    if len(said) > 1:
        return Unstated("several verdicts that contradict each other", doubt=True)
    if not said:
        return Unstated("the value is none that the format knows") if unread else None
    if withdrawn(body[end:].lstrip(" \n`~")):
        return Unstated("words after the verdict take it back", doubt=True)
    return Stated(said.pop())


def _pairs(node: object) -> list[tuple[Any, Any]]:
    if isinstance(node, Pairs):
        return list(islice(node, _MOST_KEYS))
    return list(islice(node.items(), _MOST_KEYS)) if isinstance(node, Mapping) else []


def _scalars(node: object, keys: tuple[str, ...], depth: int = 3) -> Iterator[object]:
    pairs = _pairs(node)
    for key, value in pairs:
        if re.sub(r"[\W_]+", "_", str(key)[:80]).strip("_").lower() in keys and not isinstance(value, dict | list):
            yield value
        elif depth and isinstance(value, dict | list):
            yield from _scalars(value, keys, depth - 1)
    if not pairs and isinstance(node, list) and depth:
        for value in node[:_MOST_KEYS]:
            yield from _scalars(value, keys, depth - 1)


def _rows(node: object, depth: int = 3) -> list[dict[str, Any]] | None:
    """The first list of rows that name a model."""
    if isinstance(node, list) and not isinstance(node, Pairs):
        rows = [{str(key)[:80].lower(): value for key, value in _pairs(row)} for row in node[:_MOST_KEYS]]
        if rows and all("model" in row or "model_identifier" in row for row in rows):
            return rows
    inner = [value for _, value in _pairs(node)] if _pairs(node) else node if isinstance(node, list) else []
    found = (_rows(value, depth - 1) for value in inner[:_MOST_KEYS] if isinstance(value, dict | list)) if depth else ()
    return next((rows for rows in found if rows), None)


def _by_rank(rows: list[dict[str, Any]]) -> tuple[str, ...] | None:
    """The models' names, best first; None where ranks or names are not all different."""
    names = [str(row.get("model", row.get("model_identifier")))[:200] for row in rows]
    ranks = [str(row["rank"]) for row in rows if row.get("rank") is not None and not isinstance(row["rank"], bool)]
    if len(set(names)) < len(names):
        return None
    if not ranks:
        return tuple(names)
    numbers = [int(rank) for rank in ranks if re.fullmatch(r"[0-9]{1,4}", rank)]
    if len(set(numbers)) < len(names):
        return None
    return tuple(name for _, name in sorted(zip(numbers, names, strict=True)))


# --- values ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _values(name: str, kind: Reads, count: int) -> Values:
    form = FORMATS[name]
    if kind == "verdict":
        return _words(form)
    return _labels(form) if kind == "choice" and form.names else _numbers(count)


def _words(form: Format) -> Values:
    """A verdict's words; a letter may be followed by its meaning (``A: CORRECT``), and then both count."""
    words = "|".join(sorted(map(spelling, form.verdict), key=len, reverse=True))
    long = "|".join(sorted((spelling(word) for word in form.verdict if len(word) > 1), key=len, reverse=True)) or "(?!)"
    value = rf"(?P<word>{words})(?![A-Za-z0-9])(?:(?<=\b\w)[\s.:)(–-]{{1,4}}(?P<meaning>{long})(?![A-Za-z0-9])\)?)?"
    pattern = re.compile(
        rf"[\s*_\"'`(\[]{{0,6}}{value}(?:[\s*_\"'`)\].]{{0,6}}|[.,;:(–-].{{0,400}})", re.IGNORECASE | re.DOTALL
    )

    def of_match(match: re.Match[str]) -> Said | None:
        said = {form.verdict[_folded(word)] for word in (match["word"], match["meaning"]) if word}
        return _folded(match["word"]) if len(said) == 1 else None

    def of_scalar(value: object) -> Said | None:
        match = pattern.fullmatch(plain(str(value)[:400]))
        return of_match(match) if match else None

    return Values(value, of_match, of_scalar)


def _folded(word: str) -> str:
    return re.sub(r"[\W_]+", " ", word).strip().lower()


def _labels(form: Format) -> Values:
    names = [*(name for names in form.names for name in names), *form.tie]
    exact = clashing(names)
    noun = rf"(?:(?:the\s)?(?:{NOUNS}|{HAN_NOUNS}|feedback)[\s:#_-]{{0,3}}[*_\"'(\[]{{0,3}})?"
    forms = {f"p{place}": _any(names, exact=exact) for place, names in enumerate(form.names)}
    forms["tie"] = rf"(?:a\s)?(?:{_any(form.tie, exact=exact)})"
    graded = r"(?P<graded>[AB]\s?(?:<{1,2}|>{1,2}|={1,2})\s?[AB]|[AB]\+{1,2})|" if form.graded else ""
    named = "|".join(f"(?P<{group}>{form_})" for group, form_ in forms.items())
    value = rf"{noun}(?:{graded}{named})(?![A-Za-z0-9+<>=\u0300-\u036f])"
    pattern = re.compile(rf"[\s*_\"'`(\[]{{0,6}}{value}[\s*_\"'`)\].]{{0,6}}", re.IGNORECASE)

    def of_match(match: re.Match[str]) -> Said | None:
        groups = match.groupdict()
        if groups.get("graded"):
            return _grade(groups["graded"])
        if groups["tie"] is not None:
            return TIE, None
        return next(int(group[1:]) for group in forms if group != "tie" and groups[group] is not None), None

    def of_scalar(scalar: object) -> Said | None:
        match = pattern.fullmatch(plain(str(scalar)[:100]))
        return of_match(match) if match else None

    return Values(value, of_match, of_scalar)


def _any(names: Sequence[str], *, exact: bool) -> str:
    """A regex for one of the names, or for a letter followed by its meaning: ``A: CORRECT``."""
    spelled = sorted((spelling(name, exact=exact) for name in names), key=len, reverse=True)
    if len(names) == 2 and len(names[0]) == 1 < len(names[1]):
        return rf"{spelling(names[0], exact=exact)}(?:[\s.:)(–-]{{1,4}}{spelling(names[1], exact=exact)}\)?)?|{spelling(names[1], exact=exact)}"
    return "|".join(spelled) or r"(?!)"


def _grade(written: str) -> tuple[int, float] | None:
    """``A>>B``, ``B+`` as a place and a margin: 1 for the stronger of two grades, 0.5 for the weaker, 0 for a tie."""
    signs = re.sub(r"[AB\s]", "", written.upper())
    left, right = written.upper()[0], written.upper()[-1]
    if left == right:
        return None
    return (TIE, 0.0) if "=" in signs else ("AB".index(right if "<" in signs else left), len(signs) / 2)


def _numbers(count: int) -> Values:
    value = rf"(?P<numbers>{_NUMBER}(?:{_BETWEEN}{_NUMBER}){{{count - 1}}})(?![\d%]|[.,]\d|\s?[-–/]\s?\d)"

    def of_match(match: re.Match[str]) -> Said | None:
        return tuple(re.findall(_NUMBER, match["numbers"]))

    def of_scalar(scalar: object) -> Said | None:
        if isinstance(scalar, bool) or count != 1:
            return None
        return (str(scalar)[:100],) if isinstance(scalar, int | float | str) else None

    return Values(value, of_match, of_scalar)
