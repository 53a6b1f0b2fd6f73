"""Find the stretches of words that together may state an attack on the judge, for all words of a text at once.

The words are few: those that the lexicon has, by their numbers among all words of the text, with the concepts that each
may mean. ``prefilter`` looks them up, and ``sentence_attacks`` reads the stretches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from calipers.guard.attack_rules import COARSE, STATED_BY_TWO, WIDTH, may_be_attack, needed_concepts
from calipers.guard.prefilter_index import NUMBER, Places, Words
from calipers.guard.sentence_meaning import BESIDE, BESIDE_BEFORE, NEAR
from calipers.guard.sentence_words import FULL_WITHIN

Codes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"

BLOCK: Final = 16
"""The number of words in a block. The concepts of a block's words are combined."""
_WINDOW: Final = 3
"""Any ``sentence_attacks.LONGEST`` consecutive words are inside this many consecutive blocks."""
_STILL_ADDRESSED: Final = 4
"""Sentences that address a judge may be in this many blocks from the word for the judge on."""
_NOWHERE: Final = np.zeros(0, np.int64)
_SPACE: Final = np.uint8(32)
_BYTE: Final = np.uint64(0xFF)
_HALF: Final = (1 << WIDTH) - 1
_ADDRESSING: Final = np.uint64(COARSE["judge"] | COARSE["judge"] << WIDTH)
_BOTH_HALVES: Final = np.uint64(1 | 1 << WIDTH)
_CLOSE: Final = {COARSE["this"]: (BESIDE, BESIDE_BEFORE), COARSE["highest"]: (NEAR, NEAR)}
"""For the first word of each pair of ``STATED_BY_TWO``, how many words after and before it the second word may be."""
_NUMBER_BYTES: Final = (2, 3, 4)
"""The possible lengths in bytes of a number and the space after it."""


class _Pair(NamedTuple):
    """A pair of ``STATED_BY_TWO``. ``others`` has the bits of the other word, in each half that ``_near`` may name."""

    one: int
    other: int
    others: Words
    distance: np.uint64

    def may_be_in(self, whole: int) -> bool:
        """Whether a text that states the concepts ``whole`` may state both words of an attack in one half."""
        return any(whole >> shift & self.one and whole >> shift & self.other for shift in (0, WIDTH))


_PAIRS: Final = tuple(
    _Pair(
        one,
        other,
        np.array([0, other, other << WIDTH, other | other << WIDTH], np.uint64),
        np.uint64(both.bit_length() - other.bit_length()),
    )
    for one, other, both in STATED_BY_TWO
)


@dataclass(frozen=True, slots=True)
class FoundWords:
    """The words of a text that the lexicon of prompt injection has.

    ``places`` are their numbers among the ``total`` words of the text, ``words`` their first eight bytes, and ``masks``
    the concepts that each may mean; ``whole`` is all of them together.
    """

    total: int
    places: Places
    words: Words
    masks: Words
    whole: int

    def stretches(self) -> tuple[Places, Places]:
        """Return the first and the last word of each stretch that may state all concepts of a rule."""
        if not any(may_be_attack(_possible_concepts(self.whole, shift)) for shift in (0, WIDTH)):
            return _NOWHERE, _NOWHERE
        masks = self._with_positions()
        blocks = self._blocks(masks)
        windows = blocks.copy()
        for later in range(1, min(_WINDOW, len(blocks))):
            windows[:-later] |= blocks[later:]
        addressing = blocks & _ADDRESSING
        for later in range(1, min(_STILL_ADDRESSED, len(blocks))):
            windows[later:] |= addressing[:-later]
        whole = int(np.bitwise_or.reduce(windows))
        needs = np.array([need for need in _needs() if whole & need == need], np.uint64)[:, None]
        found = ((windows & needs) == needs).any(0).nonzero()[0]
        addressed = (windows.take(found) & _ADDRESSING) != 0
        firsts = np.maximum(found - addressed * (_STILL_ADDRESSED - 1), 0) * BLOCK
        return firsts, np.minimum((found + _WINDOW) * BLOCK, self.total) - 1

    def _blocks(self, masks: Words) -> Words:
        """Return the concepts of each block of words."""
        blocks = np.zeros(-(-self.total // BLOCK), np.uint64)
        np.bitwise_or.at(blocks, self.places // BLOCK, masks)
        return blocks

    def _with_positions(self) -> Words:
        """Return the words' concepts, with those that follow from their positions: "this" near an answer, 10 of 10."""
        masks = self.masks.copy()
        if self.whole & NUMBER:
            self._add_full_scores(masks)
        for one, (after, before) in _CLOSE.items():
            pairs = [pair for pair in _PAIRS if pair.one == one and pair.may_be_in(self.whole)]
            if not pairs:
                continue
            near = self._near(one, after, before)
            for pair in pairs:
                masks |= (self.masks & pair.others.take(near)) << pair.distance
        return masks

    def _near(self, one: int, after: int, before: int) -> Codes:
        """Return in which halves ``one`` is said at most ``after`` words before or ``before`` words after a word.

        The result is 1 for English, 2 for another language, 3 for both.
        """
        said = (self.masks >> np.uint64(one.bit_length() - 1)) & _BOTH_HALVES
        places = (said != 0).nonzero()[0]
        said = said.take(places)
        reached = np.zeros(self.total + after + before, np.uint8)
        reached[self.places.take(places) + after] = (said | said >> np.uint64(WIDTH - 1)).astype(np.uint8)
        width = 1
        while width <= after + before:
            step = min(width, after + before + 1 - width)
            reached = reached[:-step] | reached[step:]
            width += step
        return reached.take(self.places)

    def _add_full_scores(self, masks: Words) -> None:
        """Add a full score where two equal numbers are close to each other, as in 10 of 10."""
        numbers = (self.masks & np.uint64(NUMBER) != 0).nonzero()[0]
        places = self.places.take(numbers)
        close = (places[1:] - places[:-1] <= FULL_WITHIN).nonzero()[0]
        if not len(close):
            return
        later = numbers.take(close + 1)
        one, other = self.words.take(numbers.take(close)), self.words.take(later)
        full = COARSE["highest"] | COARSE["score"] | COARSE["highest_score"]
        for width in _NUMBER_BYTES:
            same = (one ^ other) << np.uint64(64 - 8 * width) == 0
            ended = other >> np.uint64(8 * width - 8) & _BYTE == _SPACE
            masks[later[same & ended]] |= np.uint64(full | full << WIDTH)


def _possible_concepts(whole: int, shift: int) -> int:
    """Return all concepts that a text may state, for English (``shift`` 0) or for all other languages together."""
    found = whole >> shift & _HALF
    if whole & NUMBER:
        found |= COARSE["highest"] | COARSE["highest_score"] | COARSE["score"]
    for one, other, both in STATED_BY_TWO:
        found |= both if found & one and found & other else 0
    return found


@cache
def _needs() -> tuple[int, ...]:
    return tuple(need << shift for need in needed_concepts() for shift in (0, WIDTH))
