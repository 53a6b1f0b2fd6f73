"""Proposals that say the same in other words, made one. Pure, and by words alone: no judge decides it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from calipers.drafting.question import Proposal
from calipers.types import Criterion

ALIKE = 0.6
"""Share of words in common (Jaccard) from which two texts are one criterion."""
_FILLERS = frozenset({
    "a", "an", "and", "any", "are", "as", "at", "attempt", "but", "by", "does", "each", "every", "for", "from", "has",
    "have", "in", "into", "is", "it", "its", "of", "on", "or", "that", "the", "their", "them", "then", "this", "to", "was",
    "were", "when", "where", "which", "while", "with", "agent", "response", "answer", "user",
})  # fmt: skip
_WORD = re.compile(r"[^\W_]+")
_NEGATIONS = frozenset({"not", "no", "never", "without", "fails", "avoids", "lacks", "omits"})


@dataclass(frozen=True, slots=True)
class Merged:
    """One criterion to be, and how many groups made a judge think of it."""

    criterion: Criterion
    groups: int


def merge(proposals: Sequence[Proposal], most: int) -> tuple[Merged, ...]:
    """At most ``most`` criteria, those proposed for most groups first: the first wording, and the median of points.

    Two are one where they share most of their words, speak of the same side (desired or a fault) and are both, or neither,
    put negatively.
    """
    kept: list[list[Proposal]] = []
    for proposal in proposals:
        home = next((one for one in kept if _alike(one[0], proposal)), None)
        if home is None:
            kept.append([proposal])
        else:
            home.append(proposal)
    ranked = sorted(kept, key=lambda one: -len({proposal.group_id for proposal in one}))[:most]
    return tuple(
        Merged(
            Criterion(f"c{place}", one[0].text, round(median(proposal.points for proposal in one), 1)),
            len({proposal.group_id for proposal in one}),
        )
        for place, one in enumerate(ranked, start=1)
    )


def _alike(one: Proposal, other: Proposal) -> bool:
    if (one.points > 0) != (other.points > 0):
        return False
    if one.text.casefold() == other.text.casefold():
        return True
    first, second = _words(one.text), _words(other.text)
    if bool(first & _NEGATIONS) != bool(second & _NEGATIONS):
        return False
    both = first | second
    return bool(both) and len(first & second) / len(both) >= ALIKE


def _words(text: str) -> frozenset[str]:
    """The words that carry meaning, with the commonest endings taken off."""
    found = (word.casefold() for word in _WORD.findall(text))
    return frozenset(re.sub(r"(?<=\w{3})(?:ing|ed|es|s)$", "", word) for word in found if word not in _FILLERS)
