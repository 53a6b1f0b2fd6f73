"""Which written scenarios may be used, and how they are split: near-duplicates are dropped, or stay on one side. Pure.

Texts are compared as written criteria are (``criteria.checks``): by the Jaccard index of their sets of words.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from calipers.criteria.checks import length_of, overlap, words_of
from calipers.guard.injection import find_attacks
from calipers.render.escapes import escape
from calipers.scenarios.grid import Scenario

DUPLICATE: Final = 0.7
"""Two scenarios that share at least this part of their words are the same one; the later is dropped."""
RELATED: Final = 0.5
"""Two scenarios that share at least this part of their words are on the same side of a split."""
SHORTEST: Final = 12
LONGEST: Final = 8_000


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


def problem_of(text: str, known: Known) -> str | None:
    """Return why a scenario's text may not be used, in fixed words; None if it may.

    The reason never quotes the text, which may hold an attack.
    """
    if length_of(text) < SHORTEST or len(text) > LONGEST:
        return f"it has fewer than {SHORTEST} or more than {LONGEST:,} characters"
    if escape(text) != text:
        return "it holds invisible characters, tokens of a chat template or imitated layout"
    if any(hit.certainty != "suspicious" for hit in find_attacks([{"role": "assistant", "content": text}])):
        return "it addresses a judge"
    if known.nearest(text) >= DUPLICATE:
        return "it nearly repeats another"
    return None


@dataclass(frozen=True, slots=True)
class Split:
    """Scenarios for training and for validation. ``nearest`` is the largest share of words that two scenarios on
    different sides have in common, from 0 to 1; None if a side is empty.
    """

    train: tuple[Scenario, ...]
    validation: tuple[Scenario, ...]
    nearest: float | None


def split(scenarios: Sequence[Scenario], share: float, *, seed: int = 0) -> Split:
    """Return a split with about ``share`` of the scenarios of each difficulty for validation, whole clusters only.

    Clusters (``clusters``) are taken in an order drawn from ``seed`` and their texts, so that the split of a
    scenario does not depend on the order of writing. A cluster that would take more than the share of its difficulties
    stays in training, and so does the last one that is left.
    """
    room = {name: count * share for name, count in Counter(one.cell.difficulty for one in scenarios).items()}
    held: set[int] = set()
    grouped = clusters([one.text for one in scenarios])
    for cluster in sorted(grouped, key=lambda places: _drawn(scenarios[places[0]].id, seed)):
        takes = Counter(scenarios[place].cell.difficulty for place in cluster)
        rest = len(scenarios) - len(held) - len(cluster)
        if rest and all(room[name] + 0.5 >= count for name, count in takes.items()):
            held.update(cluster)
            for name, count in takes.items():
                room[name] -= count
    train = tuple(one for place, one in enumerate(scenarios) if place not in held)
    validation = tuple(one for place, one in enumerate(scenarios) if place in held)
    known = Known([one.text for one in train])
    nearest = max((known.nearest(one.text) for one in validation), default=None) if train else None
    return Split(train, validation, nearest)


def _drawn(name: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()
