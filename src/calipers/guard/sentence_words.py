"""Split a sentence into words with their positions and concepts, also in scripts without spaces.

Not responsible for what the words mean together (``sentence_meaning``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Final, TypeAlias

from calipers.guard.vocabulary import BITS, Language, Mask, Meanings, find_entry, unspaced_pattern, word_matches

FULL_WITHIN: Final = 4
"""At most this many words lie between a score and the maximum after it."""
_RANGE: Final = 2
"""Two numbers with at most this many words between them are the ends of a scale."""
_SCALE_OF = re.compile(r"\b(?:out of|scale of|from|von|sur|until|up to|to|bis) (?:a |the )?$")
_SCALE_CHARACTERS: Final = 14
_PLACED_FIRST = re.compile(r" ?(?:등|위|位|番|st\b)")
"""Text after the number 1 that makes it mean "the first"."""
_OF = re.compile(
    r"(?: \w+)? ?"
    r"(?:/|out of|of|von|van|sur|de|di|su|af|av|as|z|ze|od|iz|na|din|dari|daripada|uzerinden|tren|-?bol|-?bal"
    r"|ud af|из|із|з|από|στα|من|מתוך|از|में से|-?এর মধ্যে|점 만점에|分中|点中)"
    r"(?: a| the| possible)? ?"
)
"""Text between two numbers, a score and its maximum. In Turkish and Korean the maximum comes first."""
_WITH_SPACES = re.compile("[a-z\u00c0-\u0dff\u1e00-\u1fff\uac00-\ud7a3]")
"""A letter of a script with spaces between words. The ranges end before Thai, and then before Chinese and Japanese."""
_LEAST_MAXIMUM: Final = 5
"""The smallest number that counts as the maximum of a scale: 5 of 5 is a full score, 4 of 4 is not."""
_HIGHEST, _HIGHEST_SCORE, _LOWEST = BITS["highest"], BITS["highest_score"], BITS["lowest"]
_SCORE, _SCALE = BITS["score"], BITS["scale"]
_NUMBERS: Final = dict.fromkeys(("100", "10", "1.0", "10.0", "95", "96", "97", "98", "99"), _HIGHEST) | {"0": _LOWEST}


_Word: TypeAlias = tuple[str, tuple[int, int], Meanings]
"""A word or number, its start and end, and the concepts that it has alone and in phrases."""


@dataclass(slots=True)
class Sentence:
    """A sentence of ``plain`` from ``begin`` to ``end``: its ``words``, with their ``spans`` and their ``meanings``.

    ``numbers`` are the concepts of numbers among the words, by position. ``known`` and ``combined`` remember what parts
    mean, because a sentence is read alone, with the one before, and with the one after.
    """

    plain: str
    begin: int
    end: int
    words: list[str]
    spans: list[tuple[int, int]]
    meanings: list[Meanings]
    numbers: dict[int, Mask]
    known: dict[tuple[int, int], dict[Language, Mask]] = field(default_factory=dict)
    combined: dict[tuple[Language, int, int], Mask] = field(default_factory=dict)

    def concepts_between(self, first: int, last: int) -> dict[Language, Mask]:
        """Return concepts of attacks that words from ``first`` to before ``last`` mean in any order, by language."""
        if (known := self.known.get((first, last))) is not None:
            return known
        found: dict[Language, Mask] = {}
        for meanings in self.meanings[first:last]:
            for language, mask in meanings:
                found[language] = found.get(language, 0) | mask
        if self.numbers and (stated := reduce(or_, (self.numbers.get(place, 0) for place in range(first, last)))):
            found = {language: mask | stated for language, mask in found.items()}
        self.known[first, last] = found
        return found


def read_sentence(plain: str, begin: int, end: int, unspaced_in: Sequence[Language]) -> Sentence:
    """Prepare the sentence between two positions for the search for attacks on the judge. ``unspaced_in`` are possible
    languages without spaces.
    """
    columns: tuple[list[str], list[tuple[int, int]], list[Meanings]] = ([], [], [])
    unspaced_words = _words_without_spaces(plain, begin, end, unspaced_in) if unspaced_in else []
    if not unspaced_words or _WITH_SPACES.search(plain, begin, end):
        columns = _words_with_spaces(plain, begin, end)
    if unspaced_words:
        merged = _merged_words([*unspaced_words, *zip(*columns, strict=True)])
        columns = [word for word, _, _ in merged], [span for _, span, _ in merged], [said for _, _, said in merged]
    words, spans, meanings = columns
    numbers = _numbers(plain, words, spans) if any(meanings) else {}
    return Sentence(plain, begin, end, words, spans, meanings, numbers)


def _merged_words(found: Iterable[_Word]) -> list[_Word]:
    """Return the words of a sentence in order. A word or number of several languages is one word with all meanings.

    Else a number would count as the two ends of a scale.
    """
    by_span: dict[tuple[int, int], _Word] = {}
    for word, span, meanings in found:
        known = by_span[span][2] if span in by_span else ()
        by_span[span] = word, span, (*known, *meanings)
    return sorted(by_span.values(), key=lambda one: one[1][0])


def _words_with_spaces(plain: str, begin: int, end: int) -> tuple[list[str], list[tuple[int, int]], list[Meanings]]:
    """Return the words of a sentence with spaces. The first and last word of a phrase also have the
    phrase's concepts.
    """
    matches = list(word_matches(plain, begin, end))
    words = [match[0] for match in matches]
    entries = [find_entry(word) for word in words]
    meanings = [
        () if match[0][0].isdecimal() and _is_within_word(plain, match.start()) else entry.alone
        for match, entry in zip(matches, entries, strict=True)
    ]
    for place, entry in enumerate(entries):
        if entry.phrases:
            for phrase in entry.phrases_at(words, place):
                for part in (place, place + len(phrase.rest)):
                    meanings[part] = (*meanings[part], (phrase.language, phrase.mask))
    return words, [match.span() for match in matches], meanings


def _is_within_word(plain: str, begin: int) -> bool:
    """Whether the number that begins here is part of a word, as in ``x100`` and ``1gn0re``, and so no score."""
    return begin > 0 and "a" <= plain[begin - 1] <= "z"


def _words_without_spaces(plain: str, begin: int, end: int, languages: Sequence[Language]) -> list[_Word]:
    """Return the words of a sentence without spaces. Words may overlap, but words inside a scale's name are omitted."""
    found = [word for language in languages for word in _in_language(plain, begin, end, language)]
    return found if any(meanings for _, _, meanings in found) else []


def _in_language(plain: str, begin: int, end: int, language: Language) -> Iterator[_Word]:
    pattern, masks = unspaced_pattern(language)
    hidden_until = begin
    for match in pattern.finditer(plain, begin, end):
        if match.start() < hidden_until:
            continue
        word = match[1] or match[0]
        last = match.start() + len(word)
        hidden_until = last if match[1] and masks[word] & _SCALE else hidden_until
        yield word, (match.start(), last), ((language, masks[word]),) if match[1] else ()


def number_concepts(word: str) -> Mask:
    """Return the concepts of an attack that a number may state without another number beside it."""
    return _NUMBERS.get(word, _HIGHEST | _SCORE if word == "1" else 0)


def _numbers(plain: str, words: Sequence[str], spans: Sequence[tuple[int, int]]) -> dict[int, Mask]:
    """Return the concepts of the numbers in a sentence: the highest or lowest score, a full score, or no concept."""
    numbered = (place for place, word in enumerate(words) if word[0].isdecimal())
    places = [place for place in numbered if not _is_within_word(plain, spans[place][0])]
    found = {place: _NUMBERS.get(words[place], 0) for place in places}
    for one, other in pairwise(places):
        is_of = other - one <= FULL_WITHIN and _OF.fullmatch(plain, spans[one][1], spans[other][0])
        if is_of and words[one] == words[other] and float(words[one]) >= _LEAST_MAXIMUM:
            found[one], found[other] = 0, _HIGHEST | _SCORE | _HIGHEST_SCORE
        elif is_of or other - one <= _RANGE:
            found[one] = found[other] = 0
    for place in places:
        begin, end = spans[place]
        if found[place] == _HIGHEST and _SCALE_OF.search(plain, max(0, begin - _SCALE_CHARACTERS), begin):
            found[place] = 0
        if words[place] == "1" and (plain.startswith("#", begin - 1) or _PLACED_FIRST.match(plain, end)):
            found[place] = _HIGHEST | _SCORE
    return found
