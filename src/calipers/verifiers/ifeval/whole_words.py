r"""Find whole words in scripts with and without spaces between words, for IFEval's ``mode="fixed"``.

Python's ``\b`` only knows letters and digits. It finds no word inside a Chinese sentence, treats a Hindi vowel sign as
the end of a word, and does not know that Korean attaches particles to nouns.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from calipers.types.scripts import UNSPACED
from calipers.verifiers.ifeval.rule import word_list

HANGUL: Final = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"

_PREFIXES: Final[Mapping[str, tuple[str, str]]] = {
    "Arabic": ("\u0600-\u06ff\u0750-\u077f", r"(?:[وف]?(?:[بك]?ال|لل|[بلكس])|[وف])"),  # and; with, for, like; the
    "Hebrew": ("\u0590-\u05ff", r"(?:ו?(?:כש|מה|שה|[הבלכמש])|ו)"),  # and; when, from, that; the, in, to, like
}
"""Conjunctions, prepositions and articles that are attached to the next word, by the script of the language."""
_SHORT: Final = 3
"""A word with fewer letters is not searched for with a prefix, because the result is usually a different word."""

_SAME: Final = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-", "\u3000": " "}
    | {chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
)
"""A translation of typographic apostrophes and hyphens and East Asian full-width characters into ASCII."""


_NARROW: Final = re.compile("[\uff65-\uff9f]+")
"""Half-width Kana, which have separate voicing marks."""
_SHARP_S: Final = "(?:[ßẞ]|(?-i:SS))"
"""In capitals ß is SS, but in small letters ss makes another word (Maße, Masse)."""
_EMPHASIS: Final = (r"(?<=\W_)|(?<=\A_)|(?<=\W__)|(?<=\A__)", r"(?=__?(?:\W|\Z))")
"""Markdown's underscores for emphasis: the patterns before and after a word."""


def normalise_words(text: str) -> str:
    """Normalise text for IFEval's keywords: composed letters, plain apostrophes, hyphens and ASCII widths."""
    if text.isascii():
        return text
    kana = _NARROW.sub(lambda run: unicodedata.normalize("NFKC", run[0]), unicodedata.normalize("NFC", text))
    return kana.translate(_SAME)


@lru_cache(maxsize=1024)
def word_pattern(text: str) -> str:
    """Return a pattern that finds one of IFEval's keywords as a whole word in normalised text of any script.

    The pattern also matches across line breaks, and anywhere in a script without spaces. A Korean word also matches
    with its particles, an Arabic or Hebrew word also after a conjunction, preposition or article.
    """
    parts = normalise_words(text).split()
    if not parts:
        return r"(?!)"
    found = re.sub("[ßẞ]", _SHARP_S, r"\s+".join(map(re.escape, parts)))
    return f"{_opening(parts[0])}{found}{_closing(parts[-1])}"


def word_counts(text: str) -> tuple[int, int]:
    """Return the least and the greatest number of words that IFEval may count in ``text``.

    The two differ in scripts without spaces. A run of such letters is at least one word and at most as many words as
    letters.
    """
    unspaced_runs, unspaced_letters, spaced_runs = _patterns()
    unspaced, spaced = unspaced_runs.findall(text), spaced_runs.findall(text)
    return len(spaced) + len(unspaced), len(spaced) + sum(len(unspaced_letters.findall(run)) for run in unspaced)


@lru_cache(maxsize=1)
def combining_marks() -> str:
    r"""Return the ranges of combining marks in IFEval's words, which ``\w`` does not match.

    Emoji selectors are not among them.
    """
    places = [place for place in range(0x300, 0x12000) if unicodedata.category(chr(place))[0] == "M"]
    places = [place for place in places if not 0xFE00 <= place <= 0xFE0F]
    ranges: list[list[int]] = []
    for place in places:
        if ranges and place == ranges[-1][1] + 1:
            ranges[-1][1] = place
        else:
            ranges.append([place, place])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def _opening(word: str) -> str:
    first = word[0]
    if _is(first, HANGUL):
        return f"(?<![{HANGUL}])"
    if _is(first, UNSPACED):
        return ""
    if not _in_word(first):
        return f"(?<!{re.escape(first)})"
    opening = f"(?<![^\\W{UNSPACED}{HANGUL}])(?<![{combining_marks()}])"
    for letters, prefix in _PREFIXES.values():
        if _is(first, letters) and len(word) >= _SHORT:
            return f"(?:{opening}|(?<![^\\W])(?:{prefix}))"
    return f"(?:{opening}|{_EMPHASIS[0]})" if _is(first, r"^\W_") else opening


def _closing(word: str) -> str:
    last = word[-1]
    if _is(last, HANGUL):
        return f"(?=(?:{_korean()}){{0,3}}(?![{HANGUL}]))"
    if _is(last, UNSPACED):
        return f"(?![{combining_marks()}])"
    if not _in_word(last):
        return f"(?!{re.escape(last)})"
    other = r"(?!\+\+|#)" if len(word) == 1 else ""  # C does not match in C++ or C#
    closing = f"(?![^\\W{UNSPACED}{HANGUL}]|[{combining_marks()}])"
    return f"{other}(?:{closing}|{_EMPHASIS[1]})" if _is(last, r"^\W_") else f"{other}{closing}"


def _is(char: str, ranges: str) -> bool:
    return re.match(f"[{ranges}]", char) is not None


def _in_word(char: str) -> bool:
    return char == "_" or char.isalnum() or unicodedata.category(char)[0] == "M"


@lru_cache(maxsize=1)
def _korean() -> str:
    return "|".join(sorted(word_list("korean_endings"), key=len, reverse=True))


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return three patterns: runs without spaces, letters in such runs (no marks), and other words."""
    return (
        re.compile(f"[{UNSPACED}]+"),
        re.compile(f"(?![{combining_marks()}])[{UNSPACED}]"),
        re.compile(f"[^\\W{UNSPACED}](?:[^\\W{UNSPACED}]|(?![{UNSPACED}])[{combining_marks()}])*"),
    )
