"""Near-duplicates among scenarios: texts that share most of their words. Pure.

It is the measure that written criteria are compared by (``criteria.checks``): the Jaccard index of their sets of words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from calipers.criteria.checks import overlap, words_of

DUPLICATE: Final = 0.7
"""Two scenarios that share at least this part of their words are the same one; the later is dropped."""
RELATED: Final = 0.5
"""Two scenarios that share at least this part of their words are on the same side of a split."""


class Known:
    """The scenarios so far, to find the one that a further text is most like."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._words: list[frozenset[str]] = []
        self._with: dict[str, list[int]] = defaultdict(list)
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Remember the text of a scenario."""
        words = words_of(text)
        for word in words:
            self._with[word].append(len(self._words))
        self._words.append(words)

    def nearest(self, text: str) -> float:
        """Return the largest share of words that a remembered scenario has in common with ``text``; 0 if none has."""
        return max(self.shares(text).values(), default=0.0)

    def shares(self, text: str) -> dict[int, float]:
        """Return the share of words in common with each remembered scenario that has any, by its position."""
        words = words_of(text)
        near = {place for word in words for place in self._with.get(word, ())}
        return {place: overlap(words, self._words[place]) for place in near}


def clusters(texts: Sequence[str], threshold: float = RELATED) -> list[list[int]]:
    """Return the positions of ``texts`` in clusters: texts that share ``threshold`` of their words are together.

    So are texts linked by others. Clusters are in the order of their first texts.
    """
    parent = list(range(len(texts)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    known = Known()
    for place, text in enumerate(texts):
        for other, share in known.shares(text).items():
            if share >= threshold:
                first, second = sorted((root(place), root(other)))
                parent[second] = first
        known.add(text)
    found: dict[int, list[int]] = defaultdict(list)
    for place in range(len(texts)):
        found[root(place)].append(place)
    return list(found.values())
