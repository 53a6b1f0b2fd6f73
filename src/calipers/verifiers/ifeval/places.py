"""IFEvalG's rules on the place of words: first and last words, a word's number in a sentence, neighbours."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from calipers.errors import InputError
from calipers.types import Verdict
from calipers.verifiers.ifeval.period_sentences import split_at_periods
from calipers.verifiers.ifeval.rule import Mode, Rule, count_verdict, verdict_if
from calipers.verifiers.ifeval.treebank import treebank_words

_MARKS: Final = re.compile(r"[^\w\s]")


def _first_word_answer(_: Mode, response: str, *, first_word: str) -> Verdict:
    """Compare the first word, ignoring case. A mark after it belongs to it."""
    return _word_is("first_word", "the first word", response.split(maxsplit=1)[0], first_word)


def _first_word_sent(_: Mode, response: str, *, first_word: str) -> Verdict:
    """Compare the first word of each sentence, ignoring case. A mark after it belongs to it."""
    for sentence in split_at_periods(response):
        if not sentence:
            return Verdict(False, "a sentence is empty")
        verdict = _word_is("first_word", "a sentence's first word", sentence.split()[0], first_word)
        if not verdict.met:
            return verdict
    return Verdict(True)


def _last_word_answer(_: Mode, response: str, *, last_word: str) -> Verdict:
    """Compare the last word, ignoring case and all marks in it."""
    return _word_is("last_word", "the last word", _MARKS.sub("", response.rsplit(maxsplit=1)[-1]), last_word)


def _last_word_sent(_: Mode, response: str, *, last_word: str) -> Verdict:
    """Compare the last word of each sentence, ignoring case and all marks in it."""
    for sentence in split_at_periods(response):
        if not sentence:
            return Verdict(False, "a sentence is empty")
        verdict = _word_is("last_word", "a sentence's last word", _MARKS.sub("", sentence.split()[-1]), last_word)
        if not verdict.met:
            return verdict
    return Verdict(True)


def _word_is(field: str, what: str, word: str, wanted: str) -> Verdict:
    if not wanted.strip():
        raise InputError(f"{field}: must not be blank")
    met = word.lower() == wanted.strip().lower()
    return verdict_if(met=met, otherwise=f"{what} is {word[:80]!r}, not {wanted.strip()!r}")


def _start_end(_: Mode, response: str) -> Verdict:
    """Require the same first and last word of the Penn Treebank, in which marks are words, ignoring case."""
    words = treebank_words(response)
    if len(words) < 2:
        return Verdict(False, "a single word")
    met = words[0].lower() == words[-1].lower()
    return verdict_if(met=met, otherwise=f"begins with {words[0][:80]!r}, ends with {words[-1][:80]!r}")


def _keyword_specific_position(_: Mode, response: str, *, keyword: str, n: int, m: int) -> Verdict:
    """Require the keyword as word ``m`` of sentence ``n``. Words are those of the Penn Treebank: marks are words."""
    for field, number in (("n", n), ("m", m)):
        if number < 1:  # the official checker draws a random number then
            raise InputError(f"{field}: must be 1 or more, is {number}")
    sentences = split_at_periods(response)
    if len(sentences) < n:
        return count_verdict(len(sentences), "sentences", "at least", n)
    words = treebank_words(sentences[n - 1])
    if len(words) < m:
        return count_verdict(len(words), f"words in sentence {n}", "at least", m)
    met = words[m - 1] == keyword.strip()
    return verdict_if(met=met, otherwise=f"word {m} of sentence {n} is {words[m - 1][:80]!r}, not {keyword.strip()!r}")


def _no_adjacent_consecutive(_: Mode, response: str) -> Verdict:
    """Forbid that a word begins with the letter that follows that of the word before it. Any character counts."""
    for word, following in pairwise(response.split()):
        first, second = word[0].lower(), following[0].lower()
        if len(first) != 1 or len(second) != 1 or ord(second) - ord(first) == 1:
            return Verdict(False, f"{word[:80]!r} before {following[:80]!r}")
    return Verdict(True)


def _palindrome(_: Mode, response: str) -> Verdict:
    """Require a word that is the same backwards, with its marks and capitals. ``a`` and ``-`` are such words."""
    return verdict_if(met=any(word == word[::-1] for word in response.split()), otherwise="no palindrome")


RULES: Final[dict[str, Rule]] = {
    "first_word:first_word_answer": _first_word_answer,
    "first_word:first_word_sent": _first_word_sent,
    "keywords:keyword_specific_position": _keyword_specific_position,
    "keywords:no_adjacent_consecutive": _no_adjacent_consecutive,
    "keywords:palindrome": _palindrome,
    "keywords:start_end": _start_end,
    "last_word:last_word_answer": _last_word_answer,
    "last_word:last_word_sent": _last_word_sent,
}
