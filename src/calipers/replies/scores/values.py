"""Converts one score as written to a number on a scale, or says why the score cannot be read.

Ratios, percents and numbers with a scale beside them (``stated``) are converted. Other numbers stay unchanged.
``scales`` decides whether a number lies on the scale asked for.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Any

from calipers.replies.scores import scale_words
from calipers.replies.scores.found import ABSURD, TOO_LARGE, Score, StatedScale, Unread, Value, checked_score
from calipers.replies.scores.stated import attached_scale, parse_number
from calipers.replies.strictjson import CUT
from calipers.replies.wordlists import list_words

PERCENTAGE = StatedScale(0.0, 100.0)
ONES = {word: number for number, word in enumerate(list_words("spelled", "ONES"))}
TENS = {word: 10 * number for number, word in enumerate(list_words("spelled", "TENS"), start=2)}

_NONE = Unread("no score", empty=True)
_CUT_OFF = Unread("the score is cut off", cut=True)
_NO_NUMBER = Unread("the score is not a number")
_DECIMAL = r"(?:(?:0|[1-9]\d{0,15})(?:[.,]\d{1,25})?|\.\d{1,25})"
_PLAIN = re.compile(rf"[+-]?{_DECIMAL}(?:[eE][+-]?\d{{1,4}})?")
_PERCENT = re.compile(rf"([+-]?{_DECIMAL})\s{{0,3}}{scale_words.PERCENT}(?![^\W\d_])", re.IGNORECASE)
_PER_HUNDRED = re.compile(rf"{scale_words.PER_HUNDRED}({_DECIMAL})", re.IGNORECASE)
_ALSO_PERCENT = re.compile(
    rf"\s{{0,3}}[(\[=,≈]{{1,2}}\s?[~≈]?({scale_words.NUM})\s?{scale_words.PERCENT}[)\]]?", re.IGNORECASE
)
FRACTION = re.compile(r"\$?\\{1,2}[dt]?frac\s?\{\s?([\d.,]{1,8})\s?\}\s?\{\s?([\d.,]{1,8})\s?\}\$?")
_BEFORE = re.compile(
    r"(?:(?:(?:final|overall|total)\s{0,3})?(?:scores?|rating|grade|得分|分数|評分|评分|スコア|点数|점수|оценка|nota)"
    r"\s{0,3}[:=]\s{0,3}[*_`\"'“”‘’„ \t\r\n\u00a0]*)?"
    r"(?:(?:~|≈|≃|about\s|approx(?:\.|imately)?\s|circa\s|ca\.\s|around\s|roughly\s)\s{0,3})?",
    re.IGNORECASE,
)
"""A label such as *score:*, and words that mean *about*."""
_UNIT = re.compile(rf"\s{{0,3}}{scale_words.UNIT}", re.IGNORECASE)
_REMARK = re.compile(r"\s{0,3}(?:[(\[].{0,300}[)\]]|(?:--?|[–—:;,])\s{1,3}[^\W\d].{0,300})", re.DOTALL)
_DOUBTFUL = re.compile(
    r"\b(?:or|to|at|than|less|more|most|least|not|no|minus|plus|up|under|over|below|above|maybe|if|was|were|should"
    r"|instead|previously|before|after|between|corrected|revised|changed|actually)\b"
    rf"|\b(?:{scale_words.OUT_OF}|{scale_words.SCALE})|{scale_words.MAXIMUM}|{scale_words.TOP_SCORE}"
    rf"|{scale_words.FULL_MARKS}|点満|分制",
    re.IGNORECASE,
)
"""Words of a remark that make the score doubtful: a hedge, or a scale that cannot be read."""
_WRAPPED = "*_`\"'“”‘’„ \t\r\n\u00a0"
_HAN = {char: number for number, char in enumerate("零一二三四五六七八九十")} | {"〇": 0, "两": 2}
_HAN_NUMBER = re.compile(r"(?!百分之)[零〇一二两三四五六七八九十百]{1,6}(?:点[零〇一二三四五六七八九]{1,4})?")


def read_score_value(raw: Any, scale: tuple[float, float]) -> Score:
    """Extract the score that ``raw`` states: a JSON value, or text as a judge wrote it."""
    kind = type(raw)
    if kind is float or kind is int:
        return checked_score(raw)
    if kind is str and len(raw) <= 400:
        return _of_text(raw, scale)
    if raw is None or raw is CUT:
        return _NONE if raw is None else _CUT_OFF
    if kind is list and len(raw) == 1 and not isinstance(raw[0], list):
        return read_score_value(raw[0], scale)
    return _NO_NUMBER


def _of_text(raw: str, scale: tuple[float, float]) -> Score:
    text = _plain(raw)
    if text == "":
        return _NONE
    if text is None or text.casefold() in ("null", "none", "n/a", "na", "-", "–", "—", "?"):
        return _NO_NUMBER
    before = _BEFORE.match(text)
    text = text[before.end() if before else 0 :].rstrip(_WRAPPED)
    return _number(text, scale) or _of_words(text, scale) or _NO_NUMBER


def _plain(raw: str) -> str | None:
    """Return a score with digits and punctuation in ASCII. None if it has a footnote mark or a vulgar fraction."""
    text = raw
    if not raw.isascii():
        if any(unicodedata.category(char) == "No" for char in raw):
            return None
        text = unicodedata.normalize("NFKC", raw.replace("٫", "."))
        text = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)
        text = text.replace("−", "-")
        if not any(char.isdecimal() for char in text):
            text = han_digits(text)
    text = FRACTION.sub(r"\1/\2", text) if "frac" in text else text
    text = text.strip(_WRAPPED)
    for opener, closer in (("[[", "]]"), ("[", "]"), ("(", ")")):
        if text.startswith(opener) and text.endswith(closer):
            return text[len(opener) : -len(closer)].strip(_WRAPPED)
    return text


def _number(text: str, scale: tuple[float, float]) -> Score | None:
    """Read a number at the start of ``text``. Only its scale, a unit and a harmless remark may follow it."""
    beside = attached_scale(text)
    if beside is not None:
        part, stated, end = beside
        return _on(part, stated, scale) if _agrees(text[end:], part, stated) else None
    for pattern in (_PERCENT, _PER_HUNDRED, _PLAIN):
        found = pattern.match(text)
        if found is None or not _is_harmless(text[found.end() :]):
            continue
        plain = pattern is _PLAIN
        number = _float(found[0] if plain else found[1])
        if number is None or (not plain and 0 < number < 1):  # 0.9 % is hardly a score on 0-1
            return _NO_NUMBER
        return checked_score(number) if plain else _on(number, PERCENTAGE, scale)
    return None


def _on(number: float, stated: StatedScale, scale: tuple[float, float]) -> Score:
    if number > ABSURD or stated.high > ABSURD:
        return TOO_LARGE
    read = checked_score(stated.convert_number(number, scale), stated)
    # 0.9/100 may mean 0.9 of the whole scale, but 0.5/10 can only mean 0.5 out of 10.
    return replace(read, raw=number) if type(read) is Value and stated.high >= 50 else read


def _agrees(rest: str, number: float, stated: StatedScale) -> bool:
    """Whether the words after a ratio are harmless. A percentage among them must be equal to the ratio."""
    also = _ALSO_PERCENT.match(rest)
    same = (
        also is None or abs(number / stated.high * 100 - parse_number(also[1])) <= 0.51
    )  # the percentage may be rounded
    return same and _is_harmless(rest[also.end() if also else 0 :])


def _float(text: str) -> float | None:
    """Convert a number with a decimal comma. None if the comma may separate thousands."""
    whole, _, decimals = text.partition(",")
    return None if len(decimals) == 3 and whole.lstrip("+-0") else float(text.replace(",", "."))


def _is_harmless(rest: str) -> bool:
    unit = _UNIT.match(rest)
    if unit and not rest[unit.end() : unit.end() + 1].isalpha():
        rest = rest[unit.end() :] if rest[unit.end() :].strip(" .") else ""
    if not rest or rest.isspace():
        return True
    numeric = any(map(str.isnumeric, rest))
    return not numeric and _REMARK.fullmatch(rest) is not None and _DOUBTFUL.search(rest) is None


def _of_words(text: str, scale: tuple[float, float]) -> Score | None:
    """Read a score in English words: ``eighty-five``, ``zero point nine``, ``nine out of ten``."""
    if len(text) > 60:
        return None
    parts = re.split(r"\s{1,3}out\s{1,3}of\s{1,3}|\s{1,3}percent\b|\s{0,3}%", text.casefold().strip())
    numbers = [number for part in parts if part and (number := _spelled(part)) is not None]
    if not 1 <= len(numbers) == sum(map(bool, parts)) <= 2:
        return None
    if len(parts) == 1:
        return checked_score(numbers[0])
    if (len(numbers) == 1) == ("out" in text.casefold()) or not numbers[-1]:
        return None
    return _on(numbers[0], PERCENTAGE if len(numbers) == 1 else StatedScale(0.0, numbers[1], both=False), scale)


def han_digits(text: str) -> str:
    """Write the Chinese numerals in an extracted score as digits: ``九十五`` becomes 95, ``零点九`` 0.9."""
    return _HAN_NUMBER.sub(_han_digits, text)


def _han_digits(found: re.Match[str]) -> str:
    whole, _, decimals = found[0].partition("点")
    if set(whole) & set("十百"):
        hundreds, mark, rest = whole.rpartition("百")
        tens, ten, ones = rest.rpartition("十")
        parts = [hundreds or "一" if mark else "零", tens or "一" if ten else "零", ones.removeprefix("零") or "零"]
        if any(len(part) > 1 or _HAN.get(part, 10) > 9 for part in parts):
            return found[0]
        number = "".join(str(_HAN[part]) for part in parts).lstrip("0") or "0"
    else:
        number = "".join(str(_HAN[char]) for char in whole)
    return number + ("." + "".join(str(_HAN[char]) for char in decimals) if decimals else "")


def _spelled(text: str) -> float | None:
    if _PLAIN.fullmatch(text):
        return _float(text)
    whole, point, decimals = text.partition("point")
    start = _spelled_integer(whole) if whole.strip() or not point else 0
    digits = [ONES.get(word, 10) for word in decimals.split()]
    if start is None or (point and (not digits or max(digits) > 9)):
        return None
    return float(f"{start}.{''.join(map(str, digits))}") if point else float(start)


def _spelled_integer(text: str) -> int | None:
    match text.replace("-", " ").split():
        case ["one", "hundred"] | ["hundred"] | ["a", "hundred"]:
            return 100
        case [word]:
            return ONES.get(word, TENS.get(word))
        case [tens, ones] if tens in TENS and 1 <= ONES.get(ones, 0) <= 9:
            return TENS[tens] + ONES[ones]
    return None
