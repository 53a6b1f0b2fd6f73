"""IFBench's rules ``words:...`` and ``sentence:...``: letters, lengths and places of words."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.types import Verdict
from calipers.verifiers.ifeval.ifbench.text import MARKS, bare, sentences_of, without_marks
from calipers.verifiers.ifeval.rule import Mode, Rule, count_verdict, verdict_if
from calipers.verifiers.ifeval.treebank import treebank_words

_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz"
_CLUSTER: Final = re.compile("[bcdfghjklmnpqrstvwxyz]{2}")
_PRIMES: Final = frozenset(n for n in range(2, 98) if all(n % divisor for divisor in range(2, n)))


def _alphabet(_: Mode, response: str) -> Verdict:
    """Require that each word begins with the letter that follows that of the word before it; a follows z."""
    words = without_marks(response).lower().split()
    if not words:
        return Verdict(False, "no words")
    first = words[0][0]
    start = _ALPHABET.find(first)
    # Some capitals, such as a dotted I, have two characters in lower case: they are no letter of the alphabet.
    if start < 0 or without_marks(response).split()[0][0].lower() != first:
        return Verdict(False, f"begins with {first!r}, which is no letter from a to z")
    for number, word in enumerate(words):
        if word[0] != (asked := _ALPHABET[(start + number) % 26]):
            return Verdict(False, f"{word[:80]!r} does not begin with {asked!r}")
    return Verdict(True)


def _vowel(_: Mode, response: str) -> Verdict:
    """Require a single line with at most three different vowels."""
    text = response.strip().lower()
    if "\n" in text:
        return Verdict(False, "more than one paragraph")
    found = [vowel for vowel in "aeiou" if vowel in text]
    return verdict_if(met=len(found) <= 3, otherwise=f"{len(found)} different vowels")


def _consonants(_: Mode, response: str) -> Verdict:
    """Require two consonants in a row in each word."""
    without = next((word for word in response.lower().split() if not _CLUSTER.search(word)), None)
    return verdict_if(met=without is None, otherwise=f"no two consonants in a row: {str(without)[:80]!r}")


def _palindrome(_: Mode, response: str) -> Verdict:
    """Count words of five letters or more that are the same backwards, ignoring case and marks; ten are asked for."""
    words = without_marks(response).lower().split()
    return count_verdict(
        sum(1 for word in words if len(word) >= 5 and word == word[::-1]), "palindromes", "at least", 10
    )


def _prime_lengths(_: Mode, response: str) -> Verdict:
    """Require that the length of each word, without marks, is a prime number below 100."""
    other = next((word for word in without_marks(response).split() if len(word) not in _PRIMES), "")
    return verdict_if(met=not other, otherwise=f"{len(other)} characters: {other[:80]!r}")


def _start_verb(_: Mode, response: str) -> Verdict:
    """Require that nltk's tagger takes the first word for a verb."""
    words = treebank_words(response)
    if not words:
        return Verdict(False, "no words")
    tag = _tags(words)[0][1]
    return verdict_if(met="VB" in tag, otherwise=f"{words[0][:80]!r} is tagged {tag}")


def _tags(words: list[str]) -> Any:
    try:
        from nltk import pos_tag  # noqa: PLC0415 - not a dependency
    except ImportError:
        raise ConfigError(f"words:start_verb: {_TAGGER}") from None
    try:
        return pos_tag(words)
    except LookupError:
        raise ConfigError(f"words:start_verb: {_TAGGER}") from None


_TAGGER: Final = (
    "needs nltk and its tagger, which is not downloaded when it is used: pip install nltk, then "
    "python -m nltk.downloader averaged_perceptron_tagger_eng"
)


def _repeats(_: Mode, response: str, *, small_n: int) -> Verdict:
    """Allow each word at most ``small_n`` times, ignoring case and marks."""
    words = Counter(without_marks(response.lower()).split())
    word, times = max(words.items(), key=lambda item: item[1], default=("", 0))
    return verdict_if(met=times <= small_n, otherwise=f"{times} x {word[:80]!r}; asked: at most {small_n}")


def _odd_even_syllables(_: Mode, response: str) -> Verdict:
    """Require words with an odd and an even number of syllables in turn, as syllapy counts them."""
    try:
        from syllapy import count  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigError(
            "words:odd_even_syllables: needs syllapy, which is not installed: pip install 'calipers[ifbench]'"
        ) from None
    words = without_marks(response).lower().split()
    for word, following in pairwise(words):
        if count(word) % 2 == count(following) % 2:
            return Verdict(False, f"{word[:80]!r} before {following[:80]!r}")
    return Verdict(True)


def _last_first(_: Mode, response: str) -> Verdict:
    """Require that each sentence begins with the last word of the one before it, ignoring case and outer marks."""
    for sentence, following in pairwise(sentences_of(response)):
        ends, begins = sentence.rstrip(MARKS + " ").split(), following.lstrip(MARKS + " ").split()
        if not ends or not begins or ends[-1].lower() != begins[0].lower():
            return Verdict(False, f"after {sentence[-80:]!r} comes {following[:80]!r}")
    return Verdict(True)


def _paragraph_last_first(_: Mode, response: str) -> Verdict:
    """Require the same first and last word of each line, ignoring case and the marks around the line."""
    for line in response.lower().split("\n"):
        words = bare(line.strip()).split()
        if words and words[0] != words[-1]:
            return Verdict(False, f"a line begins with {words[0][:80]!r}, ends with {words[-1][:80]!r}")
    return Verdict(True)


def _no_consecutive(_: Mode, response: str) -> Verdict:
    """Forbid that two words in a row begin with the same letter, ignoring case and marks."""
    for word, following in pairwise(without_marks(response.lower()).split()):
        if word[0] == following[0]:
            return Verdict(False, f"{word[:80]!r} before {following[:80]!r}")
    return Verdict(True)


def _keywords_specific_position(_: Mode, response: str, *, keyword: str, n: int, m: int) -> Verdict:
    """Require the keyword as word ``m`` of sentence ``n``, ignoring case. Lone marks are no words."""
    for field, number in (("n", n), ("m", m)):
        if number < 1:  # the official checker draws a random number then
            raise InputError(f"{field}: must be 1 or more, is {number}")
    sentences = sentences_of(response)
    if len(sentences) < n:
        return count_verdict(len(sentences), "sentences", "at least", n)
    words = [word for word in treebank_words(sentences[n - 1]) if any(map(str.isalnum, word))]
    if len(words) < m:
        return count_verdict(len(words), f"words in sentence {n}", "at least", m)
    met = words[m - 1].lower() == keyword.strip().lower()
    return verdict_if(met=met, otherwise=f"word {m} of sentence {n} is {words[m - 1][:80]!r}, not {keyword.strip()!r}")


def _words_position(_: Mode, response: str, *, keyword: str) -> Verdict:
    """Require the keyword as second and second to last word, not counting one mark at the end, ignoring case."""
    words = treebank_words(response)
    from_end = 3 if words and words[-1] in MARKS else 2
    if len(words) < from_end:
        return count_verdict(len(words), "words", "at least", from_end)
    second, other = words[1].lower(), words[-from_end].lower()
    met = second == other == keyword.strip().lower()
    return verdict_if(met=met, otherwise=f"the words are {second[:80]!r} and {other[:80]!r}, not {keyword.strip()!r}")


def _alliteration_increment(_: Mode, response: str) -> Verdict:
    """Require in each sentence more words that begin like a neighbour than in the sentence before it."""
    before = -1
    for sentence in sentences_of(response):
        firsts = [clean[0] for word in sentence.lower().split() if (clean := word.lstrip(MARKS + " "))]
        alike = [first == second for first, second in pairwise(firsts)]
        # A run of words with the same letter counts each of its words once.
        found = sum(alike) + sum(1 for place, same in enumerate(alike) if same and not (place and alike[place - 1]))
        if found <= before:
            return Verdict(False, f"{found} words that begin alike after {before}")
        before = found
    return Verdict(True)


def _keyword(_: Mode, response: str, *, word: str, N: int) -> Verdict:  # noqa: N803 - its field
    """Require a word in sentence ``N``, ignoring case. Sentence 0 is the last one."""
    sentences = sentences_of(response)
    if len(sentences) < N:
        return count_verdict(len(sentences), "sentences", "at least", N)
    met = re.search(rf"\b{re.escape(word)}\b", sentences[N - 1], re.IGNORECASE) is not None
    return verdict_if(met=met, otherwise=f"no {word!r} in sentence {N}")


def _increment(_: Mode, response: str, *, small_n: int) -> Verdict:
    """Require ``small_n`` words more in each sentence than in the one before it. Lone marks are no words."""
    counts = [len(without_marks(sentence).split()) for sentence in sentences_of(response)]
    for before, after in pairwise(counts):
        if after != before + small_n:
            return Verdict(False, f"{after} words after {before}; asked: {small_n} more")
    return Verdict(True)


RULES: Final[dict[str, Rule]] = {
    "sentence:alliteration_increment": _alliteration_increment,
    "sentence:increment": _increment,
    "sentence:keyword": _keyword,
    "words:alphabet": _alphabet,
    "words:consonants": _consonants,
    "words:keywords_specific_position": _keywords_specific_position,
    "words:last_first": _last_first,
    "words:no_consecutive": _no_consecutive,
    "words:odd_even_syllables": _odd_even_syllables,
    "words:palindrome": _palindrome,
    "words:paragraph_last_first": _paragraph_last_first,
    "words:prime_lengths": _prime_lengths,
    "words:repeats": _repeats,
    "words:start_verb": _start_verb,
    "words:vowel": _vowel,
    "words:words_position": _words_position,
}
