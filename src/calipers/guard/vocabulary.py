"""The words of prompt injection (``lexicon.toml``), and the rules which of their concepts together are an attack."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Any, Final, NamedTuple, TypeAlias, get_args

from calipers.guard.plain import plain_text
from calipers.types import AttackKind, Certainty
from calipers.types.encoding import read_packaged_toml

Concepts: TypeAlias = int
"""A set of concepts as bits."""
Language: TypeAlias = str
Meaning: TypeAlias = tuple[Language, Concepts, Sequence[str]]
"""What a word means in a language, if these words follow it. One that ends in ``*`` is a beginning."""

_WORDED: Final = (
    "judge", "referee", "salutation", "you", "addressed", "this", "this_after", "mine", "rate_this", "answer", "work",
    "score", "highest", "highest_score", "correct", "award", "please", "always", "ignore", "despite", "instructions",
    "rubric", "previous", "others", "lowest", "reject", "plea", "confirmed", "authority", "changed", "void", "document",
    "mention", "narrator", "if", "scale", "survey",
)  # fmt: skip
"""Concepts with words in the lexicon, which describes them."""
_DERIVED: Final = ("this_answer", "this_work", "ignore_rubric", "ignore_instructions")
"""Concepts that follow from the positions of words (``sentences``)."""
BITS: Final[Mapping[str, Concepts]] = {name: 1 << number for number, name in enumerate((*_WORDED, *_DERIVED))}
CERTAINTIES: Final[tuple[Certainty, ...]] = get_args(Certainty)
"""The most certain first."""
_LONGEST: Final = 24
"""At most this many characters of a word are looked up."""
_PARTS = re.compile(r"[_\-'’‌]+")


class Hit(NamedTuple):
    """An attack between two positions of a text."""

    kind: AttackKind
    certainty: Certainty
    begin: int
    end: int


def bits(names: str) -> Concepts:
    """Return the concepts with these names as bits."""
    return reduce(or_, map(BITS.__getitem__, names.split()))


@cache
def rules() -> tuple[tuple[AttackKind, Certainty, Concepts], ...]:
    """Return the rules: a sentence that states all of these concepts is an attack of this kind."""
    table = read_packaged_toml("calipers.guard", "rules.toml")
    return tuple(
        (kind, certainty, bits(line))
        for kind in get_args(AttackKind)
        for certainty, lines in table.get(kind, {}).items()
        for line in lines
    )


@cache
def word_list(name: str) -> tuple[str, ...]:
    """Return a list of words that belong to no language, of ``words.toml``."""
    words = read_packaged_toml("calipers.guard", "words.toml")[name]
    return tuple(words.split() if isinstance(words, str) else words)


@cache
def lexicon() -> Mapping[Language, Mapping[str, Any]]:
    """Return the table of each language."""
    return read_packaged_toml("calipers.guard", "lexicon.toml")


def _entries(language: Language) -> Iterator[tuple[Concepts, str]]:
    for concept, line in lexicon()[language].items():
        if concept in BITS:
            for entry in _PARTS.sub("_", plain_text(line).plain).split():
                yield BITS[concept], entry


@cache
def _begun_by() -> Mapping[str, list[Meaning]]:
    """Return the lexicon by the first words of its entries, of the languages with spaces between words."""
    by_word: dict[str, list[Meaning]] = {}
    for language, table in lexicon().items():
        for concepts, entry in _entries(language) if table.get("spaces", True) else ():
            first, *rest = entry.split("_")
            by_word.setdefault(first, []).append((language, concepts, rest))
    return by_word


@cache
def _prefixes() -> tuple[str, ...]:
    """Return the prefixes that Arabic and Hebrew attach to a word."""
    return tuple(prefix for table in lexicon().values() for prefix in table.get("prefixes", "").split())


@lru_cache(2**14)
def meanings(word: str) -> tuple[Meaning, ...]:
    """Return what a word in plain form means, in all languages."""
    word = word[:_LONGEST]
    every = list(_begun_by().get(word, ()))
    for length in range(2, len(word) + 1):
        every += _begun_by().get(f"{word[:length]}*", ())
    for prefix in () if word.isascii() else _prefixes():
        if word.startswith(prefix) and len(word) > len(prefix) + 1:
            every += meanings(word[len(prefix) :])
    return tuple(every)


@cache
def unspaced_words() -> Mapping[Language, tuple[re.Pattern[str], Mapping[str, Concepts], frozenset[str]]]:
    """Return a pattern for the words of each language without spaces, the concepts of each word, and the letters.

    At each position the longest word matches as group 1, and words overlap. A match without group 1 is a number.
    """
    by_language = {}
    for language, table in lexicon().items():
        if not table.get("spaces", True):
            stated: dict[str, Concepts] = {}
            for concepts, entry in _entries(language):
                stated[entry] = stated.get(entry, 0) | concepts
            # A word also means what the words inside it mean, unless it only names a scale.
            words = {
                entry: bits if bits & BITS["scale"] else reduce(or_, (stated[word] for word in stated if word in entry))
                for entry, bits in stated.items()
            }
            longest = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
            letters = frozenset(char for word in words for char in word if not char.isascii())
            by_language[language] = (
                re.compile(f"(?=({longest}))|(?<![a-z\\d])(?<!\\d\\.)\\d+(?:\\.\\d+)?"),
                words,
                letters,
            )
    return by_language
