"""Merges criteria proposed for a rubric that mean the same, by the words they share. Pure: no judge is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from calipers.drafting.proposals import Proposal
from calipers.types import Criterion

ALIKE = 0.6
"""Two texts count as the same criterion if they share at least this part of their words (Jaccard index)."""
_FILLERS = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "attempt",
        "but",
        "by",
        "does",
        "each",
        "every",
        "for",
        "from",
        "has",
        "have",
        "in",
        "into",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "that",
        "the",
        "their",
        "them",
        "then",
        "this",
        "to",
        "was",
        "were",
        "when",
        "where",
        "which",
        "while",
        "with",
        "agent",
        "response",
        "answer",
        "user",
    ]
)
_WORD = re.compile(r"[^\W_]+")
_NEGATIONS = frozenset({"not", "no", "never", "without", "fails", "avoids", "lacks", "omits"})


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged criterion, and the number of groups for which it was proposed."""

    criterion: Criterion
    groups: int


def merge_proposals(proposals: Sequence[Proposal], most: int) -> tuple[Merged, ...]:
    """Return at most ``most`` merged criteria for the rubric draft. Those proposed for the largest number of groups
    come first.

    A merged criterion has the first proposal's text and the median of the points. Two proposals are merged if three
    things hold: they share more than a certain part of their words (``ALIKE``), both are desired or both are faults,
    and both or neither are worded negatively.
    """
    merged: list[list[Proposal]] = []
    for proposal in proposals:
        same = next((one for one in merged if _alike(one[0], proposal)), None)
        if same is None:
            merged.append([proposal])
        else:
            same.append(proposal)
    ranked = sorted(merged, key=lambda one: -len({proposal.group_id for proposal in one}))[:most]
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
    """Return the meaningful words of a criterion, without the most common endings."""
    found = (word.casefold() for word in _WORD.findall(text))
    return frozenset(re.sub(r"(?<=\w{3})(?:ing|ed|es|s)$", "", word) for word in found if word not in _FILLERS)
