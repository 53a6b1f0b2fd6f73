"""An index of the lexicon's words by their first bytes, with which all words of a text are looked up at once.

``prefilter`` does the look-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, TypeAlias

import numpy as np

from calipers.guard.attack_rules import COARSE, WIDTH, coarse_concepts
from calipers.guard.forged_layout import verdict_phrases
from calipers.guard.obfuscation import respelled_words
from calipers.guard.vocabulary import PARTS, spaced_entries, word_list

Words: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint64]]"
Places: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint16]]"
Bits: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"
Heads: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint32]]"

WORD_BYTES: Final = 8
"""At most this many bytes of a word are compared."""
_LENGTHS: Final = (2, 3, 4, 5, 6, WORD_BYTES)
"""The numbers of bytes that are compared, each with a table of its own. A shorter word includes the space after it."""
_SHIFT: Final = np.uint64(64 - 15)
"""The slot of a word is the upper 15 bits of a product (Knuth, The Art of Computer Programming, 6.4)."""
_TABLE: Final = 1 << 15
_TABLE_BITS: Final = np.array([[1 << number] for number in range(len(_LENGTHS))], np.uint8)
_MOST_IN_SLOT: Final = 2
_FACTORS: Final = tuple(0x9E3779B97F4A7C15 + 2 * number * 0x632BE59BD9B4E019 & 2**64 - 1 for number in range(24))
"""Odd candidates for a table's hash factor. The factor with the fewest collisions is used. No slot may
have three keys.
"""
_TELLING: Final = 4
"""This many letters of a word distinguish it from most other words."""
TO_PLAIN_BYTES: Final = bytes(
    32 if chr(code) in "\t\n\v\f\r!\"$%&'()*,-./:;<=>?@[\\]^_`{|}~+" or code < 32 else ord(chr(code).lower())
    for code in range(128)
) + bytes(128)
"""A table for ``bytes.translate`` that makes ASCII text lower case and punctuation spaces."""
_HEAD_BYTES: Final = 4
_HEAD_SHIFT: Final = np.uint32(32 - 17)
_HEAD_FACTOR: Final = np.uint32(0x9E3779B1)
"""A word whose first four bytes begin no entry is excluded first, by one hash table of 2 ** 17 bytes."""
RESPELLED: Final = 1 << 2 * WIDTH
VERDICT: Final = 1 << 2 * WIDTH + 1
NUMBER: Final = 1 << 2 * WIDTH + 2
"""These three bits of a mask are above the bits of the concepts. English concepts have the lowest ``WIDTH`` bits, and
the concepts of all other languages have the next ``WIDTH`` bits, because a word that is harmless in one language may be
part of an attack in another.
"""
_FULL_SCORES: Final = ("100", "10", "1_0", "95", "96", "97", "98", "99")
_MAXIMA: Final = ("5", "15", "20", "25", "30", "40", "50")


@dataclass(frozen=True, slots=True)
class Index:
    """Hash tables of the lexicon, one for each length of its words in bytes, stored one after the other.

    ``masks``, ``factors`` and ``offsets`` have a value for each table. ``masks`` select the bytes of a word to compare.
    ``factors``, ``shift`` and ``offsets`` compute the word's slot. ``entries`` has for each slot the number of its
    first entry, or 0; a slot has up to two entries, one after the other. Each entry has a key and a meaning. ``heads``
    has for each hash of four bytes the tables in which a word with this beginning may be, as bits.
    """

    masks: Words
    factors: Words
    shift: np.uint64
    offsets: Words
    entries: Numbers
    keys: Words
    meanings: Words
    heads: Bits

    def tables_of(self, heads: Heads) -> Bits:
        """Return the tables that may have each word, as bits, given the words' first four bytes."""
        return self.heads.take(heads * _HEAD_FACTOR >> _HEAD_SHIFT)

    def meanings_of(self, words: Words, tables: Bits) -> Words:
        """Return the concepts of prompt injection that each word may mean, given the words' first eight bytes."""
        chosen = ((tables & _TABLE_BITS) != 0).ravel().nonzero()[0]  # two to five times faster than without "!= 0"
        rows = chosen // len(words)
        places = chosen - rows * len(words)
        keys = words.take(places) & self.masks.take(rows)
        slots = (keys * self.factors.take(rows) >> self.shift) + self.offsets.take(rows)
        entries = self.entries.take(slots)
        found = np.zeros(len(words), np.uint64)
        for second in range(_MOST_IN_SLOT):
            same = (self.keys[second:].take(entries) == keys).nonzero()[0]
            np.bitwise_or.at(found, places.take(same), self.meanings[second:].take(entries.take(same)))
        return found


@cache
def lexicon_index() -> Index:
    """Return the index of all words and phrases that the detector of prompt injection searches for."""
    tables: dict[int, dict[int, int]] = {length: {} for length in _LENGTHS}
    for entry, mask in _indexed_words():
        # A phrase is stored with single spaces between its words, beginning with its first rare word. A stem has no
        # end.
        first, *rest = _from_a_rare_word([part for part in PARTS.split(entry) if part])
        begins = first[:-1] if first.endswith("*") else " ".join((first, *(part.rstrip("*") for part in rest), ""))
        length = max((length for length in _LENGTHS if length <= len(begins)), default=_LENGTHS[0])
        key = int.from_bytes(begins[:length].ljust(length).encode("ascii"), "little")
        tables[length][key] = tables[length].get(key, 0) | mask
    return _build_tables(tables)


def _indexed_words() -> Iterator[tuple[str, int]]:
    for language, mask, entry in spaced_entries():
        if entry.isascii() and (found := coarse_concepts(mask)):
            yield entry, found if language == "en" else found << WIDTH
    both = 1 | 1 << WIDTH
    for number in _FULL_SCORES:
        yield number, NUMBER | COARSE["highest"] * both
    for number in _MAXIMA:
        yield number, NUMBER
    yield "#1", (COARSE["highest"] | COARSE["score"]) * both
    yield "0", COARSE["lowest"] * both
    yield from ((word, RESPELLED) for word in respelled_words())
    yield from ((phrase, VERDICT) for phrase in verdict_phrases())


def _from_a_rare_word(parts: list[str]) -> list[str]:
    """Return the end of a phrase, from the first word at which the compared bytes include most of a rare word."""
    common = word_list("common")
    for first in range(len(parts)):
        room = WORD_BYTES
        for part in parts[first:]:
            if part not in common and min(room, len(part)) >= min(_TELLING, len(part)):
                return parts[first:]
            room -= len(part) + 1
    return parts


def _build_tables(tables: dict[int, dict[int, int]]) -> Index:
    slots = np.zeros(_TABLE * len(tables), np.uint16)
    keys, meanings = [0], [0]
    columns = [_column(entries) for entries in tables.values()]
    factors = [max(_FACTORS, key=partial(_rating, column)) for column in columns]
    for number, (entries, column, factor) in enumerate(zip(tables.values(), columns, factors, strict=True)):
        placed = sorted(zip(_slots(column, factor).tolist(), entries.items(), strict=True))
        for slot, (key, mask) in placed:
            place = number * _TABLE + slot
            slots[place] = slots[place] or len(keys)
            keys.append(key)
            meanings.append(mask)
    end = [0] * (_MOST_IN_SLOT - 1)  # what follows the last entry is no key
    return Index(
        _column((1 << 8 * length) - 1 for length in tables),
        _column(factors),
        _SHIFT,
        _column(range(0, len(slots), _TABLE)),
        slots,
        np.array(keys + end, np.uint64),
        np.array(meanings + end, np.uint64),
        _flag_heads(tables),
    )


def _flag_heads(tables: dict[int, dict[int, int]]) -> Bits:
    """Flag for each table the hashes of four bytes with which its words may begin, whatever follows a short word."""
    follows = sorted({byte for byte in TO_PLAIN_BYTES if byte})
    flags = np.zeros(1 << 32 - int(_HEAD_SHIFT), np.uint8)
    for number, (length, entries) in enumerate(tables.items()):
        heads = {key & (1 << 8 * _HEAD_BYTES) - 1 for key in entries}
        for place in range(length, _HEAD_BYTES):
            heads = {head | byte << 8 * place for head in heads for byte in follows}
        flags[[head * int(_HEAD_FACTOR) % 2**32 >> int(_HEAD_SHIFT) for head in heads]] |= np.uint8(1 << number)
    return flags


def _column(values: Iterable[int]) -> Words:
    return np.array(list(values), np.uint64)


def _rating(keys: Words, factor: int) -> tuple[bool, int]:
    """Rate a hash factor for these keys, higher is better: at most two keys in each slot, then many slots used."""
    counted = np.bincount(_slots(keys, factor))
    return bool((counted <= _MOST_IN_SLOT).all()), int(np.count_nonzero(counted))


def _slots(keys: Words, factor: int) -> Places:
    return (keys * np.uint64(factor) >> _SHIFT).astype(np.int64)
