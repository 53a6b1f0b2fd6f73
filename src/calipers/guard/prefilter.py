"""Select the places where a text may contain an attack, for all candidates at once and without a loop over words.

Most texts contain no such place. Every word is looked up by its first bytes, and the concepts in each stretch of words
are compared with those that a rule needs. Scripts other than Latin are looked up word by word. The selection may
contain harmless places, but misses no attack. ``sentence_attacks``, ``forged_layout``, ``forged_verdicts`` and
``obfuscation`` examine the places.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import accumulate
from operator import or_
from typing import Final, TypeAlias

import numpy as np

from calipers.guard.attack_rules import (
    COARSE,
    STATED_BY_TWO,
    WIDTH,
    may_be_attack,
    needed_concepts,
    possible_coarse_concepts,
)
from calipers.guard.forged_layout import LABELS, MARKERS, verdict_phrases
from calipers.guard.normalised import MIXED, NormalisedText
from calipers.guard.obfuscation import TAGS, TURNED_LETTERS, respelled_words
from calipers.guard.prefilter_index import NUMBER, RESPELLED, VERDICT, WORD_BYTES, Flagged, Words, lexicon_index
from calipers.guard.sentence_meaning import BESIDE, BESIDE_BEFORE, NEAR
from calipers.guard.sentence_words import FULL_WITHIN
from calipers.guard.vocabulary import (
    BITS,
    WORD,
    Language,
    Mask,
    alphabets,
    find_entry,
    unspaced_languages,
    unspaced_pattern,
)

Places: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"

BLOCK: Final = 16
"""The number of words in a block. The concepts of a block's words are combined."""
_WINDOW: Final = 3
"""Any ``sentence_attacks.LONGEST`` consecutive words are inside this many consecutive blocks."""
_STILL_ADDRESSED: Final = 4
"""Sentences that address a judge may be in this many blocks from the word for the judge on."""
_LITTLE_ENDIAN: Final = np.dtype("<u8")
_SPACE: Final = np.uint8(32)
_BYTE: Final = np.uint64(0xFF)
_LONG: Final = 24
"""At least this many letters without a space may be encoded text."""
_SPACED_OUT: Final = ((2, 6), (3, 12), (9, 8))
"""For each kind of spaced-out text, the distance of the spaces and how many in a row are suspicious.

The kinds are single letters, pairs of digits, and groups of eight digits.
"""
_TO_SPACE: Final = bytes(
    32 if chr(code) in "\t\n\v\f\r!\"$%&'()*,-./:;<=>?@[\\]^_`{|}~+" or code < 32 else code for code in range(256)
)
_HALF: Final = (1 << WIDTH) - 1
_ADDRESSING: Final = np.uint64(COARSE["judge"] | COARSE["judge"] << WIDTH)
_FOREIGN = re.compile(
    r"(?:\w{0,5}[ ,:]{0,2})?[^\x00-\x7f]+(?:[^\n\x80-\U0010ffff]{0,8}[^\x00-\x7f]+)*[^\n\x80-\U0010ffff]{0,8}"
)
"""Text in other scripts than Latin, together with the numbers and ASCII characters next to it."""
_CLOSE: Final = ((BESIDE, BESIDE_BEFORE), (BESIDE, BESIDE_BEFORE), (NEAR, NEAR))
"""For each pair of ``STATED_BY_TWO``, how many words after and before the first word the second word may be."""
_NUMBER_BYTES: Final = (2, 3, 4)
"""The possible lengths in bytes of a number and the space after it."""


@dataclass(frozen=True, slots=True)
class Hints:
    """The places where a text may contain an attack: ``spans`` of sentences, and positions of other suspicious text.

    ``verdicts`` are words of verdicts and of questions to a judge. ``respelled`` are words in digits, backwards or in
    ROT13. ``unbroken`` are runs of letters longer than any word. ``spaced_out`` are letters or digits with spaces
    between them.
    """

    spans: tuple[tuple[int, int], ...] = ()
    verdicts: tuple[int, ...] = ()
    respelled: tuple[int, ...] = ()
    unbroken: tuple[int, ...] = ()
    spaced_out: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.spans or self.verdicts or self.respelled or self.unbroken or self.spaced_out)


def worth_searching(texts: Mapping[str, NormalisedText]) -> Iterator[tuple[str, NormalisedText, Hints]]:
    """Yield each of ``texts`` that may contain a prompt injection: its raw form, its normalised form and the suspicious
    places.
    """
    together = _joined(texts.values())
    hints, markers = hints_in(together), _markers_in(together.shown)
    tagged = {raw for raw, text in texts.items() if text.shown is not raw and _has_tags(raw)}
    if not (hints or markers or tagged or _has_disguised_letters(together)):
        return
    own_hints = split_hints(hints, [len(text.shown) for text in texts.values()])
    for number, (raw, text) in enumerate(texts.items()):
        own = own_hints.get(number)
        marked = raw in tagged or any(marker in text.shown for marker in markers)
        if own or marked or _has_disguised_letters(text):
            yield raw, text, own or Hints()


def _joined(texts: Iterable[NormalisedText]) -> NormalisedText:
    letters = frozenset().union(*(text.letters for text in texts if text.letters))
    return NormalisedText("\n\n".join(text.shown for text in texts), "\n\n".join(text.plain for text in texts), letters)


def _markers_in(shown: str) -> list[str]:
    """Return the markers of forged text that occur in a text."""
    found = [marker for first, those in MARKERS.items() if first in shown for marker in those if marker in shown]
    if "@" in shown and (" candidate " in shown or " end " in shown):
        found += [match[0] for match in LABELS.finditer(shown)]
    return found


def _has_disguised_letters(text: NormalisedText) -> bool:
    """Whether a text has a word with letters of two alphabets, or has letters turned upside down."""
    return bool(text.letters) and (MIXED.search(text.plain) is not None or not text.letters.isdisjoint(TURNED_LETTERS))


def _has_tags(raw: str) -> bool:
    """Whether a text has parts in invisible tag characters."""
    return max(raw, default="") >= "\U000e0020" and TAGS.search(raw) is not None


def hints_in(text: NormalisedText) -> Hints:
    """Return the places in ``text`` that may contain a prompt injection."""
    padded = b" %b         " % text.plain.encode("ascii", "replace").translate(_TO_SPACE)
    count = len(padded) - WORD_BYTES
    spaces = (np.frombuffer(padded, np.uint8, count) == _SPACE).nonzero()[0]
    gaps = spaces[1:] - spaces[:-1]
    begins = spaces[:-1][gaps > 1]
    spans = list(_in_other_scripts(text)) if text.letters else []
    if not len(begins):
        return Hints(tuple(spans))
    lengths = np.bincount(np.minimum(gaps, _LONG + 1), minlength=_LONG + 2).tolist()
    # This reads the eight bytes after every position, deliberately unaligned. ``take`` is faster than an index.
    words = np.ndarray((count,), _LITTLE_ENDIAN, padded, 1, (1,)).take(begins)
    masks = _look_up(words)
    whole = int(np.bitwise_or.reduce(masks))
    if any(may_be_attack(_possible_concepts(whole, shift)) for shift in (0, WIDTH)):
        spans += _stretches(_with_positions(masks, words, whole), begins, len(text.plain))
    verdicts = _exact_matches(padded, begins, masks & np.uint64(VERDICT), verdict_phrases()) if whole & VERDICT else ()
    respelled = (
        _exact_matches(padded, begins, masks & np.uint64(RESPELLED), respelled_words()) if whole & RESPELLED else ()
    )
    return Hints(
        _merged(spans) if spans else (),
        tuple(verdicts),
        tuple(respelled),
        tuple(spaces[:-1][gaps > _LONG].tolist()) if lengths[-1] else (),
        tuple(
            place
            for gap, length in _SPACED_OUT
            if lengths[gap] >= length
            for place in _runs(gaps == gap, spaces, length)
        ),
    )


def _look_up(words: Words) -> Words:
    """Return the concepts that each word may mean, given the words' first eight bytes."""
    table = lexicon_index()
    keys = words & table.masks
    slots = (keys * table.factors >> table.shift) + table.offsets
    places = np.flatnonzero(table.used.take(slots).any(0))
    found = np.zeros(len(words), np.uint64)
    slots, keys = slots.take(places, 1), keys.take(places, 1)
    for stored, meanings in zip(table.keys, table.meanings, strict=True):
        found[places] |= np.bitwise_or.reduce(meanings.take(slots) * (stored.take(slots) == keys))
    return found


def _possible_concepts(whole: int, shift: int) -> int:
    """Return all concepts that a text may state, for English (``shift`` 0) or for all other languages together."""
    found = whole >> shift & _HALF
    if whole & NUMBER:
        found |= COARSE["highest"] | COARSE["highest_score"] | COARSE["score"]
    for one, other, both in STATED_BY_TWO:
        found |= both if found & one and found & other else 0
    return found


def _with_positions(masks: Words, words: Words, whole: int) -> Words:
    """Add to ``masks`` the concepts that follow from the positions of words: "this" near an answer, 10 of 10."""
    found = masks.copy()
    if whole & NUMBER:
        _add_full_scores(found, words, np.flatnonzero(masks & np.uint64(NUMBER)))
    for shift in (0, WIDTH):
        for (one, other, both), (after, before) in zip(STATED_BY_TWO, _CLOSE, strict=True):
            if whole >> shift & one and whole >> shift & other:
                near = _near((masks & np.uint64(one << shift)) != 0, after, before)
                found[near & ((masks & np.uint64(other << shift)) != 0)] |= np.uint64(both << shift)
    return found


def _add_full_scores(masks: Words, words: Words, numbers: Places) -> None:
    """Add a full score where two equal numbers are close to each other, as in 10 of 10."""
    one, other = words[numbers[:-1]], words[numbers[1:]]
    full = COARSE["highest"] | COARSE["score"] | COARSE["highest_score"]
    for width in _NUMBER_BYTES:
        same = (one ^ other) << np.uint64(64 - 8 * width) == 0
        ended = other >> np.uint64(8 * width - 8) & _BYTE == _SPACE
        masks[numbers[1:][same & ended & (np.diff(numbers) <= FULL_WITHIN)]] |= np.uint64(full | full << WIDTH)


def _near(marked: Flagged, after: int, before: int) -> Flagged:
    """Return which positions are at most ``after`` words after or ``before`` words before a marked position."""
    reached = marked.copy()
    for far in range(1, min(after + 1, len(marked))):
        reached[far:] |= marked[:-far]
    for far in range(1, min(before + 1, len(marked))):
        reached[:-far] |= marked[far:]
    return reached


def _exact_matches(padded: bytes, begins: Places, marked: Words, wanted: frozenset[str]) -> Iterator[int]:
    """Yield the positions of ``marked`` words that really are in ``wanted``, alone or together with the next word."""
    for begin in begins[marked.nonzero()[0]].tolist():
        end = padded.index(b" ", begin + 1)
        next_end = padded.index(b" ", end + 1)
        if padded[begin + 1 : end].decode() in wanted or padded[begin + 1 : next_end].decode() in wanted:
            yield begin


def _runs(marked: Flagged, spaces: Places, length: int) -> list[int]:
    """Return the positions where ``length`` consecutive words are marked."""
    total = np.concatenate(([0], marked.cumsum()))
    found: list[int] = spaces[(total[length:] - total[:-length] == length).nonzero()[0]].tolist()
    return found


def _stretches(masks: Words, begins: Places, length: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches of words that together state the concepts of a rule."""
    blocks = np.bitwise_or.reduceat(masks, np.arange(0, len(masks), BLOCK))
    windows = blocks.copy()
    for later in range(1, min(_WINDOW, len(blocks))):
        windows[:-later] |= blocks[later:]
    addressing = blocks & _ADDRESSING
    for later in range(1, min(_STILL_ADDRESSED, len(blocks))):
        windows[later:] |= addressing[:-later]
    worth = reduce(np.logical_or, ((windows & need) == need for need in _needs()))
    for block in worth.nonzero()[0].tolist():
        first = max(0, block - _STILL_ADDRESSED + 1) if windows[block] & _ADDRESSING else block
        last = min((block + _WINDOW) * BLOCK, len(begins)) - 1
        yield max(0, int(begins[first * BLOCK]) - 1), min(length, int(begins[last]))


def _merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)


@cache
def _needs() -> tuple[np.uint64, ...]:
    return tuple(np.uint64(need << shift) for need in needed_concepts() for shift in (0, WIDTH))


def _in_other_scripts(text: NormalisedText) -> Iterator[tuple[int, int]]:
    """Yield the whole text if its words in a language of another script may be an attack together."""
    languages = [language for language, letters in alphabets().items() if len(text.letters & letters) > 3]
    foreign = "\n".join(_FOREIGN.findall(text.plain)) if languages else ""
    whole: dict[Language, Mask] = {}
    for language in languages:
        if language in unspaced_languages():
            pattern, masks = unspaced_pattern(language)
            whole[language] = reduce(or_, (masks.get(word, 0) for word in set(pattern.findall(foreign))), 0)
    if any(language not in unspaced_languages() for language in languages):
        for entry in map(find_entry, set(WORD.findall(foreign))):
            for language, mask in entry.possible_meanings():
                whole[language] = whole.get(language, 0) | mask
    numbers = BITS["highest_score"] | BITS["lowest"] if any(char.isdigit() for char in foreign) else 0
    if any(may_be_attack(possible_coarse_concepts(mask | numbers)) for mask in whole.values()):
        yield 0, len(text.plain)


def split_hints(hints: Hints, lengths: Sequence[int]) -> dict[int, Hints]:
    """Split the places of possible prompt injection in the joined texts into the places of each text."""
    begins = [0, *accumulate(length + 2 for length in lengths)]
    spans: dict[int, list[tuple[int, int]]] = {}
    for first, last in hints.spans:
        for text in range(_text_at(begins, first), min(bisect_left(begins, last), len(lengths))):
            clipped = max(0, first - begins[text]), min(lengths[text], last - begins[text])
            if clipped[0] < clipped[1]:
                spans.setdefault(text, []).append(clipped)
    places: dict[int, tuple[list[int], ...]] = {}
    for kind, some in enumerate((hints.verdicts, hints.respelled, hints.unbroken, hints.spaced_out)):
        for place in some:
            text = _text_at(begins, place)
            places.setdefault(text, ([], [], [], []))[kind].append(place - begins[text])
    found = spans.keys() | places.keys()
    return {text: Hints(tuple(spans.get(text, ())), *map(tuple, places.get(text, ()))) for text in found}


def _text_at(begins: Sequence[int], place: int) -> int:
    """Return the number of the text that contains a position of the joined texts."""
    return bisect_right(begins, place) - 1
