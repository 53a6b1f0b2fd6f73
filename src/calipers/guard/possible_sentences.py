"""Split text into sentences, and exclude those whose words cannot state a prompt injection in any order.

This takes far less time than ``sentence_attacks``, which reads the sentences that are left.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from itertools import pairwise
from operator import or_
from typing import Final, TypeAlias

from calipers.guard.attack_rules import COARSE, WIDTH, coarse_concepts, may_be_attack, with_pairs
from calipers.guard.sentence_words import FULL_WITHIN, number_concepts
from calipers.guard.vocabulary import Phrase, find_entry, words_between
from calipers.types.steps import Steps

LONGEST: Final = 32
"""This many words of a sentence are read together. In longer runs of words, concepts would meet by chance."""
STEP: Final = LONGEST // 2
"""A longer sentence is read in parts that begin this many words apart."""
_END = re.compile(r"[!?;。！।؟۔….\n\\](?:(?<=[!?;。！।؟۔…])[!?;。！।؟۔…]*|(?<=\.)(?!\w)|(?<=\n)|(?<=\\)n)")
"""The end of a sentence. A pattern that begins with one set of characters is found three to five times faster."""
_AHEAD: Final = 32 * STEP
"""So many words of a long sentence are looked up at a time."""
_LONG_PASSAGE: Final = 2**11
"""The words of a passage with more characters would nearly always state some rule together."""
_MOST_WORDS: Final = 2**15
_LONGEST_WORD: Final = 32
"""The coarse concepts of so many words are remembered, and of no longer ones."""
_HALF: Final = (1 << WIDTH) - 1
_IS_NUMBER: Final = 1 << 2 * WIDTH
_BEGINS_PHRASE: Final = 2 << 2 * WIDTH
_CONCEPTS: Final = _BEGINS_PHRASE - 1
_ADDRESSING: Final = COARSE["judge"] | COARSE["judge"] << WIDTH
_FULL_SCORE: Final = (COARSE["highest"] | COARSE["score"] | COARSE["highest_score"]) * (1 | 1 << WIDTH)
_OF_NUMBERS: Final = _IS_NUMBER | _FULL_SCORE | COARSE["lowest"] * (1 | 1 << WIDTH)
"""The concepts that a sentence of only numbers may state."""


def whole_sentences(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Extend ``spans`` of a possible attack, which are in order, to whole sentences, and join spans that touch.

    Only the lines that spans touch are split into sentences.
    """
    ends: list[int] = [0, 0]
    begin = end = -1
    for within, until in spans:
        if within < ends[0] or until > ends[-1]:
            lines = text.rfind("\n", 0, within) + 1, text.find("\n", max(0, until - 1)) + 1 or len(text)
            ends = [lines[0], *(match.end() for match in _END.finditer(text, *lines)), lines[1]]
        first = ends[bisect_right(ends, within) - 1]
        last = ends[min(bisect_left(ends, until), len(ends) - 1)]
        if first > end >= 0:
            yield begin, end
        begin, end = (begin if 0 <= first <= end else first), max(end, last)
    if end >= 0:
        yield begin, end


def sentences_between(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences between two positions of a text that is searched for attacks."""
    for match in _END.finditer(text, begin, end):
        if match.start() != begin:
            yield begin, match.start()
        begin = match.end()
    if begin != end:
        yield begin, end


def may_contain_attack(shown: str, plain: str, begin: int, end: int) -> Steps[bool]:
    """Whether a sentence, or two consecutive sentences, may state a rule by their words alone, in whatever order.

    It is decided in steps, one for each sentence. This excludes most harmless text, and takes far less time than to
    read the sentences.
    """
    if not _may_state_rule(plain, begin, end):
        return False
    addressed = before = 0
    for first, last in sentences_between(shown, begin, end):
        yield
        words = words_between(plain, first, last)
        for found in _concepts_of_parts(words):
            if not found:
                continue
            addressed |= found & _ADDRESSING
            if _satisfies_rule(found | before | addressed):
                return True
            # List numbers may separate two sentences that belong together. Only short sentences are read together.
            before = 0 if len(words) > LONGEST else found | (0 if found & ~_OF_NUMBERS else before)
    return False


def _concepts_of_parts(words: Sequence[str]) -> Iterator[int]:
    """Yield the coarse concepts of each part of a sentence. The words of a long one are looked up a few parts ahead."""
    ends = max(1, len(words) - STEP)
    for begin in range(0, ends, _AHEAD):
        # A phrase, or the first of two numbers, may begin before the part.
        back = max(0, begin - STEP)
        coarse = _coarse_concepts_of_each(words[back : begin + _AHEAD + LONGEST])
        for start in range(begin, min(begin + _AHEAD, ends), STEP):
            yield reduce(or_, coarse[start - back : start - back + LONGEST], 0) & _CONCEPTS


def _may_state_rule(plain: str, begin: int, end: int) -> bool:
    """Whether all words of a passage together may state a rule for attacks on the judge; True for a long passage.

    This excludes two thirds of the passages of ordinary text before they are split into sentences.
    """
    # The escape sequence of a line break ends a sentence, but looks like a letter of the next word.
    if end - begin > _LONG_PASSAGE or plain.find("\\n", begin, end) >= 0:
        return True
    words = _coarse_concepts_of_each(words_between(plain, begin, end))
    return _satisfies_rule(reduce(or_, words, 0) & _CONCEPTS)


@lru_cache(2**12)
def _satisfies_rule(found: int) -> bool:
    """Whether coarse concepts in two halves satisfy any rule in either half, so that they may be an attack."""
    return any(may_be_attack(with_pairs(found >> half & _HALF)) for half in (0, WIDTH))


def _coarse_concepts_of_each(words: Sequence[str]) -> list[int]:
    """Return the coarse concepts that each word of a sentence means in an attack, in two halves as in ``_CoarseWords``.

    The first and the last word of a phrase mean what the phrase means.
    """
    coarse = [_coarse_words[word] for word in words]
    whole = reduce(or_, coarse, 0)
    if whole & _BEGINS_PHRASE:
        begins = [place for place, mask in enumerate(coarse) if mask & _BEGINS_PHRASE]
        for place in begins if begins[-1] + 1 < len(words) else begins[:-1]:
            if phrases := _coarse_phrases[words[place], words[place + 1]]:
                by_two, longer = phrases
                coarse[place] |= by_two
                coarse[place + 1] |= by_two
                for stated, phrase in longer:
                    if phrase.follows(words, place):
                        coarse[place] |= stated
                        coarse[place + len(phrase.rest)] |= stated
    if whole & _IS_NUMBER:
        numbers = [place for place, mask in enumerate(coarse) if mask & _IS_NUMBER]
        for one, other in pairwise(numbers):
            if words[one] == words[other] and other - one <= FULL_WITHIN:
                coarse[other] |= _FULL_SCORE
    return coarse


class _CoarseWords(dict[str, int]):
    """The coarse concepts that a word means in an attack, and whether it may begin a phrase.

    English concepts are the lowest ``WIDTH`` bits, and those of all other languages the next.
    """

    def __missing__(self, word: str) -> int:
        entry = find_entry(word)
        found = _BEGINS_PHRASE if entry.phrases else 0
        for language, mask in entry.alone:
            found |= coarse_concepts(mask) << (0 if language == "en" else WIDTH)
        if word[0].isdecimal():
            stated = coarse_concepts(number_concepts(word))
            found |= stated | stated << WIDTH | _IS_NUMBER
        if len(self) >= _MOST_WORDS:
            self.clear()
        if len(word) <= _LONGEST_WORD:
            self[word] = found
        return found


_coarse_words: Final = _CoarseWords()


_Phrases: TypeAlias = tuple[int, tuple[tuple[int, Phrase], ...]] | None


class _CoarsePhrases(dict[tuple[str, str], _Phrases]):
    """The phrases of an attack that two words may begin: the coarse concepts of those of two words, and each longer one
    with its own. None if there is no such phrase.
    """

    def __missing__(self, pair: tuple[str, str]) -> _Phrases:
        by_two, longer = 0, []
        for phrase in find_entry(pair[0]).phrases_begun_by(pair[1]):
            stated = coarse_concepts(phrase.mask) << (0 if phrase.language == "en" else WIDTH)
            if len(phrase.rest) > 1:
                longer.append((stated, phrase))
            elif phrase.follows(pair, 0):
                by_two |= stated
        found = (by_two, tuple(longer)) if by_two or longer else None
        if len(self) >= _MOST_WORDS:
            self.clear()
        if max(map(len, pair)) <= _LONGEST_WORD:
            self[pair] = found
        return found


_coarse_phrases: Final = _CoarsePhrases()
