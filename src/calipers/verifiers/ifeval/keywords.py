"""Rules of IFEval and IFEvalG on keywords and letters: words that must occur, must not occur or must occur so often.

In ``official``, keywords are regular expressions that ignore case, and those of ``existence`` and ``frequency`` also
match inside longer words. In ``fixed``, keywords are literal, and match whole words only if the script separates words.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from calipers.types import Verdict
from calipers.verifiers.ifeval.arguments import Relation
from calipers.verifiers.ifeval.rule import Mode, Rule, compile_field, count_verdict, verdict_if
from calipers.verifiers.ifeval.whole_words import normalise_words, word_pattern


def _existence(mode: Mode, response: str, *, keywords: tuple[str, ...]) -> Verdict:
    text = _text(mode, response)
    missing = [word for word in keywords if not _pattern("keywords", word, mode).search(text)]
    return verdict_if(met=not missing, otherwise=f"missing: {', '.join(missing)}")


def _frequency(mode: Mode, response: str, *, keyword: str, frequency: int, relation: Relation) -> Verdict:
    found = _pattern("keyword", keyword.strip(), mode).finditer(_text(mode, response))
    return count_verdict(sum(1 for _ in found), f"x {keyword!r}", relation, frequency)


def _forbidden_words(mode: Mode, response: str, *, forbidden_words: tuple[str, ...]) -> Verdict:
    r"""Forbid whole words. The mode ``official`` uses ``\b`` as IFEval does, and never finds a word such as ``C++``."""
    text = _text(mode, response)
    found = [word for word in forbidden_words if _pattern("forbidden_words", word, mode, rf"\b{word}\b").search(text)]
    return verdict_if(met=not found, otherwise=f"found: {', '.join(found)}")


def _letter_frequency(mode: Mode, response: str, *, letter: str, let_frequency: int, let_relation: Relation) -> Verdict:
    """Count a letter in the response, ignoring case.

    The official checker counts a random letter if the field is not a single letter from a to z, or since 2025 if the
    field is not a single character. The verdict is None then. ``fixed`` counts any text.
    """
    wanted = letter.lower()
    usual = len(letter) == 1 and (mode == "official_2025" or (len(wanted) == 1 and "a" <= wanted <= "z"))
    if mode != "fixed" and not usual:
        return Verdict(None, f"the official checker counts a letter drawn at random in place of {letter!r}")
    if mode == "fixed":
        found = _composed(response).count(_composed(letter))  # é is one letter, encoded as one character or two
    elif len(wanted) > 1 or wanted.isspace():
        found = 0  # the official checker compares it with single characters, so it never finds it
    else:
        found = response.lower().count(wanted)
    return count_verdict(found, f"x {letter!r}", let_relation, let_frequency)


def _word_once(mode: Mode, response: str, *, keyword: str) -> Verdict:
    found = _pattern("keyword", keyword.strip(), mode).finditer(_text(mode, response))
    return count_verdict(sum(1 for _ in found), f"x {keyword!r}", "exactly", 1)


def _count_increment_word(mode: Mode, response: str, *, keyword1: str, keyword2: str) -> Verdict:
    """Require the first keyword once and the second one twice."""
    text = _text(mode, response)
    for field, keyword, asked in (("keyword1", keyword1, 1), ("keyword2", keyword2, 2)):
        found = sum(1 for _ in _pattern(field, keyword.strip(), mode).finditer(text))
        if found != asked:
            return count_verdict(found, f"x {keyword!r}", "exactly", asked)
    return Verdict(True)


def _exclude_word_harder(mode: Mode, response: str, *, keyword: str) -> Verdict:
    """Forbid a word. ``official`` finds it only with a blank on both sides and with its capitals: ``cat.`` passes."""
    wanted = keyword.strip()
    if mode == "fixed":
        met = not _pattern("keyword", wanted, mode).search(_text(mode, response))
    else:
        met = f" {wanted} " not in response
    return verdict_if(met=met, otherwise=f"found: {wanted}")


def _composed(text: str) -> str:
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).lower()


def _text(mode: Mode, response: str) -> str:
    return normalise_words(response) if mode == "fixed" else response


def _pattern(field: str, word: str, mode: Mode, official: str | None = None) -> re.Pattern[str]:
    return compile_field(field, word_pattern(word) if mode == "fixed" else official or word, re.IGNORECASE)


RULES: Final[dict[str, Rule]] = {
    "keywords:existence": _existence,
    "keywords:frequency": _frequency,
    "keywords:forbidden_words": _forbidden_words,
    "keywords:letter_frequency": _letter_frequency,
    "count:count_increment_word": _count_increment_word,
    "keywords:exclude_word_harder": _exclude_word_harder,
    "keywords:word_count_different_numbers": _frequency,
    "keywords:word_once": _word_once,
    "letters:letter_counting2": _letter_frequency,
}
