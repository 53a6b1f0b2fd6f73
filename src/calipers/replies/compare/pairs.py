"""Reads two scores for two candidates from one reply: ``8 7``, ``(3, 9)``, ``are 4 and 9, respectively``.

The scores only decide which candidate is preferred. Scores on a scale are read by ``scores``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from calipers.replies.compare.references import (
    ANY,
    CANDIDATE,
    FIRST,
    distinguishing_names,
    mask_references,
    matched_label,
    reference_regex,
)
from calipers.replies.sentences import Sentence

_NUMBER = r"(\d{1,3}(?:\.\d{1,3})?)(?:\s?/\s?(?:5|10|100))?"
_LINE = re.compile(
    rf"^[\s*\[(]{{0,4}}{_NUMBER}[\s*]{{0,4}}(?:[,;|&:]|\sand\s|\s)[\s*]{{0,4}}{_NUMBER}[\s*\])]{{0,4}}\.?$",
    re.IGNORECASE,
)
_RESPECTIVELY = re.compile(
    rf"{_NUMBER}\s?(?:points?)?,?\s(?:and|,|&)\s{_NUMBER}(?:\s?points?)?,?\srespectively", re.IGNORECASE
)
_BOTH = re.compile(
    rf"\b(?:both(?: of (?:them|the \w+)| \w+)?|they both) (?:\w+ )?"
    rf"(?:get|receive|score|deserve|earn|are rated|are scored)s?\s(?:a score of |an? |at )?{_NUMBER}(?![\d.]*\d)",
    re.IGNORECASE,
)

_GIVEN = re.compile(
    rf"(?P<who>{CANDIDATE})[^{ANY}\d]{{0,60}}?(?<![\d.])(?P<score>\d{{1,3}}(?:\.\d{{1,3}})?)(?![\d.]*\d)", re.IGNORECASE
)
_SCORING = re.compile(r"\b(?:scor|rat(?:e|ing)|giv|get|receiv|earn|deserv|award|assign|points?\b)", re.IGNORECASE)
_UNREAL = re.compile(r"\b(?:if|would have|could|should|to make|scale|between|from)\b|\?$", re.IGNORECASE)

Pair = tuple[float, float]


def pair_of_scores(text: str, document: object, labels: tuple[str, ...]) -> Pair | None:
    """Extract two candidates' scores from a reply's first or last line, a line per label, or a JSON key per label."""
    if len(labels) != 2:
        return None
    if isinstance(document, dict):
        return _keyed(document, labels)
    lines = [line for line in text.strip().split("\n") if line.strip()]
    ends = {line.strip() for line in (lines[0], lines[-1]) if len(line) <= 60}
    pairs = {(float(match[1]), float(match[2])) for line in ends if (match := _LINE.match(line))}
    if any({f"{x:g}", f"{y:g}"} <= set(labels) for x, y in pairs):
        return None  # both numbers are labels, so the line may be an order
    return _one(pairs) if pairs else _named(text, labels)


def pair_of_scores_in_prose(parts: Sequence[Sentence], labels: tuple[str, ...]) -> Pair | None:
    """Extract two candidates' scores from sentences: by name, in the order of the labels, or one score for both
    candidates.
    """
    if len(labels) != 2:
        return None
    pairs: set[Pair] = set()
    by_name: tuple[set[float], set[float]] = (set(), set())
    for part in parts:
        if not _SCORING.search(part.text) or _UNREAL.search(part.text):
            continue
        pairs |= {(float(match[1]), float(match[2])) for match in _RESPECTIVELY.finditer(part.text)}
        pairs |= {(float(match[1]), float(match[1])) for match in _BOTH.finditer(part.text)}
        for match in _GIVEN.finditer(mask_references(part.text, labels)) if not pairs else ():
            by_name[ord(match["who"]) - FIRST].add(float(match["score"]))
    return _one(pairs or _product(by_name))


def _product(by_name: tuple[set[float], set[float]]) -> set[Pair]:
    return {(first, second) for first in by_name[0] for second in by_name[1]}


def _keyed(document: dict[str, object], labels: tuple[str, ...]) -> Pair | None:
    found: tuple[set[float], set[float]] = (set(), set())
    known = distinguishing_names(labels)
    for key, value in islice(document.items(), 100):
        name = known.fold(_SCORE_OF.sub("", str(key)[:80].strip()))
        for place, (label, short) in enumerate(zip(labels, known.shorts, strict=True)):
            is_named = name in (known.fold(short), known.fold(label))
            if is_named and isinstance(value, int | float) and not isinstance(value, bool):
                found[place].add(float(value))
    return _one(_product(found))


_SCORE_OF = re.compile(r"\A(?:scores?|rating)[\s_:.-]{1,4}|[\s_:.-]{1,4}(?:scores?|rating)\Z", re.IGNORECASE)


def _one(pairs: set[Pair]) -> Pair | None:
    return pairs.pop() if len(pairs) == 1 else None


@lru_cache(maxsize=64)
def _named_line(labels: tuple[str, ...]) -> re.Pattern[str]:
    whose = r"(?:(?:overall |final |total )?(?:scores?|rating)\s(?:for|of)\s)?"
    kind = r"(?:'s)?(?:\s(?:overall |final |total )?(?:scores?|rating))?"
    return re.compile(
        rf"^[ \t\-*•]{{0,6}}{whose}{reference_regex(labels)}{kind}[\s*\"']{{0,4}}[:=][\s*\[(\"']{{0,6}}"
        r"(?P<score>\d{1,3}(?:\.\d{1,3})?)(?![\d.]*\d|\w)",
        re.IGNORECASE | re.MULTILINE,
    )


def _named(text: str, labels: tuple[str, ...]) -> Pair | None:
    found: tuple[set[float], set[float]] = (set(), set())
    for match in _named_line(labels).finditer(text):
        found[matched_label(match)].add(float(match["score"]))
    return _one(_product(found))
