"""Reads the scales that a reply states beside numbers and in keys.

``attached_scale`` reads a scale right beside a number, ``described_scale`` the value of a key such as ``scale``,
``scale_of_key`` a key that contains a scale. ``announced`` reads whole sentences. A scale that is uncertain is
``UNCLEAR``, a scale on which low numbers are good is ``UPSIDE_DOWN``. Numbers on either of these are not read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from calipers.replies.scores import scale_words as words
from calipers.replies.scores.found import UNCLEAR, UPSIDE_DOWN, Scale, StatedScale
from calipers.replies.scores.scale_words import NUM, SCALE, TO, UNIT

USUAL_TOPS = frozenset([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 20, 25, 30, 40, 50, 60, 100, 200, 500, 1000])


_BLANKS = r"\s{0,3}"
_NOTE = r"(?:\s?[(\[][^()\[\]\d]{1,40}[)\]])?"
_JOIN = rf"(?:\s{{0,2}}(?:-|–|—|‐|‑|−|~|〜|～|\.{{2,3}}|…|到|至|から|에서|부터){_BLANKS}|\s{{1,3}}{TO}\s{{1,3}}|_to_|_)"
RANGE = rf"(?<![\d.,/-]){NUM}{_BLANKS}(?:{UNIT}|점)?{_NOTE}{_JOIN}{NUM}(?![/-]\d)"
"""Both ends of a scale: ``0-10``, ``1 to 5``, ``0 (worst) to 10 (best)``, ``1점에서 5점``."""
_ENDS = re.compile(rf"({NUM}){_BLANKS}(?:{UNIT}|점)?{_NOTE}{_JOIN}({NUM})(?![/-]\d)")

_POINTS = rf"(?:{_BLANKS}(?:{UNIT}|stars?)(?![^\W\d_]))?"
_TOP = (
    rf"(?:满分|滿分|満点|만점)(?:为|是|は|:)?\s?{NUM}\s?[分点점]?"
    rf"|{NUM}\s?点満点|{NUM}\s?점\s?만점|{NUM}\s?分(?:满分|制)"
)
_WITHIN = (
    rf"(?:(?:{words.OF}|/|{words.MAXIMUM}|{words.TOP_SCORE})[\s:=./]{{0,3}}(?:{words.MAXIMUM}\.?\s)?{NUM}{_POINTS}"
    rf"|[^\d()\[\]\n]{{0,24}}{SCALE}[^\d()\[\]\n]{{0,12}}{RANGE}{_POINTS}"
    rf"|(?:on\san?\s)?{RANGE}{_POINTS}(?:[\s-]{{1,2}}(?:point\s)?{SCALE})?|{_TOP})"
)
ATTACHED = (
    rf"{_BLANKS}(?:(?:{UNIT}|stars?){_BLANKS})?(?:[/∕]{_BLANKS}{NUM}(?!\s?/){_POINTS}|(?<!\w)(?:{words.OF})\s{{1,3}}{NUM}{_POINTS}"
    rf"|{words.OF}\s{{1,3}}{NUM}{_POINTS}"
    rf"|[,;]?{_BLANKS}[(\[]\s?{_WITHIN}\s?[)\]]"
    rf"|[,;]?{_BLANKS}(?:{words.MAXIMUM}\.?|{words.TOP_SCORE})\s?[:=]?\s?{NUM}{_POINTS}"
    rf"|,?\s(?:on|auf|sur|en|em|su|op|по|за|w|på|pada|trên)\s[^\d\n(),;]{{0,24}}?"
    rf"(?:{SCALE}[^\d\n(),;]{{0,12}}{RANGE}|{RANGE}[\s-]{{0,2}}(?:point\s)?{SCALE}))"
)
"""Text right after a number that states its scale."""
BEFORE = (
    rf"(?:(?:满分|滿分)(?:为|是)?\s?{NUM}\s?分?[,，;]?\s?(?:得分?|评分|给|打)?[:：]?\s?{NUM}|{NUM}\s?点満点(?:中|で)?[、,]?\s?{NUM}"
    rf"|{NUM}\s?点中\s?{NUM}|{NUM}\s?점\s?(?:만점에|만점\s?중|중)\s?{NUM}|{NUM}\s{words.AFTER_TOP}\s{NUM})(?:\s?[分点점])?"
)
"""A number right after the top of its scale, as in ``10点中8``."""


BEFORE_NUMBER = re.compile(BEFORE, re.IGNORECASE)
_ATTACHED = re.compile(rf"(?P<number>{NUM}|\.\d{{1,4}})(?P<scale>{ATTACHED})", re.IGNORECASE)
_NUMBER = re.compile(NUM)
_IN_WORDS = re.compile(SCALE)


def attached_scale(text: str) -> tuple[float, StatedScale, int] | None:
    """Extract the score at the start of ``text``, the scale beside it, and where both end. None if no scale is beside
    it.
    """
    found = BEFORE_NUMBER.match(text)
    if found is not None:
        high, number = map(parse_number, _NUMBER.findall(found[0])[:2])
        stated = _top(high)
    else:
        found = _ATTACHED.match(text)
        if found is None:
            return None
        written, number = found["scale"], parse_number(found["number"])
        stated = _ends(written)
        if stated is None:
            stated = _top(parse_number(_NUMBER.findall(written)[-1]))
        elif (stated.low not in (0, 1) or stated.high not in USUAL_TOPS) and not _IN_WORDS.search(written.lower()):
            return None  # the range in ``80 (75-85)`` states how sure the score is
    return None if stated is None else (number, stated, found.end())


def parse_number(text: str) -> float:
    """Convert an extracted score in digits of any script to a float; a comma is decimal."""
    return float(text.replace(",", "."))


def _top(high: float) -> StatedScale | None:
    return StatedScale(0.0, high, both=False) if high > 0 else None


def _ends(text: str) -> StatedScale | None:
    found = _ENDS.search(text.lower())
    if found is None:
        return None
    low, high = parse_number(found[1]), parse_number(found[2])
    return StatedScale(low, high) if low < high else None


# --- scales in values of keys --- -------------------------------------------------------------------------------------

_MAX_TEXT = 300
_LOW_KEYS = ("min", "minimum", "low", "lower", "from", "lowest", "start", "worst")
_HIGH_KEYS = ("max", "maximum", "high", "upper", "to", "highest", "end", "best")
_PERCENT = re.compile(rf"\W{{0,3}}(?:in\s)?{words.PERCENT}(?:age)?\W{{0,3}}", re.IGNORECASE)
_ONE_NUMBER = re.compile(
    rf"\W{{0,3}}(?:(?:{words.OF}|{words.MAXIMUM}\.?|up\sto)\s?)?/?\s?({NUM})(?:\s?{UNIT}|-point(?:\sscale)?|点満点|점\s?만점|分制)?\W{{0,3}}"
)


def described_scale(value: Any) -> Scale | None:
    """Extract the scale that the value of a key such as ``scale`` describes, or None if the value has no numbers."""
    if isinstance(value, str):
        if len(value) > _MAX_TEXT:
            return None
        return _of_words(unicodedata.normalize("NFKC", value.replace("，", "; ")).lower())
    if isinstance(value, Mapping):
        return _of_ends({str(key).casefold(): inner for key, inner in value.items()})
    number = _number(value)
    if number is not None:
        return StatedScale(0.0, number, both=False) if number in USUAL_TOPS else UNCLEAR
    return _of_pair(*value) if type(value) is list and len(value) == 2 else None


def _of_ends(ends: dict[str, Any]) -> Scale | None:
    """Return the scale that an object describes by its ends: ``{"min": 1, "max": 5}``, ``{"1": "bad"}``."""
    low = next((ends[key] for key in _LOW_KEYS if key in ends), 0)
    high = next((ends[key] for key in _HIGH_KEYS if key in ends), None)
    if high is not None:
        return _of_pair(low, high)
    numbers = [number for key in ends if (number := _number(key)) is not None]
    if len(numbers) > 1 and len(numbers) == len(ends):
        labels = "; ".join(f"{key} = {inner}" for key, inner in ends.items())[:_MAX_TEXT].lower()
        return UPSIDE_DOWN if is_upside_down_scale(labels) else _of_pair(min(numbers), max(numbers))
    return UNCLEAR if any(_number(inner) is not None for inner in ends.values()) else None


def _number(value: Any) -> float | None:
    if isinstance(value, int | float) and type(value) is not bool:
        return float(value) if abs(value) <= 1e6 else None
    return parse_number(value.strip()) if type(value) is str and _NUMBER.fullmatch(value.strip()) else None


def _of_pair(first: Any, second: Any) -> Scale:
    low, high = _number(first), _number(second)
    if low is None or high is None or low == high:
        return UNCLEAR
    return StatedScale(low, high) if low < high else UPSIDE_DOWN


def _of_words(text: str) -> Scale | None:
    if is_upside_down_scale(text):
        return UPSIDE_DOWN
    if _PERCENT.fullmatch(text):
        return StatedScale(0.0, 100.0)
    one = _ONE_NUMBER.fullmatch(text)
    scale: Scale | None = _ends(text) or (described_scale(parse_number(one[1])) if one else None)
    if scale is not None:
        return scale
    labelled = {number for _, number in _labels(text)}
    if len(labelled) > 1 and min(labelled) <= 1:
        return StatedScale(min(labelled), max(labelled))
    full = re.search(_TOP, text)
    if full is not None:
        return _top(parse_number(_NUMBER.findall(full[0])[0]))
    return UNCLEAR if any(map(str.isdecimal, text)) else None


_AFTER = (
    r"{num}\s?(?:分|点|점)?\s?(?:=|:|\(|means|is|being|für|pour|para|это|-\s)?"
    r"\s?(?:the\s|le\s|la\s|el\s|o\s|il\s)?{word}"
)
_LABEL_PATTERNS = tuple(
    (good, re.compile(form.format(num=rf"(?<![\d.,])({NUM})", word=word)))
    for good, word in ((True, words.BEST), (False, words.WORST))
    for form in (_AFTER, r"{word}\s?(?:=|:|\()\s?{num}")
)


def _labels(text: str) -> list[tuple[bool, float]]:
    """Return the numbers that a description of a scale calls best (True) or worst (False)."""
    return [(good, parse_number(found)) for good, pattern in _LABEL_PATTERNS for found in pattern.findall(text)]


def calls_number_best(text: str) -> bool:
    """Whether a description of the extracted scores' scale calls a number above 0 best."""
    return any(good and number > 0 for good, number in _labels(text))


def is_upside_down_scale(text: str) -> bool:
    """Whether a description of the extracted scores' scale says that low numbers are good."""
    if re.search(words.LOWER_IS_BETTER, text):
        return True
    labels = _labels(text)
    best = [number for good, number in labels if good]
    worst = [number for good, number in labels if not good]
    if best and worst:
        return max(best) < min(worst)
    highest = max(map(parse_number, _NUMBER.findall(text)), default=0)
    return bool((best and max(best) <= 1 < highest) or (worst and 1 < min(worst) == highest))


# --- scales in keys --- -----------------------------------------------------------------------------------------------

_ANNOTATION = re.compile(
    rf"(?P<base>.*?)(?:[\s_]*[(\[（](?P<inner>[^()\[\]（）]{{1,40}})[)\]）]|[\s_]*(?:/|[\s_]out[\s_]of[\s_])\s?(?P<top>{NUM})"
    rf"|_(?P<ends>[01]_(?:to_)?\d{{1,4}})|[\s_]?(?P<percent>%|percent(?:age)?|pct))\W*",
    re.IGNORECASE | re.DOTALL,
)
_HINT = re.compile(r"\d|%|percent|pct", re.IGNORECASE)
_INNER = re.compile(rf"\s*(?:{_WITHIN}|{words.PERCENT})\s*", re.IGNORECASE)


def scale_of_key(key: Any) -> tuple[str, StatedScale | None]:
    """Extract a JSON key's name and the scale that the key states: ``score_out_of_10``, ``得分（满分10分）``."""
    if type(key) is not str or len(key) > 80 or _HINT.search(key) is None:
        return key, None
    found = _ANNOTATION.fullmatch(unicodedata.normalize("NFKC", key).strip(" *_`"))
    base = found["base"].strip(" *_`") if found else ""
    if found is None or not base or (found["inner"] and not _INNER.fullmatch(found["inner"])):
        return key, None
    inner = found["inner"] or found["ends"] or found["top"] or "100"
    if found["percent"] or _PERCENT.fullmatch(inner.lower()):
        return base, StatedScale(0.0, 100.0)
    return base, _ends(inner) if found["ends"] else _ends(inner) or _top(parse_number(_NUMBER.findall(inner)[-1]))
