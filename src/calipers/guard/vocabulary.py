"""The words of prompt injection: which concepts a word stands for, in which language, and which phrases it begins.

The words are data: ``lexicon/`` has a file per language, ``words.toml`` what belongs to no language. Not responsible
for what concepts together amount to (``rules``, ``sentence_meaning``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Any, Final, TypeAlias

from calipers.guard.normalised import folded
from calipers.types.packaged import read_packaged_toml

Mask: TypeAlias = int
"""A set of concepts: a bit for each."""
Language: TypeAlias = str
Meanings: TypeAlias = tuple[tuple[Language, Mask], ...]
"""The concepts a word stands for, in each language that has it."""

WORDED: Final = (
    "judge", "referee", "salutation", "you", "addressed", "this", "this_after", "mine", "rate_this", "answer", "work",
    "score", "highest", "highest_score", "correct", "award", "please", "always", "ignore", "despite", "instructions",
    "rubric", "previous", "others", "lowest", "reject", "plea", "confirmed", "authority", "changed", "void", "document",
    "mention", "narrator", "if", "scale", "survey",
)  # fmt: skip
"""Concepts that the lexicon has words for; its README says which words."""
DERIVED: Final = ("this_answer", "this_work", "greeted", "rubric_heading", "ignore_rubric", "ignore_instructions")
"""Concepts that follow from where words stand: "this" beside an answer, or beside something that may be one; a
salutation before a judge; a rubric as a heading; an order to ignore beside the rubric, or beside previous
instructions."""
BITS: Final[Mapping[str, Mask]] = {name: 1 << number for number, name in enumerate((*WORDED, *DERIVED))}

WORD = re.compile(
    r"\d+(?:\.\d+)?|a\+|(?:[^\W\d_]|[\u0900-\u0963\u0971-\u09e5\u09f0-\u0a65\u0a70-\u0dff])+"
)  # vowels are signs in scripts of India, and no letters to Python
"""A number or a word."""
PARTS = re.compile(r"[_\-'’‌]+")
"""What separates the words of a phrase in the lexicon."""
_LONGEST: Final = 32
"""Letters of a word that are looked up: no entry is longer, and no longer word is worth caching."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that follow a first one, or none; each that ends in ``*`` stands for all that begin so."""

    language: Language
    mask: Mask
    rest: tuple[str, ...]

    def follows(self, words: Sequence[str], place: int) -> bool:
        """Whether these are the words after ``place``."""
        after = words[place + 1 : place + 1 + len(self.rest)]
        return len(after) == len(self.rest) and all(
            word.startswith(want[:-1]) if want.endswith("*") else word == want
            for word, want in zip(after, self.rest, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """What a word stands for by itself, by language, and the phrases it may begin."""

    alone: Meanings
    phrases: Mapping[str, tuple[Phrase, ...]]
    """By the second word; by "" where that is a stem."""

    def begun(self, words: Sequence[str], place: int) -> Iterator[Phrase]:
        """The phrases it begins at this place."""
        following = words[place + 1] if place + 1 < len(words) else ""
        known = (*self.phrases.get(following, ()), *self.phrases.get("", ()))
        return (phrase for phrase in known if phrase.follows(words, place))

    def at_most(self) -> Meanings:
        """All it may stand for, with its phrases."""
        return (*self.alone, *((phrase.language, phrase.mask) for some in self.phrases.values() for phrase in some))


@cache
def words(name: str) -> frozenset[str]:
    """A list of words of ``words.toml``."""
    return frozenset(read_packaged_toml("calipers.guard", "words.toml")[name].split())


@cache
def phrases(name: str) -> tuple[str, ...]:
    """A list of phrases of ``words.toml``, in its order."""
    return tuple(read_packaged_toml("calipers.guard", "words.toml")[name])


@cache
def lexicon() -> Mapping[Language, Mapping[str, Any]]:
    """The file of each language, by its code."""
    from importlib.resources import files  # noqa: PLC0415 - only where candidates are searched

    folder = files("calipers.guard").joinpath("lexicon")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".toml"))
    tables = (read_packaged_toml("calipers.guard", f"lexicon/{name}") for name in names)
    return {table["code"]: table for table in tables}


@cache
def unspaced_languages() -> tuple[Language, ...]:
    """Languages written without spaces between words."""
    return tuple(code for code, table in lexicon().items() if not table.get("spaces", True))


def entries(languages: Iterable[Language]) -> Iterator[tuple[Language, Mask, str]]:
    """Every entry of these languages as it stands in plain text."""
    for language in languages:
        for concept, line in lexicon()[language]["words"].items():
            for entry in folded(line).split():
                yield language, BITS[concept], entry


def spaced_entries() -> Iterator[tuple[Language, Mask, str]]:
    """Every entry of all languages written with spaces."""
    return entries(code for code in lexicon() if code not in unspaced_languages())


@cache
def _phrases() -> Mapping[str, Sequence[Phrase]]:
    """All entries by their first word; a stem has a ``*`` at its end."""
    found: dict[str, list[Phrase]] = {}
    for language, mask, entry in spaced_entries():
        first, *rest = (part for part in PARTS.split(entry) if part)
        found.setdefault(first, []).append(Phrase(language, mask, tuple(rest)))
    return found


@cache
def _prefixes() -> tuple[str, ...]:
    """What Arabic and Hebrew write in front of a word without a space."""
    return tuple(prefix for table in lexicon().values() for prefix in table.get("prefixes", "").split())


def entry_of(word: str) -> Entry:
    """What ``word`` (plain) stands for, in all languages."""
    return _entry_of(word if len(word) <= _LONGEST else word[:_LONGEST])


@lru_cache(2**15)
def _entry_of(word: str) -> Entry:
    found = _looked_up(word)
    for prefix in () if word.isascii() else _prefixes():
        if word.startswith(prefix) and len(word) > len(prefix) + 1:
            bare = _looked_up(word[len(prefix) :])
            found = Entry((*found.alone, *bare.alone), {**bare.phrases, **found.phrases})
    return found


def _looked_up(word: str) -> Entry:
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
def unspaced(language: Language) -> tuple[re.Pattern[str], Mapping[str, Mask]]:
    """A pattern for the words of a language without spaces, and what each stands for.

    The longest word at a place counts, and words overlap: group 1 of a match, else the match is a number.
    """
    masks: dict[str, Mask] = {}
    for _, mask, entry in entries([language]):
        masks[entry] = masks.get(entry, 0) | mask
    # A word stands for what the words in it stand for, except where it only names a scale.
    masks = {
        entry: mask if mask & BITS["scale"] else reduce(or_, (more for other, more in masks.items() if other in entry))
        for entry, mask in masks.items()
    }
    longest = sorted(masks, key=len, reverse=True)
    return re.compile(f"(?=({'|'.join(map(re.escape, longest))}))|\\d+(?:\\.\\d+)?"), masks


@cache
def alphabets() -> Mapping[Language, frozenset[str]]:
    """The letters beyond ASCII that each language is written with here; languages in Latin letters are omitted."""
    found: dict[Language, set[str]] = {}
    for language, _, entry in entries(lexicon()):
        found.setdefault(language, set()).update(char for char in entry if not char.isascii())
    return {language: frozenset(letters) for language, letters in found.items() if len(letters) > 5}
