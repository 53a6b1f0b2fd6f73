"""Whether a text holds a word that a rule looks for: all of a group's texts at once, and nearly always No.

Cutting every text into words and looking these up takes five times as long. Not responsible for which rules the words
call for (``phrases``), nor for texts of other scripts (``injection``).
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from calipers.probes.phrases import APART, WORDS

_START: Final = 4
"""Bytes of a word, or of a shorter one and the space after it, that are looked up."""
_SPACE: Final = np.uint8(32)
_LITTLE_ENDIAN: Final = np.dtype("<u4")
_FACTOR: Final = np.uint32(2654435761)
_SHIFT: Final = np.uint32(16)
"""Knuth's multiplicative hash (The Art of Computer Programming, 6.4): the upper 16 bits of the product."""


def any_word_in(text: str) -> bool:
    """Whether ``text``, in ASCII, holds any of ``phrases.WORDS`` between white space or punctuation."""
    said = b" %b    " % text.encode().translate(APART)
    count = len(said) - _START
    spaces = (np.frombuffer(said, np.uint8, count) == _SPACE).nonzero()[0]
    # The four bytes after every place, unaligned on purpose. (``take`` is faster than an index.)
    starts = np.ndarray((count,), _LITTLE_ENDIAN, said, 1, (1,)).take(spaces)
    known, short = _looked_for()
    if any((starts & mask == word).any() for mask, word in short):
        return True
    suspects = spaces[known.take(starts * _FACTOR >> _SHIFT)]
    return any(said[space + 1 : said.index(b" ", space + 1)] in WORDS for space in suspects.tolist())


@cache
def _looked_for() -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], tuple[tuple[np.uint32, np.uint32], ...]]:
    """Which hashes the words' beginnings have; and those too short to have one, each with the bytes that count."""
    long = b"".join((word + b" ")[:_START] for word in WORDS if len(word) >= _START - 1)
    known = np.zeros(1 << 16, np.bool_)
    known[np.frombuffer(long, _LITTLE_ENDIAN) * _FACTOR >> _SHIFT] = True
    short = [word + b" " for word in WORDS if len(word) < _START - 1]
    return known, tuple(
        (np.uint32((1 << 8 * len(word)) - 1), np.uint32(int.from_bytes(word, "little"))) for word in short
    )
