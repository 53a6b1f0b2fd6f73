"""Finds sentences that bring together what talk to a judge is made of, in whatever words and order.

Most text is passed over after a look at its words as a set; only where some gathering's concepts all occur somewhere is it
looked at sentence by sentence. Not responsible for what the concepts are (``concepts``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Final

from calipers.probes.concepts import CONCEPTS, GATHERINGS
from calipers.types import AttackKind

_LONGEST: Final = 40
"""Words of a sentence looked at together: in more, concepts meet by chance."""
_STEP: Final = _LONGEST // 2
_SENTENCE = re.compile(r"[^.!?;\n\\]+(?:\.(?=\w)[^.!?;\n\\]*)*")
_WORD = re.compile(r"[\w+]+(?:-star)?")
_CODE = re.compile(r"[(){}\[\]=;|&]")
"""A sentence with half as many of these as words is a program, where names of all sorts meet."""

_BITS: Final = {name: 1 << number for number, name in enumerate(("own+piece", "own+thing", *CONCEPTS))}
_THIS, _PIECE, _THING = _BITS["this"], _BITS["piece"], _BITS["thing"]
_OWN_PIECE, _OWN_THING = _BITS["own+piece"], _BITS["own+thing"]
_MINE: Final = "mine"


def _masks() -> dict[str, int]:
    masks: dict[str, int] = {}
    for name, words in CONCEPTS.items():
        for word in words.split():
            masks[word] = masks.get(word, 0) | _BITS[name]
    masks[_MINE] = masks.get(_MINE, 0) | _OWN_PIECE | _OWN_THING
    return masks


_MASKS: Final = _masks()
_ENCODED: Final = {word.encode(): mask for word, mask in _MASKS.items()}
_KNOWN: Final = frozenset(_ENCODED)
_WANTED: Final = tuple((kind, reduce(or_, map(_BITS.__getitem__, names.split()))) for kind, names in GATHERINGS)

ANCHORS: Final = frozenset(
    word.encode() for name in ("piece", "judge", "grading", "ignore", "mercy") for word in (*CONCEPTS[name].split(), _MINE)
)  # fmt: skip
"""The rarest words without one of which no gathering is complete."""


def gathered(words: Collection[bytes], text: str) -> Iterator[tuple[AttackKind, str]]:
    """Kind and sentence of what comes together in ``text`` (small letters), whose words are ``words``; one a kind."""
    wanted = _within(reduce(or_, map(_ENCODED.__getitem__, _KNOWN.intersection(words)), 0), _WANTED)
    if not wanted:
        return
    seen: set[AttackKind] = set()
    for sentence in _SENTENCE.finditer(text):
        said = _WORD.findall(sentence[0])
        if 2 * len(_CODE.findall(sentence[0])) >= len(said):
            continue
        masks = [_MASKS.get(word, 0) for word in said]
        for begin in range(0, max(1, len(masks) - _STEP), _STEP):
            for kind, _ in _within(_together(masks[begin : begin + _LONGEST]), wanted):
                if kind not in seen:
                    seen.add(kind)
                    yield kind, sentence[0].strip()


def _within(mask: int, wanted: Sequence[tuple[AttackKind, int]]) -> list[tuple[AttackKind, int]]:
    """Those of ``wanted`` that ``mask`` has all of, taking "this" and a piece anywhere for "own" where it tells no more."""
    if mask & _THIS:
        mask |= (_OWN_PIECE if mask & _PIECE else 0) | (_OWN_THING if mask & (_PIECE | _THING) else 0)
    return [(kind, one) for kind, one in wanted if one & mask == one]


def _together(masks: Sequence[int]) -> int:
    """What the words of a sentence bring, "this" only for what stands beside it."""
    found = 0
    for place, mask in enumerate(masks):
        found |= mask & ~_THIS
        if mask & _THIS:
            beside = reduce(or_, masks[max(0, place - 1) : place + 3])
            found |= (_OWN_PIECE if beside & _PIECE else 0) | (_OWN_THING if beside & (_PIECE | _THING) else 0)
    return found
