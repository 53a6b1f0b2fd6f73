"""``keywords:...``: words that must or must not occur, or must occur so often, and letters.

Oddities of ``official``: keywords are regular expressions, matched without regard to case; ``existence`` and
``frequency`` also match inside longer words. ``fixed`` takes them literally, and whole if the script separates words.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from calipers.types import Verdict
from calipers.verifiers.ifeval.arguments import Relation
from calipers.verifiers.ifeval.rule import Mode, Rule, counted, expression, yes_or_no
from calipers.verifiers.ifeval.whole_words import folded, whole


def _existence(mode: Mode, response: str, *, keywords: tuple[str, ...]) -> Verdict:
    text = _text(mode, response)
    missing = [word for word in keywords if not _pattern("keywords", word, mode).search(text)]
    return yes_or_no(met=not missing, otherwise=f"missing: {', '.join(missing)}")


def _frequency(mode: Mode, response: str, *, keyword: str, frequency: int, relation: Relation) -> Verdict:
    found = _pattern("keyword", keyword.strip(), mode).finditer(_text(mode, response))
    return counted(sum(1 for _ in found), f"x {keyword!r}", relation, frequency)


def _forbidden_words(mode: Mode, response: str, *, forbidden_words: tuple[str, ...]) -> Verdict:
    r"""Whole words in both modes; ``official`` by ``\b``, which finds no word that begins or ends with a mark."""
    text = _text(mode, response)
    found = [word for word in forbidden_words if _pattern("forbidden_words", word, mode, rf"\b{word}\b").search(text)]
    return yes_or_no(met=not found, otherwise=f"found: {', '.join(found)}")


def _letter_frequency(mode: Mode, response: str, *, letter: str, let_frequency: int, let_relation: Relation) -> Verdict:
    """All modes count without regard to case.

    The official checker replaces anything but one letter from a to z by a letter drawn at random; since 2025, only what
    is not one character. Then there is no verdict. ``fixed`` counts whatever it is.
    """
    wanted = letter.lower()
    usual = len(letter) == 1 and (mode == "official_2025" or (len(wanted) == 1 and "a" <= wanted <= "z"))
    if mode != "fixed" and not usual:
        return Verdict(None, f"the official checker counts a letter drawn at random in place of {letter!r}")
    if mode == "fixed":
        found = _composed(response).count(_composed(letter))  # é is one letter, however it is written
    elif len(wanted) > 1 or wanted.isspace():
        found = 0  # it looks the lower-cased, stripped letter up among single characters, where this is not
    else:
        found = response.lower().count(wanted)
    return counted(found, f"x {letter!r}", let_relation, let_frequency)


def _composed(text: str) -> str:
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).lower()


def _text(mode: Mode, response: str) -> str:
    return folded(response) if mode == "fixed" else response


def _pattern(field: str, word: str, mode: Mode, official: str | None = None) -> re.Pattern[str]:
    return expression(field, whole(word) if mode == "fixed" else official or word, re.IGNORECASE)


RULES: Final[dict[str, Rule]] = {
    "keywords:existence": _existence,
    "keywords:frequency": _frequency,
    "keywords:forbidden_words": _forbidden_words,
    "keywords:letter_frequency": _letter_frequency,
}
