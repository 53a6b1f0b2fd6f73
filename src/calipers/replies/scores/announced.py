"""Finds sentences that state the scale of a whole reply: ``All scores are out of 10``.

A sentence surely states the reply's scale if it has no other number and either is about scores or states nothing else.
A sentence about somebody else's scale, a plan or a denial only makes small numbers doubtful. ``stated`` reads a scale
right beside a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from calipers.replies.scores import scale_words as words
from calipers.replies.scores.found import UNCLEAR, UPSIDE_DOWN, Scale, StatedScale
from calipers.replies.scores.names import PREFIX, Names
from calipers.replies.scores.scale_words import NUM, SCALE, SCORE
from calipers.replies.scores.scales import are_fractions
from calipers.replies.scores.stated import (
    BEFORE_NUMBER,
    RANGE,
    USUAL_TOPS,
    calls_number_best,
    described_scale,
    parse_number,
)

_MAX_SENTENCE = 300
_MAX_EXAMINED = 100
_MAX_CLAUSES = 4


@dataclass(frozen=True, slots=True)
class Announced:
    """A scale that ``text[start:end]`` of a reply states. ``sure``: the scale applies to the reply's own scores."""

    scale: Scale
    start: int
    end: int
    sure: bool = True


# All patterns expect lower-case text. With IGNORECASE, patterns that begin with words take ten times as long.
_CUE = re.compile(
    rf"{SCALE}|{words.OUT_OF}\s|{words.MAXIMUM}|{words.TOP_SCORE}|{words.AFTER_TOP}|{words.FULL_MARKS}|{words.BEST}|{words.WORST}"
    rf"|range|out_of|possible|point|балл|分制|{SCORE}\s{words.OF}\s\d|[(\[]\s?(?:{words.OF}\s|/)|(?<![\d\s])\s?/\s?\d|{words.LOWER_IS_BETTER}"
    r"|(?<![\d.,])[01](?![\d.,])[^\d\n]{1,40}\d"
)
_SENTENCE_END = re.compile(r"(?<!max)(?<!máx)(?<!min)(?<!maks)(?<!макс)(?<!\bca)[.!?](?=\s|\Z|[*_)\"'])|[。！？]|\n")
_CLAUSE_END = re.compile(r"[:：,;，；、](?!\d)|\s[–—-]\s")
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|「[^」\n]{1,300}」|«[^»\n]{1,300}»")
_TABLE = re.compile(r"^[^\n|]{0,400}\|[^\n|]{0,2000}\|[^\n]{0,4000}$", re.MULTILINE)
_TAG = re.compile(r"</?\s?([A-Za-z_]{1,30})\s?>")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_ENDED = re.compile(r"[\d.!?:;)\]}。！？：|*_`\"'”」%><]\s*\Z")
_BEGUN = re.compile(
    rf"{SCALE}|{words.OUT_OF}|{words.MAXIMUM}|{words.TOP_SCORE}|{SCORE}|\bout\Z|\bscal?\w?\Z|\bma\Z|{words.UNIT}\Z"
)
_BEST = re.compile(words.BEST)
_SCALE = re.compile(SCALE)
_WORST = re.compile(words.WORST)
_NOT_LINE = re.compile(r"[^\n]")
_DIGIT = re.compile(r"\d")
_QUALITY = re.compile(rf"{words.BEST}|{words.WORST}|{words.LOWER_IS_BETTER}")
_FRAGMENT = re.compile(rf"\W*(?:(?:[^\W\d]{{1,6}}\s){{0,3}}(?:{SCALE}|{SCORE})|{NUM}|range)")
_FIRST_PERSON = re.compile(r"\b(?:i|we|my|our|ich|wir|je|nous|eu|io|я|мы|ja|ben|tôi|saya)\b")
_ABOUT_SCORES = re.compile(rf"\W*(?:\S{{1,30}}\s){{0,3}}\S{{0,30}}?{words.SCORES}")
_OF_OTHERS = re.compile(words.OTHERS)
_RANKS = re.compile(r"\brank")


_TOPS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{SCORE}[^\d\n]{{0,40}}?(?:(?<!\w){words.OUT_OF}\s{{1,3}}|/\s?)({NUM})",
        rf"{SCORE}[^\d\n]{{0,40}}?[(\[]\s?(?:{words.OF}|{words.MAXIMUM}\.?)\s?({NUM})",
        rf"{SCORE}[^\d\n]{{0,30}}?({NUM})\s?{words.AFTER_TOP}",
        rf"(?:{words.FULL_MARKS})\W{{0,3}}(?:为|是|は|is|are)?\s?({NUM})",
        rf"({NUM})\s?(?:点満点|分满分|分制|점\s?만점|점제|[\s-]{{1,2}}points?[\s-](?:scale|system)|-?\s?балл?ьн\w{{2,3}})",
        rf"{SCALE}[^\d\n]{{0,16}}?({NUM})(?!\s?[^\W\d_]|\s?[-–]\s?\d)",
        rf"(?<!\w)(?:max|maximum|out[\s_]of|max_points|points_possible|possible|possible\spoints)\s?[:=]\s?({NUM})",
        rf"^\W*(?:{words.OUT_OF}|{words.OF})\s({NUM})\W*$",
        rf"^\W*{SCORE}\s{words.OF}\s({NUM})\s?:\W*$",
        rf"^\W*(?:{words.MAXIMUM})\W{{0,3}}({NUM})\W*$",
        rf"\b(?:{words.BEST})\s?=\s?({NUM})|({NUM})\s?=\s?(?:{words.BEST})",
    )
)
_STATISTIC = re.compile(rf"(?:{words.TOP_SCORE}|max_score)[^\d\n]{{0,12}}?({NUM})")
_RANGES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{SCALE}[^\d\n]{{0,30}}?({RANGE})",
        rf"({RANGE})[^\d\n]{{0,24}}?{SCALE}",
        rf"(?:{SCORE}|range)(?:[\s(:\[]|{words.FROM}){{0,5}}({RANGE})",
        rf"({RANGE})\s?[分点점]?\s?(?:{SCORE})",
    )
)


def announced_scales(text: str, names: Names) -> list[Announced]:
    """Extract the scales that sentences of a reply state, in order. Quotations and quoted lines are omitted."""
    if _DIGIT.search(text) is None:
        return []
    masked = text.replace("，", ";")  # keeps positions, and is no decimal comma
    for pattern in (_TABLE, _QUOTED, BEFORE_NUMBER):
        masked = pattern.sub(lambda found: " " * len(found[0]), masked)
    masked = _TAG.sub(lambda found: f" {found[1]} ".rjust(len(found[0])), masked)
    sentences = islice(_sentences(masked), _MAX_EXAMINED)
    read = ((at, _of_sentence(sentence, names)) for at, sentence in sentences)
    return [replace(found, start=at + found.start, end=at + found.end) for at, found in read if found is not None]


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a reply that may state a scale, with their positions."""
    start = 0
    for stop in (*(found.end() for found in _SENTENCE_END.finditer(text)), len(text)):
        sentence, at, start = text[start:stop], start, stop
        if len(sentence) > _MAX_SENTENCE or sentence.lstrip()[:1] == ">" or not _DIGIT.search(sentence):
            continue
        if _CUE.search(_lowered(sentence)):
            yield at, sentence


def _lowered(text: str) -> str:
    return text.replace("İ", "I").lower()


def _of_sentence(sentence: str, names: Names) -> Announced | None:
    """Return the scale that a whole sentence states, or a clause at its beginning that has no other number."""
    plain = re.sub(r"[*_#`|]", " ", sentence) if "score_" not in sentence else sentence
    lowered = _lowered(plain)
    for end in (len(plain), *(found.start() for found in islice(_CLAUSE_END.finditer(plain), _MAX_CLAUSES))):
        scale = _of_clause(lowered[:end])
        if scale is not None:
            sure = _is_own(plain[:end], lowered[:end], names) or _is_legend(scale, lowered[:end])
            return Announced(scale, 0, end, sure)
    return None


def _of_clause(clause: str) -> Scale | None:
    numbers = _NUMBER.findall(clause)
    if not 1 <= len(numbers) <= 6:
        return None
    labelled = described_scale(clause) if _QUALITY.search(clause) else None
    if labelled == UPSIDE_DOWN:
        return None if _RANKS.search(clause) else UPSIDE_DOWN
    if len(numbers) == 1:
        [top] = numbers
        return _of_top(clause, parse_number(top))
    for pattern in _RANGES if len(numbers) == 2 else ():
        found = pattern.search(clause)
        ends = described_scale(found[1]) if found else None
        if type(ends) is StatedScale and ends.low in (0, 1) and ends.high in USUAL_TOPS:
            return ends
    return labelled if type(labelled) is StatedScale else None


def _of_top(clause: str, top: float) -> Scale | None:
    """Return the scale of a clause whose only number is the top of the scale."""
    if _BEST.search(clause) and calls_number_best(clause) and _SCALE.search(clause):
        return StatedScale(0.0, top, both=False)
    statistic = _STATISTIC.search(clause) is not None
    if top <= 1 or not (statistic or any(pattern.search(clause) for pattern in _TOPS)):
        return None
    return StatedScale(0.0, top, both=False, statistic=statistic)


def _is_legend(scale: Scale, lowered: str) -> bool:
    """Whether a clause explains both ends of a scale on which low is good: ``1 = sehr gut, 6 = ungenügend``.

    Such a scale makes the numbers beside it unusable, even if no sentence says that they are on this scale.
    """
    ends = _BEST.search(lowered) and _WORST.search(lowered)
    return scale == UPSIDE_DOWN and ends is not None and not _OF_OTHERS.search(lowered)


def _is_own(clause: str, lowered: str, names: Names) -> bool:
    """Whether a sentence states the scale of all scores that the reply itself gives."""
    if _OF_OTHERS.search(lowered) or any(_mentions(clause, id_) for id_ in names.ids[:50]):
        return False
    about = _ABOUT_SCORES.match(lowered) or _FIRST_PERSON.search(lowered) or _FRAGMENT.match(lowered)
    return about is not None or len(clause.split()) <= 4


def _mentions(clause: str, id_: str) -> bool:
    """Whether a clause names one candidate."""
    before = rf"\b{PREFIX}[\s#]{{1,2}}" if len(id_) == 1 or id_.isdecimal() else r"(?<!\w)"
    flags = re.IGNORECASE if len(id_) == 1 else re.NOFLAG
    return id_ in clause and re.search(rf"{before}{re.escape(id_)}(?!\w)", clause, flags) is not None


def breaks_off_in_scale(text: str) -> bool:
    """Whether a reply's last line breaks off in a scale to be extracted: ``(out of``, ``Scores are on a``."""
    line = text.rstrip().rpartition("\n")[2][-_MAX_SENTENCE:]
    if line.rfind("(") > line.rfind(")") or line.rfind("（") > line.rfind("）"):
        return True
    return bool(line) and not _ENDED.search(line) and _BEGUN.search(_lowered(line)) is not None


def blank_announcements(text: str, found: Sequence[Announced]) -> str:
    """Blank the sentences of a reply that state a scale, so that their numbers are not extracted as scores."""
    for one in found:
        if one.sure:
            text = text[: one.start] + _NOT_LINE.sub(" ", text[one.start : one.end]) + text[one.end :]
    return text


# --- replies that state a scale several times -------------------------------------------------------------------------


def agreed_scale(scales: Iterable[Scale | None]) -> Scale | None:
    """Extract the scale on which all statements of a reply agree, or ``unclear`` if they differ."""
    result: Scale | None = None
    for scale in scales:
        if scale in (UNCLEAR, UPSIDE_DOWN):
            return scale
        if not isinstance(result, StatedScale):
            result = scale
        elif isinstance(scale, StatedScale):
            if not result.agrees(scale):
                return UNCLEAR
            result = scale if scale.both else result
    return result


def scale_of_bare_numbers(
    found: Sequence[Announced], numbers: Sequence[float], asked: tuple[float, float]
) -> Scale | None:
    """Extract the scale that a reply's sentences state for scores which have no scale beside them.

    None means that the scores are on the scale asked for.
    """
    sure = agreed_scale(unless_largest_score(one.scale, numbers) for one in found if one.sure)
    if sure is not None:
        return sure
    return UNCLEAR if any(_may_hold(one.scale, numbers, asked) for one in found) else None


def _may_hold(scale: Scale, numbers: Sequence[float], asked: tuple[float, float]) -> bool:
    """Whether all scores lie on a stated scale and at least one of them would have another value on it."""
    return (
        isinstance(scale, StatedScale)
        and scale.changes(numbers, asked)
        and not are_fractions(list(numbers), scale.high)
    )


def unless_largest_score(scale: Scale | None, numbers: Sequence[float]) -> Scale | None:
    """Return the extracted scale, or None if its top is merely the largest of the given scores.

    The result is ``unclear`` if that top is also a usual top of a scale.
    """
    if not isinstance(scale, StatedScale) or not scale.statistic or len(numbers) < 2 or max(numbers) != scale.high:
        return scale
    if scale.both and scale.low < min(numbers):
        return scale  # the stated low end is not the smallest score, so this is a scale
    return UNCLEAR if scale.high in USUAL_TOPS else None
