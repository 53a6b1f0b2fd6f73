"""Reads the value that a reply states in the places that a known format defines, for the caller's labels or ids.

All values in a place must agree. A format's own names (``A``, ``model_1``, ``m``) refer to candidates in the order in
which the prompt listed them, unless the caller uses those very names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from calipers.replies.documents import find_documents, pairs_of, parse_strict_json, plain_key
from calipers.replies.formats.known import Format, known_formats
from calipers.replies.names import CONTRADICTED, NOUN, WORDS_AROUND, Rejected, fold_name
from calipers.replies.numbers import Scale, Value, read_value
from calipers.replies.text import TOLERANT_LIMIT, judges_turn, strip_fence
from calipers.replies.verdict import read_row

TIE: Final = -1
"""The position of a tie."""

_NUMBER: Final = r"[-+]?\d{1,4}(?:\.\d{1,3})?(?:\s?(?:/|out of|of)\s?\d{1,3})?"
_BETWEEN: Final = r"[\s*]{0,3}(?:[,;|&]|\s)[\s*]{0,3}"
_QUOTES: Final = ('"', "'", "“", "”", "`")
_QUOTED_LINE: Final = re.compile(r"^[ \t]{0,3}>.*$", re.MULTILINE)
_MOST_ROWS: Final = 500


def stated_scores(text: str, ids: Sequence[str], form: Format, own: Scale, *, cut: bool) -> dict[str, Value]:
    """Return the score of each of ``ids``, in the order asked for, on the format's scale. Raises Rejected."""

    def read(numbers: Iterable[str]) -> tuple[Value | str, ...]:
        return tuple(read_value(re.sub(r"\s(?:out )?of\s", "/", number), own) for number in numbers)

    if form.numbers == "one" and len(ids) != 1:
        raise Rejected(f"the format {form.name} has one score, and {len(ids)} were asked for")
    if form.numbers == "listed":
        marks = _first_place(text, form, rf"(?P<value>{_NUMBER})(?![\d%]|[.,]\d)")
        if len(marks) != len(ids):
            raise Rejected(f"{len(marks)} scores where {len(ids)} were asked for", doubt=True)
        named = re.findall(rf"(?im)^\W*(?:output for )?(?:text|{NOUN})\s#?(\d{{1,2}})\b", marks[0].string)
        if len(named) == len(ids) and named != sorted(named, key=int):
            raise Rejected("scores by position beside names in another order", doubt=True)
        stated, last = read(mark["value"] for mark in marks), marks[-1] if marks else None
    else:
        numbers = rf"{_NUMBER}(?:{_BETWEEN}{_NUMBER}){{{len(ids) - 1}}}"
        pattern = rf"(?P<value>{numbers})(?![\d%]|[.,]\d|\s?[-–/]\s?\d)"
        stated, last = _agreed(text, form, pattern, lambda match: read(re.findall(_NUMBER, match["value"])))
    if cut and last is not None and not last.string[last.end() :].strip():
        raise Rejected("the score may be cut off", truncated=True)
    values = dict(zip(ids, stated, strict=True))
    unread = next((reason for reason in values.values() if isinstance(reason, str)), None)
    if unread is not None:
        raise Rejected(unread)
    return {id_: value for id_, value in values.items() if isinstance(value, Value)}


def stated_choice(text: str, labels: Sequence[str], form: Format) -> tuple[int, float | None]:
    """Return the position of the label that a reply prefers, or TIE, and the margin (0-1) if known. Raises Rejected."""
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise Rejected("fewer than two different labels to choose from")
    if form.order:
        try:
            return stated_ranking(text, labels, form)[0], None
        except Rejected as reject:
            if reject.doubt or not form.places:
                raise
    if form.names:
        try:
            (place, margin), _ = _agreed(text, form, _names_pattern(form.name), lambda match: _meaning(match, form))
        except Rejected as reject:
            if reject.doubt or reject.truncated or form.numbers not in ("each", "any"):
                raise
        else:
            label = TIE if place == TIE else _labels_by_position(labels, form).get(place)
            if label is None:
                raise Rejected(f"the reply names candidate {place + 1} of {len(labels)}", doubt=True)
            return label, margin
    return _choice_by_scores(text, labels, form)


def _choice_by_scores(text: str, labels: Sequence[str], form: Format) -> tuple[int, float]:
    """Return the position of the label with the highest score, or TIE, and by what share of the scale it leads."""
    scale = form.scale or (0.0, 1.0)
    scores = [value.number for value in stated_scores(text, labels, form, scale, cut=False).values()]
    best, second = sorted(scores, reverse=True)[:2]
    if any(not scale[0] <= score <= scale[1] for score in scores):
        raise Rejected("a score off the format's scale", doubt=True)
    if 1 < scores.count(best) < len(scores):
        raise Rejected("several of the candidates share the highest score")
    return TIE if second == best else scores.index(best), (best - second) / (scale[1] - scale[0])


def stated_verdict(text: str, form: Format) -> bool | None:
    """Return the verdict that a reply states; None if the format's word means neither. Raises Rejected."""
    words = sorted(form.verdict, key=len, reverse=True)
    long = "|".join(_spelled(word) for word in words if len(word) > 1) or "(?!)"
    pattern = (
        rf"(?P<value>{'|'.join(map(_spelled, words))})(?![A-Za-z0-9])"
        rf"(?:(?<=\b\w)[\s.:)(–-]{{1,4}}(?P<meaning>{long})(?![A-Za-z0-9])\)?)?"
    )

    def met_of(match: re.Match[str]) -> bool | None:
        verdicts = {form.verdict[fold_name(word)] for word in (match["value"], match["meaning"]) if word}
        if len(verdicts) > 1:
            raise Rejected("a letter and a word that differ", doubt=True)
        return verdicts.pop()

    met, _ = _agreed(text, form, pattern, met_of)
    if form.keys and any(read_row(node).doubt for node in _nodes(_body(text))):
        raise Rejected(CONTRADICTED, doubt=True)
    return met if isinstance(met, bool) else None


def stated_ranking(text: str, ids: Sequence[str], form: Format) -> tuple[int, ...]:
    """Return the positions of ``ids``, best first, from the models and ranks in a reply's rows. Raises Rejected.

    The rows must name each candidate once.
    """
    orders = {_by_rank(rows) for node in _nodes(_body(text)) if (rows := _model_rows(node))}
    if not orders:
        raise Rejected("no ranking in the reply")
    order = orders.pop()
    if orders or order is None:
        raise Rejected("ranks that contradict each other or are tied", doubt=True)
    fold = _folding(form)
    known = {fold(name): place for place, names in enumerate(form.names) for name in names}
    labels = _labels_by_position(ids, form)
    places = [list(ids).index(name) if name in ids else labels.get(known.get(fold(name), -1), -1) for name in order]
    if sorted(places) != list(range(len(ids))):
        raise Rejected("the ranking does not name each candidate once", doubt=True)
    return tuple(places)


# --- places ----------------------------------------------------------------------------------------------------------


def _body(text: str) -> str:
    body = judges_turn(text)
    if body is None:
        raise Rejected("the reasoning never ended", truncated=True)
    return body[-TOLERANT_LIMIT:]


def _first_place(text: str, form: Format, value: str) -> list[re.Match[str]]:
    """Return the matches in the first of the format's places that has any, and at the end of the text before them."""
    body = _QUOTED_LINE.sub("", _body(text))
    for place in form.places:
        matches = _pattern(place, value, exact=_is_exact(form)).finditer(body)
        if marks := [mark for mark in matches if not _is_quoted(mark)]:
            if form.ends and body[marks[-1].end() :].partition("\n")[2].strip(" \n`*_"):
                raise Rejected(WORDS_AROUND, doubt=True)
            before, ends = body[: marks[0].start()], [end for end in form.places if end.endswith(r"\Z")]
            return [*filter(None, (_pattern(end, value, exact=_is_exact(form)).search(before) for end in ends)), *marks]
    raise Rejected(f"no value in the place that the format {form.name} defines")


def _is_quoted(mark: re.Match[str]) -> bool:
    """Whether a mark stands in quotation marks, as in a repeated instruction: output "[[A]]" if A is better."""
    start, end = mark.span()
    return mark.string[max(0, start - 1) : start] in _QUOTES and mark.string[end : end + 1] in _QUOTES


def _agreed(
    text: str, form: Format, value: str, meaning: Callable[[re.Match[str]], Any]
) -> tuple[Any, re.Match[str] | None]:
    """Return what the value means that a reply states under the format's keys or in its places. Raises Rejected."""
    scalars = [str(scalar)[:400] for node in _nodes(_body(text)) for scalar in _values_of(node, form.keys)]
    if scalars and form.keys:
        whole = _pattern(
            r"[\s*_\"'`(\[]{0,6}VALUE(?:[\s*_\"'`)\].]{0,6}|[.,;:(–-].{0,400})", value, exact=_is_exact(form)
        )
        read = [whole.fullmatch(scalar) for scalar in scalars]
        if None in read:
            raise Rejected("the value is not one that the format defines")
        marks = [match for match in read if match]
    else:
        marks = _first_place(text, form, value)
    meanings = {meaning(mark) for mark in marks}
    if len(meanings) > 1:
        raise Rejected("several verdicts that contradict each other", doubt=True)
    return meanings.pop(), None if scalars and form.keys else marks[-1]


@lru_cache(maxsize=256)
def _pattern(place: str, value: str, *, exact: bool) -> re.Pattern[str]:
    return re.compile(place.replace("VALUE", f"(?:{value})"), re.DOTALL if exact else re.IGNORECASE | re.DOTALL)


def _nodes(body: str) -> Iterator[Any]:
    """Yield the JSON documents of a reply. Raises Rejected if one is damaged or cut off."""
    whole = parse_strict_json(strip_fence(body))
    if isinstance(whole, dict | list):
        yield whole
        return
    for document in find_documents(body):
        if document.cut:
            raise Rejected("the reply ends inside its verdict", truncated=True)
        if document.node is not None:
            yield document.node


def _values_of(node: Any, keys: Sequence[str], depth: int = 3) -> Iterator[Any]:
    """Yield the scalars under ``keys`` at any depth of a document."""
    wanted = {plain_key(key) for key in keys}
    for key, value in [*pairs_of(node)][:_MOST_ROWS]:
        if plain_key(key) in wanted and not isinstance(value, dict | list):
            yield value
        elif depth and pairs_of(value):
            yield from _values_of(value, keys, depth - 1)


# --- names -----------------------------------------------------------------------------------------------------------


def _is_exact(form: Format) -> bool:
    """Whether names of the format differ only in case, so that case decides."""
    names = [name for names in form.names for name in names]
    return len({name.casefold() for name in names}) < len(set(names))


def _folding(form: Format) -> Callable[[str], str]:
    return str.strip if _is_exact(form) else fold_name


def _labels_by_position(labels: Sequence[str], form: Format) -> Mapping[int, int]:
    """Return the caller's label for each candidate position; labels that are the format's names match by name."""
    fold = _folding(form)
    known = {fold(name): place for place, names in enumerate(form.names) for name in names}
    places = [known.get(fold(label), -1) for label in labels]
    if -1 in places or len(set(places)) < len(places):
        return {place: place for place in range(len(labels))}
    return {place: label for label, place in enumerate(places)}


def _spelled(name: str) -> str:
    return r"[\s_]".join(map(re.escape, re.split(r"[\s_]", name)))


@lru_cache(maxsize=64)
def _names_pattern(name: str) -> str:
    """Return a pattern for the names of a format's candidates, its ties and its graded marks."""
    form = known_formats()[name]
    groups = [f"(?P<p{place}>{_any(names)})" for place, names in enumerate(form.names)]
    tie = f"(?P<tie>(?:a\\s)?(?:{_any(form.tie)}))"
    graded = r"(?P<graded>[AB]\s?(?:<{1,2}|>{1,2}|={1,2})\s?[AB]|[AB]\+{1,2})|" if form.graded else ""
    noun = rf"(?i:(?:the\s)?(?:{NOUN}|feedback|模型|助手|回答)[\s:#_-]{{0,3}}[*_\"'(\[]{{0,3}})?"
    return rf"{noun}(?:{graded}{'|'.join([tie, *groups])})(?![A-Za-z0-9+<>=\u0300-\u036f])"


def _any(names: Sequence[str]) -> str:
    """Return a pattern for one of the names, or for a letter followed by its meaning: ``A: CORRECT``."""
    spelled = [_spelled(name) for name in names]
    if len(names) == 2 and len(names[0]) == 1 < len(names[1]):
        letter, word = spelled
        return rf"{letter}(?:[\s.:)(–-]{{1,4}}{word}\)?)?|{word}"
    return "|".join(sorted(spelled, key=len, reverse=True)) or "(?!)"


def _meaning(match: re.Match[str], form: Format) -> tuple[int, float | None]:
    """Return the position of the candidate that a mark names, and the margin of a graded mark (``A>>B``, ``B+``)."""
    groups = match.groupdict()
    written = (groups.get("graded") or "").upper()
    if not written:
        group = next(group for group in ("tie", *(f"p{place}" for place in range(len(form.names)))) if groups[group])
        return (TIE, None) if group == "tie" else (int(group[1:]), None)
    signs = re.sub(r"[AB\s]", "", written)
    left, right = written[0], written[-1]
    if left == right:
        raise Rejected("the value is not one that the format defines")
    return (TIE, 0.0) if "=" in signs else ("AB".index(right if "<" in signs else left), len(signs) / 2)


def _model_rows(node: Any, depth: int = 3) -> list[dict[str, Any]] | None:
    """Return the first list of rows that name a model."""
    pairs = pairs_of(node)
    items = node[:_MOST_ROWS] if isinstance(node, list) and not pairs else []
    rows = [{plain_key(key): value for key, value in pairs_of(item)} for item in items]
    if rows and all("model" in row or "model_identifier" in row for row in rows):
        return rows
    inner = [value for _, value in pairs] or items
    below = (_model_rows(value, depth - 1) for value in inner[:_MOST_ROWS] if depth and isinstance(value, dict | list))
    return next((rows for rows in below if rows), None)


def _by_rank(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """Return the models' names, best first. None if two ranks or two names are equal."""
    names = [str(row.get("model", row.get("model_identifier")))[:200] for row in rows]
    ranks = [str(row["rank"]) for row in rows if row.get("rank") is not None and not isinstance(row["rank"], bool)]
    if not ranks and len(set(names)) == len(names):
        return tuple(names)
    numbers = [int(rank) for rank in ranks if re.fullmatch(r"[0-9]{1,4}", rank)]
    if len(set(names)) < len(names) or len(set(numbers)) < len(names):
        return None
    return tuple(name for _, name in sorted(zip(numbers, names, strict=True)))
