"""The vocabulary of prompt injection: the concepts that a word means in each language, and the phrases it begins.

The words are data: ``lexicon/`` has a file per language, ``words.toml`` the words of no language. ``attack_rules`` and
``sentence_meaning`` combine concepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Any, Final, TypeAlias

from calipers.guard.normalised import normalise_word
from calipers.types.packaged import read_packaged_toml

Mask: TypeAlias = int
"""A set of concepts as bits."""
Language: TypeAlias = str
Meanings: TypeAlias = tuple[tuple[Language, Mask], ...]
"""The concepts that a word means, in each language that has the word."""

WORDED: Final = (
    "judge", "referee", "salutation", "you", "addressed", "this", "this_after", "mine", "rate_this", "answer", "work",
    "score", "highest", "highest_score", "correct", "award", "please", "always", "ignore", "despite", "instructions",
    "rubric", "previous", "others", "lowest", "reject", "plea", "confirmed", "authority", "changed", "void", "document",
    "mention", "narrator", "if", "scale", "survey",
)  # fmt: skip
"""Concepts with words in the lexicon, whose README describes them."""
DERIVED: Final = ("this_answer", "this_work", "greeted", "rubric_heading", "ignore_rubric", "ignore_instructions")
"""Concepts that follow from the positions of words. In the order above: "this" beside an answer, "this" beside a work,
a salutation before a judge, a rubric as a heading, and an order to ignore near the rubric or near previous
instructions.
"""
BITS: Final[Mapping[str, Mask]] = {name: 1 << number for number, name in enumerate((*WORDED, *DERIVED))}

WORD = re.compile(
    r"\d+(?:\.\d+)?|a\+|(?:[^\W\d_]|[\u0900-\u0963\u0971-\u09e5\u09f0-\u0a65\u0a70-\u0dff])+"
)  # Python's \w does not include the vowel signs of Indian scripts
"""A number or a word."""
_ASCII_WORD = re.compile(r"\d+(?:\.\d+)?|a\+|[A-Za-z]+")
"""The same in ASCII text, where it is three times faster."""
PARTS = re.compile(r"[_\-'’‌]+")
"""Characters that separate the words of a phrase in the lexicon."""
_LONGEST: Final = 32
"""At most this many characters of a word are looked up. No entry is longer, and longer words are not worth caching."""


def words_between(plain: str, begin: int, end: int) -> list[str]:
    """Return the words and numbers between two positions of a normalised text that is searched for attacks."""
    return (_ASCII_WORD if plain.isascii() else WORD).findall(plain, begin, end)


def word_matches(plain: str, begin: int, end: int) -> Iterator[re.Match[str]]:
    """Return the matches of the words and numbers that ``words_between`` returns for a search for attacks."""
    return (_ASCII_WORD if plain.isascii() else WORD).finditer(plain, begin, end)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of the lexicon by the ``rest`` of its words after the first, which may be empty.

    A word that ends in ``*`` matches all words with that beginning.
    """

    language: Language
    mask: Mask
    rest: tuple[str, ...]

    def follows(self, words: Sequence[str], place: int) -> bool:
        """Whether the words of this phrase of prompt injection follow the word at ``place``."""
        if place + len(self.rest) >= len(words):
            return False
        for want in self.rest:
            place += 1
            if words[place] != want and not (want.endswith("*") and words[place].startswith(want[:-1])):
                return False
        return True


@dataclass(frozen=True, slots=True)
class Entry:
    """The concepts of a word alone, by language, and the phrases that it may begin."""

    alone: Meanings
    phrases: Mapping[str, tuple[Phrase, ...]]
    """The phrases by their second word, or by "" if the second word is a stem."""

    def phrases_at(self, words: Sequence[str], place: int) -> Sequence[Phrase]:
        """Return the phrases of prompt injection that the word at this position begins."""
        known = self.phrases_begun_by(words[place + 1]) if place + 1 < len(words) else ()
        return [phrase for phrase in known if phrase.follows(words, place)] if known else ()

    def phrases_begun_by(self, second: str) -> tuple[Phrase, ...]:
        """Return the phrases of prompt injection that this word and ``second`` may begin."""
        return (*self.phrases.get(second, ()), *self.phrases.get("", ()))

    def possible_meanings(self) -> Meanings:
        """Return all concepts of prompt injection that the word may mean, alone or in a phrase."""
        return (*self.alone, *((phrase.language, phrase.mask) for some in self.phrases.values() for phrase in some))


@cache
def word_list(name: str) -> frozenset[str]:
    """Return the words of a list in ``words.toml``, which the detector of prompt injection uses."""
    return frozenset(read_packaged_toml("calipers.guard", "words.toml")[name].split())


@cache
def phrase_list(name: str) -> tuple[str, ...]:
    """Return the phrases of a list in ``words.toml``, which the detector of prompt injection uses, in their order."""
    return tuple(read_packaged_toml("calipers.guard", "words.toml")[name])


@cache
def lexicon() -> Mapping[Language, Mapping[str, Any]]:
    """Return the lexicon of prompt injection: the table of each language, by its code."""
    from importlib.resources import files  # noqa: PLC0415 - only where candidates are searched

    folder = files("calipers.guard").joinpath("lexicon")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".toml"))
    tables = (read_packaged_toml("calipers.guard", f"lexicon/{name}") for name in names)
    return {table["code"]: table for table in tables}


@cache
def unspaced_languages() -> tuple[Language, ...]:
    """Return the languages in the lexicon of prompt injection that are written without spaces between words."""
    return tuple(code for code, table in lexicon().items() if not table.get("spaces", True))


def lexicon_entries(languages: Iterable[Language]) -> Iterator[tuple[Language, Mask, str]]:
    """Yield the lexicon's words and phrases of prompt injection in these languages, normalised, with their concepts."""
    for language in languages:
        for concept, line in lexicon()[language]["words"].items():
            for entry in normalise_word(line).split():
                yield language, BITS[concept], entry


def spaced_entries() -> Iterator[tuple[Language, Mask, str]]:
    """Yield the words and phrases of prompt injection in all of the lexicon's languages that use spaces."""
    return lexicon_entries(code for code in lexicon() if code not in unspaced_languages())


@cache
def _phrases() -> Mapping[str, Sequence[Phrase]]:
    """Return all phrases of the lexicon by their first word. A stem ends in ``*``."""
    found: dict[str, list[Phrase]] = {}
    for language, mask, entry in spaced_entries():
        first, *rest = (part for part in PARTS.split(entry) if part)
        found.setdefault(first, []).append(Phrase(language, mask, tuple(rest)))
    return found


@cache
def _prefixes() -> tuple[str, ...]:
    """Return the prefixes that Arabic and Hebrew attach to a word."""
    return tuple(prefix for table in lexicon().values() for prefix in table.get("prefixes", "").split())


def find_entry(word: str) -> Entry:
    """Return the meanings of a normalised word in the lexicon of prompt injection, in all languages."""
    return _find_entry(word if len(word) <= _LONGEST else word[:_LONGEST])


@lru_cache(2**15)
def _find_entry(word: str) -> Entry:
    found = _look_up(word)
    for prefix in () if word.isascii() else _prefixes():
        if word.startswith(prefix) and len(word) > len(prefix) + 1:
            bare = _look_up(word[len(prefix) :])
            found = Entry((*found.alone, *bare.alone), {**bare.phrases, **found.phrases})
    return found


def _look_up(word: str) -> Entry:
    found = list(_phrases().get(word, ()))
    for length in range(2, len(word) + 1):
        found += _phrases().get(f"{word[:length]}*", ())
    alone: dict[Language, Mask] = {}
    following: dict[str, tuple[Phrase, ...]] = {}
    for phrase in found:
        if phrase.rest:
            second = "" if phrase.rest[0].endswith("*") else phrase.rest[0]
            following[second] = (*following.get(second, ()), phrase)
        else:
            alone[phrase.language] = alone.get(phrase.language, 0) | phrase.mask
    return Entry(tuple(alone.items()), following)


@cache
def unspaced_pattern(language: Language) -> tuple[re.Pattern[str], Mapping[str, Mask]]:
    """Return a pattern for the words of prompt injection in a language without spaces, and the concepts of each word.

    At each position the longest word matches, and words overlap. The word is group 1. A match without group 1 is a
    number.
    """
    masks: dict[str, Mask] = {}
    for _, mask, entry in lexicon_entries([language]):
        masks[entry] = masks.get(entry, 0) | mask
    # A word also means the concepts of the words inside it, unless it only names a scale.
    masks = {
        entry: mask if mask & BITS["scale"] else reduce(or_, (more for other, more in masks.items() if other in entry))
        for entry, mask in masks.items()
    }
    longest = sorted(masks, key=len, reverse=True)
    return re.compile(f"(?=({'|'.join(map(re.escape, longest))}))|\\d+(?:\\.\\d+)?"), masks


@cache
def alphabets() -> Mapping[Language, frozenset[str]]:
    """Return each language's non-ASCII letters in the lexicon of prompt injection, not for Latin alphabets."""
    found: dict[Language, set[str]] = {}
    for language, _, entry in lexicon_entries(lexicon()):
        found.setdefault(language, set()).update(char for char in entry if not char.isascii())
    return {language: frozenset(letters) for language, letters in found.items() if len(letters) > 5}
