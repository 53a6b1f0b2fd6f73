"""One written score to one number in the units of a scale, or the reason why it cannot be read.

Ratios and percents carry their own scale and convert; everything else is taken as it stands. Whether a number lies on
the scale, and what a reply with one off it means, is decided in ``scores``.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Literal

ABSURD = 1e6
"""Beyond this a number is a slip of the decoder, not an opinion on another scale."""

Written = Literal["bare", "share"]


@dataclass(frozen=True, slots=True)
class Value:
    """``number`` is in units of the scale asked for; ``written`` is ``share`` for ratios and percents."""

    number: float
    written: Written = "bare"


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a score could not be read. ``cut`` when the text ended inside it, ``empty`` when none was written."""

    reason: str
    cut: bool = False
    empty: bool = False


class Cut:
    """Stands in a parsed document for a scalar at which the text ended."""

    __slots__ = ()


CUT = Cut()
_NONE = Unread("no score", empty=True)
_CUT_OFF = Unread("the score is cut off", cut=True)
_NOT_FINITE = Unread("the score is not a finite number")
_ABSURD = Unread("the score is absurdly large")
_NO_NUMBER = Unread("the score is not a number")

_DECIMAL = r"(?:(?:0|[1-9]\d{0,15})(?:[.,]\d{1,25})?|\.\d{1,25})"
_PLAIN = re.compile(rf"[+-]?{_DECIMAL}(?:[eE][+-]?\d{{1,4}})?")
_POINT = re.compile(r"(?:0|[1-9]\d{0,15})\.")
_RATIO = re.compile(
    rf"({_DECIMAL})\s{{0,3}}(?:/|∕|\bout\s{{1,3}}of\b|\bof\b|\bvon\b|\bsur\b|\bde\b|из)\s{{0,3}}({_DECIMAL})",
    re.IGNORECASE,
)
_PERCENT = re.compile(rf"([+-]?{_DECIMAL})\s{{0,3}}(?:%|percent\b|per\s?cent\b|pct\b)", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:(?:final|overall|total)\s{0,3})?(?:scores?|rating|grade|得分|分数|評分|评分|スコア|点数|점수|оценка|nota)\s{0,3}[:=]\s{0,3}",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\s{0,3}(?:points?|pts?\.?|marks?|分|点|점|балл\w{0,3}|punkte?|puntos?)", re.IGNORECASE)
_REMARK = re.compile(r"\s{0,3}(?:[(\[].{0,300}[)\]]|(?:--?|[–—:;,])\s{1,3}[^\W\d].{0,300})", re.DOTALL)
_HEDGE = re.compile(
    r"\b(?:or|to|at|than|less|more|most|least|not|no|minus|plus|up|under|over|below|above|maybe|if|was|were|should"
    r"|instead|previously|before|after|between|corrected|revised|changed|actually)\b",
    re.IGNORECASE,
)
_WRAPPED = "*_`\"'“”‘’„ \t\r\n\u00a0"
_APPROX = re.compile(
    r"(?:~|≈|≃|about\s|approx(?:\.|imately)?\s|circa\s|ca\.\s|around\s|roughly\s)\s{0,3}", re.IGNORECASE
)
_ONES = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {
    word: 10 * number
    for number, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
_CHINESE = {char: str(number) for number, char in enumerate("零一二三四五六七八九")}
_CONFUSED = frozenset({"No"})


def read_value(raw: Any, scale: tuple[float, float]) -> Value | Unread:
    """The number ``raw`` (a JSON value, or text as a judge wrote it) says."""
    kind = type(raw)
    if kind is float or kind is int:
        return _checked(raw)
    if kind is str:
        return _of_text(raw, scale) if len(raw) <= 400 else _NO_NUMBER
    if raw is None:
        return _NONE
    if raw is CUT:
        return _CUT_OFF
    if isinstance(raw, list) and type(raw) is list and len(raw) == 1 and not isinstance(raw[0], list):
        return read_value(raw[0], scale)
    return _NO_NUMBER


def _checked(number: float, written: Written = "bare") -> Value | Unread:
    try:
        number = float(number)
    except OverflowError:  # an integer beyond the range of floats
        return _ABSURD
    if not math.isfinite(number):
        return _NOT_FINITE
    if abs(number) > ABSURD:
        return _ABSURD
    return Value(number + 0.0, written)


def _of_text(raw: str, scale: tuple[float, float]) -> Value | Unread:
    text = _plain(raw)
    if text is None:
        return _NO_NUMBER
    if not text or text.casefold() in ("null", "none", "n/a", "na", "-", "–", "—", "?"):
        return _NONE if not text else _NO_NUMBER
    label = _LABEL.match(text)
    if label:
        text = text[label.end() :].strip(_WRAPPED)
    approx = _APPROX.match(text)
    if approx:
        text = text[approx.end() :]
    read = _number(text, scale)
    if read is None:
        read = _of_words(text, scale)
    return _NO_NUMBER if read is None else read


def _plain(raw: str) -> str | None:
    """Digits and punctuation of any script as ASCII; None when a footnote mark or vulgar fraction would join in."""
    if raw.isascii():
        text = raw
    else:
        if any(unicodedata.category(char) == "No" for char in raw):
            return None
        text = unicodedata.normalize("NFKC", raw.replace("٫", "."))
        text = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)
        text = text.replace("−", "-")
    text = text.strip(_WRAPPED)
    for opener, closer in (("[[", "]]"), ("[", "]"), ("(", ")")):
        if text.startswith(opener) and text.endswith(closer):
            return text[len(opener) : -len(closer)].strip(_WRAPPED)
    return text


def _number(text: str, scale: tuple[float, float]) -> Value | Unread | None:
    """A number at the start of ``text`` with at most a unit and a harmless remark after it."""
    for pattern in (_RATIO, _PERCENT, _PLAIN):
        found = pattern.match(text)
        if found is None:
            continue
        if not _harmless(text[found.end() :]):
            continue
        if pattern is _RATIO:
            return _ratio(found, scale)
        number = _float(found[1] if pattern is _PERCENT else found[0])
        if number is None or (pattern is _PERCENT and 0 < number < 1):  # 0.9 % on 0-1 was hardly meant
            return _NO_NUMBER
        if pattern is _PERCENT:
            low, high = scale
            return _checked(low + number / 100 * (high - low), "share")
        return _checked(number)
    return None


def _ratio(found: re.Match[str], scale: tuple[float, float]) -> Value | Unread | None:
    part, whole = _float(found[1]), _float(found[2])
    if part is None or not whole or part > ABSURD or whole > ABSURD:
        return None
    low, high = scale
    if whole == high:
        return _checked(part, "share")
    return _checked(low + part / whole * (high - low), "share")


def _float(text: str) -> float | None:
    """The number, a comma read as decimal; None where it may as well separate thousands."""
    if "," in text:
        whole, _, decimals = text.partition(",")
        if len(decimals) == 3 and whole.lstrip("+-0"):
            return None
        text = text.replace(",", ".")
    return float(text)


def _harmless(rest: str) -> bool:
    if not rest or rest.isspace():
        return True
    unit = _UNIT.match(rest)
    if unit and not rest[unit.end() : unit.end() + 1].isalpha():
        rest = rest[unit.end() :]
        if not rest.strip(" ."):
            return True
    remark = _REMARK.fullmatch(rest)
    return remark is not None and not any(char.isnumeric() for char in rest) and not _HEDGE.search(rest)


def _of_words(text: str, scale: tuple[float, float]) -> Value | Unread | None:
    """``eighty-five``, ``zero point nine``, ``nine out of ten``, ``九分``, ``零点九``."""
    if len(text) > 60:
        return None
    chinese = text.removesuffix("分")
    if chinese and all(char in _CHINESE or char == "点" for char in chinese):
        digits = "".join(_CHINESE.get(char, ".") for char in chinese)
        return _checked(float(digits)) if _PLAIN.fullmatch(digits) else None
    parts = re.split(r"\s{1,3}out\s{1,3}of\s{1,3}|\s{1,3}percent\b|\s{0,3}%", text.casefold().strip())
    numbers = [number for part in parts if part and (number := _spelled(part)) is not None]
    if not numbers or len(numbers) != sum(map(bool, parts)):
        return None
    if len(parts) == 1:
        return _checked(numbers[0])
    whole = 100.0 if len(numbers) == 1 else numbers[1]
    low, high = scale
    if not whole or len(numbers) > 2 or (len(numbers) == 1) == ("out" in text.casefold()):
        return None
    return _checked(numbers[0] if whole == high else low + numbers[0] / whole * (high - low), "share")


def _spelled(text: str) -> float | None:
    if _PLAIN.fullmatch(text):
        return _float(text)
    whole, point, decimals = text.partition("point")
    if point:
        digits = [_ONES.get(word, 10) for word in decimals.split()]
        start = _spelled_integer(whole) if whole.strip() else 0
        if start is None or not digits or max(digits) > 9:
            return None
        return float(f"{start}.{''.join(map(str, digits))}")
    integer = _spelled_integer(text)
    return None if integer is None else float(integer)


def _spelled_integer(text: str) -> int | None:
    words = text.replace("-", " ").split()
    match words:
        case ["one", "hundred"] | ["hundred"] | ["a", "hundred"]:
            return 100
        case [word]:
            return _ONES.get(word, _TENS.get(word))
        case [tens, ones] if tens in _TENS and 1 <= _ONES.get(ones, 0) <= 9:
            return _TENS[tens] + _ONES[ones]
    return None
