"""Finds the value that a reply in a known format states, in the place that the format defines.

Reading is bounded in time and never guesses. ``known`` defines the places; ``labels`` assigns the values to ids or
labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from calipers.replies.caveats.denials import is_choice_withdrawn
from calipers.replies.caveats.ownership import values_of_keys
from calipers.replies.caveats.quotations import is_others_verdict
from calipers.replies.compare.claims import TIE
from calipers.replies.compare.references import HAN_NOUNS, NOUNS, do_names_clash, fold_name, name_regex
from calipers.replies.documents import find_documents, unescape_reply
from calipers.replies.formats.known import Format, Reads, known_formats
from calipers.replies.marks import Mark, agreed_value, own_marks
from calipers.replies.rejected import Rejected
from calipers.replies.sentences import Prepared, plain_punctuation, prepare_reply
from calipers.replies.strictjson import pairs_of
from calipers.replies.text import end_of_reply, strip_reasoning
from calipers.types import Outcome

_MOST_ROWS = 500
_NUMBER = r"[-+]?\d{1,4}(?:\.\d{1,3})?(?:\s?(?:/|out of|of)\s?\d{1,3})?"
_BETWEEN = r"[\s*]{0,3}(?:[,;|&]|\s)[\s*]{0,3}"

Meaning: TypeAlias = Hashable
"""What a value means: ``(position, margin)`` for a choice, the numbers as written, or the word of a verdict."""


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value found in a reply: in the text ``reply``, or in a JSON document if ``reply`` is None.

    ``last``: no text follows the value.
    """

    value: Any
    outcome: Outcome = "strict"
    reason: str | None = None
    reply: Prepared | None = None
    last: bool = False


@dataclass(frozen=True, slots=True)
class ValueKind:
    """How to recognise a value in a judge's reply.

    ``pattern`` is a regex. ``of_match`` returns the meaning of a regex match and ``of_scalar`` that of a JSON scalar,
    or None.
    """

    pattern: str
    of_match: Callable[[re.Match[str]], Meaning | None] = field(compare=False)
    of_scalar: Callable[[object], Meaning | None] = field(compare=False)


def stated_value(text: str, form: Format, kind: Reads, *, count: int = 1) -> StatedValue:
    """Extract the value of ``kind`` that a reply states in the places of ``form``, for ``count`` candidates.

    Raises Rejected if the reply has no such value, or none that can be trusted.
    """
    reply = prepare_reply(text)
    listed = kind == "scores" and form.numbers == "listed"
    values = _values(form.name, kind, 1 if listed else count)
    found = list(_in_documents(text, lambda node: list(values_of_keys(node, form.keys)))) if form.keys else []
    read = {meaning for scalars in found for one in scalars if (meaning := values.of_scalar(one)) is not None}
    if len(read) > 1:
        raise Rejected("several verdicts that contradict each other", doubt=True)
    if found:
        return StatedValue(_known(next(iter(read), None)))
    for place in form.places:
        if marks := list(_in_place(reply.text, place, values)):
            return _listed(marks, count, reply) if listed else _agreed(marks, values, reply)
    raise Rejected(f"no value in the place that the format {form.name} defines", nowhere=True)


def _agreed(marks: list[Mark], values: ValueKind, reply: Prepared) -> StatedValue:
    value, reason = agreed_value([(values.of_match(mark.match), mark) for mark in marks])
    return StatedValue(_known(value), "repaired" if reason else "strict", reason, reply, _is_last(marks[-1], reply))


def _listed(marks: list[Mark], count: int, reply: Prepared) -> StatedValue:
    """Return the numbers of a reply that states one score per candidate, each score in a place of its own."""
    if len(marks) != count:
        raise Rejected(f"{len(marks)} scores where {count} were asked for", doubt=True)
    return StatedValue(tuple(mark.match["numbers"] for mark in marks), reply=reply, last=_is_last(marks[-1], reply))


def _is_last(mark: Mark, reply: Prepared) -> bool:
    """Whether no text follows a mark. Raises Rejected if the words after the mark take it back."""
    tail = reply.text[mark.match.end() :]
    if is_choice_withdrawn(tail):
        raise Rejected("words after the verdict take it back", doubt=True)
    return not tail.strip()


def _known(meaning: Meaning | None) -> Meaning:
    if meaning is None:
        raise Rejected("the value is not one that the format defines")
    return meaning


def ranked_models(text: str) -> tuple[str, ...]:
    """Extract the models' names by rank from a reply's rows of ``{"model": ..., "rank": ...}``. Raises Rejected."""
    orders = {_by_rank(rows) for rows in _in_documents(text, _rows)}
    if not orders:
        raise Rejected("no ranking in the reply")
    order = orders.pop()
    if orders or order is None:
        raise Rejected("ranks that contradict each other or are tied", doubt=True)
    return order


@lru_cache(maxsize=256)
def _pattern(place: str, value: str) -> re.Pattern[str]:
    return re.compile(place.replace("VALUE", f"(?:{value})"), re.IGNORECASE)


def _in_place(text: str, place: str, values: ValueKind) -> Iterator[Mark]:
    """Yield the values in one place that are the judge's own verdict, and not a template, an example or a quotation."""
    return own_marks(_pattern(place, values.pattern).finditer(text), is_others_verdict)


def _in_documents(text: str, read: Callable[[Any], list[Any] | None]) -> Iterator[list[Any]]:
    """Yield what ``read`` finds in those JSON documents of a reply that are the judge's own.

    Raises Rejected if such a document is damaged, or if words after it take the verdict back.
    """
    body = strip_reasoning(text)
    if body is None:
        raise Rejected("the reasoning never ended", truncated=True)
    body = unescape_reply(end_of_reply(body))
    end = 0
    for document in find_documents(body) or ():
        found = read(document.node)
        if not found or is_others_verdict(body[max(end, document.start - 200) : document.start]):
            continue
        if document.cut or document.garbled:
            reason = "the reply ends inside its verdict" if document.cut else "words out of place inside the verdict"
            raise Rejected(reason, truncated=document.cut)
        end = document.end
        yield found
    if end and is_choice_withdrawn(body[end:].lstrip(" \n`~")):
        raise Rejected("words after the verdict take it back", doubt=True)


def _rows(node: Any, depth: int = 3) -> list[dict[str, Any]] | None:
    """Return the first list of rows that name a model."""
    pairs = pairs_of(node)
    items = node[:_MOST_ROWS] if isinstance(node, list) and not pairs else []
    rows = [{str(key)[:80].lower(): value for key, value in pairs_of(item)} for item in items]
    if rows and all("model" in row or "model_identifier" in row for row in rows):
        return rows
    inner = [value for _, value in pairs] or items
    found = (_rows(value, depth - 1) for value in inner[:_MOST_ROWS] if depth and isinstance(value, dict | list))
    return next((rows for rows in found if rows), None)


def _by_rank(rows: list[dict[str, Any]]) -> tuple[str, ...] | None:
    """Return the models' names, best first. None if two ranks or two names are equal."""
    names = [str(row.get("model", row.get("model_identifier")))[:200] for row in rows]
    ranks = [str(row["rank"]) for row in rows if row.get("rank") is not None and not isinstance(row["rank"], bool)]
    if not ranks and len(set(names)) == len(names):
        return tuple(names)
    numbers = [int(rank) for rank in ranks if re.fullmatch(r"[0-9]{1,4}", rank)]
    if len(set(names)) < len(names) or len(set(numbers)) < len(names):
        return None
    return tuple(name for _, name in sorted(zip(numbers, names, strict=True)))


# --- values -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _values(name: str, kind: Reads, count: int) -> ValueKind:
    form = known_formats()[name]
    if kind == "verdict":
        return _words(form)
    return _labels(form) if kind == "choice" and form.names else _numbers(count)


def _words(form: Format) -> ValueKind:
    """Recognise a verdict's words. A letter followed by its meaning (``A: CORRECT``) counts only if both agree."""
    spelled = sorted(form.verdict, key=lambda word: -len(name_regex(word)))
    words = "|".join(map(name_regex, spelled))
    long = "|".join(name_regex(word) for word in spelled if len(word) > 1) or "(?!)"
    value = rf"(?P<word>{words})(?![A-Za-z0-9])(?:(?<=\b\w)[\s.:)(–-]{{1,4}}(?P<meaning>{long})(?![A-Za-z0-9])\)?)?"

    def of_match(match: re.Match[str]) -> Meaning | None:
        met = {form.verdict[fold_name(word)] for word in (match["word"], match["meaning"]) if word}
        return fold_name(match["word"]) if len(met) == 1 else None

    return _scalars_too(value, of_match, 400, r"(?:[\s*_\"'`)\].]{0,6}|[.,;:(–-].{0,400})")


def _scalars_too(
    value: str, of_match: Callable[[re.Match[str]], Meaning | None], longest: int, after: str
) -> ValueKind:
    """Recognise values that mean the same in a JSON scalar as in running text."""
    pattern = re.compile(rf"[\s*_\"'`(\[]{{0,6}}{value}{after}", re.IGNORECASE | re.DOTALL)

    def of_scalar(scalar: object) -> Meaning | None:
        match = pattern.fullmatch(plain_punctuation(str(scalar)[:longest]))
        return of_match(match) if match else None

    return ValueKind(value, of_match, of_scalar)


def _labels(form: Format) -> ValueKind:
    names = [*(name for names in form.names for name in names), *form.tie]
    exact = do_names_clash(names)
    noun = rf"(?:(?:the\s)?(?:{NOUNS}|{HAN_NOUNS}|feedback)[\s:#_-]{{0,3}}[*_\"'(\[]{{0,3}})?"
    groups = {f"p{place}": _any(names, exact=exact) for place, names in enumerate(form.names)}
    groups["tie"] = rf"(?:a\s)?(?:{_any(form.tie, exact=exact)})"
    graded = r"(?P<graded>[AB]\s?(?:<{1,2}|>{1,2}|={1,2})\s?[AB]|[AB]\+{1,2})|" if form.graded else ""
    named = "|".join(f"(?P<{group}>{spelled})" for group, spelled in groups.items())

    def of_match(match: re.Match[str]) -> Meaning | None:
        found = match.groupdict()
        if found.get("graded"):
            return _grade(found["graded"])
        group = next(group for group in groups if found[group] is not None)
        return TIE if group == "tie" else int(group[1:]), None

    value = rf"{noun}(?:{graded}{named})(?![A-Za-z0-9+<>=\u0300-\u036f])"
    return _scalars_too(value, of_match, 100, r"[\s*_\"'`)\].]{0,6}")


def _any(names: Sequence[str], *, exact: bool) -> str:
    """Return a regex for one of the names, or for a letter followed by its meaning: ``A: CORRECT``."""
    spelled = [name_regex(name, exact=exact) for name in names]
    if len(names) == 2 and len(names[0]) == 1 < len(names[1]):
        letter, word = spelled
        return rf"{letter}(?:[\s.:)(–-]{{1,4}}{word}\)?)?|{word}"
    return "|".join(sorted(spelled, key=len, reverse=True)) or r"(?!)"


def _grade(written: str) -> tuple[int, float] | None:
    """Return the position and margin of a graded mark (``A>>B``, ``B+``): 1 for two signs, 0.5 for one, 0 for a tie."""
    signs = re.sub(r"[AB\s]", "", written.upper())
    left, right = written.upper()[0], written.upper()[-1]
    if left == right:
        return None
    return (TIE, 0.0) if "=" in signs else ("AB".index(right if "<" in signs else left), len(signs) / 2)


def _numbers(count: int) -> ValueKind:
    value = rf"(?P<numbers>{_NUMBER}(?:{_BETWEEN}{_NUMBER}){{{count - 1}}})(?![\d%]|[.,]\d|\s?[-–/]\s?\d)"

    def of_scalar(scalar: object) -> Meaning | None:
        is_number = isinstance(scalar, int | float | str) and not isinstance(scalar, bool)
        return (str(scalar)[:100],) if is_number and count == 1 else None

    return ValueKind(value, lambda match: tuple(re.findall(_NUMBER, match["numbers"], re.IGNORECASE)), of_scalar)
