"""Reads criteria that a model proposes from its reply: texts, points, and which of them are vetoes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from calipers.replies.documents import Pairs, nodes_in_reply

MOST_POINTS: Final = 10
_DEEPEST: Final = 4
_WIDEST: Final = 200


@dataclass(frozen=True, slots=True)
class ProposedCriterion:
    """A criterion in a reply."""

    text: str
    points: float
    veto: bool = False


def proposed_criteria(text: str) -> list[ProposedCriterion]:
    """Return the criteria that a reply proposes, in order; empty if none can be read.

    Entries are skipped if they have no text, or if their points are 0, beyond 10 either way, or in words. ``veto`` is
    True only if the reply says so.
    """
    return [entry for node in nodes_in_reply(text) for entry in _entries(node)]


def _entries(node: Any, depth: int = _DEEPEST) -> Iterator[ProposedCriterion]:
    """Yield the objects at any depth of a reply that have a text and points."""
    pairs = dict(node) if isinstance(node, Pairs | dict) else None
    if pairs is None:
        inner = node if isinstance(node, list) else []
    else:
        text = next((pairs[key] for key in ("text", "criterion", "description") if key in pairs), None)
        points = next((pairs[key] for key in ("points", "weight") if key in pairs), None)
        if isinstance(text, str) and text.strip():
            if isinstance(points, int | float) and not isinstance(points, bool) and 0 < abs(points) <= MOST_POINTS:
                yield ProposedCriterion(" ".join(text.split()), float(points), pairs.get("veto") is True)
            return
        inner = list(pairs.values())
    for part in inner[:_WIDEST] if depth else ():
        yield from _entries(part, depth - 1)
