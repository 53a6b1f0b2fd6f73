"""Reads criteria that a model proposes from its reply: texts, points, and which of them are vetoes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from calipers.replies.documents import Pairs, nodes_in_reply

MOST_POINTS: Final = 10
_DEEPEST: Final = 4
_WIDEST: Final = 200


@dataclass(frozen=True, slots=True)
class ProposedCriterion:
    """A criterion in a reply: ``met`` names what is said to meet it, None if nothing is said."""

    text: str
    points: float
    veto: bool = False
    met: tuple[str, ...] | None = None


def proposed_criteria(text: str) -> list[ProposedCriterion]:
    """Return the criteria that a reply proposes, in order; empty if none can be read.

    Entries are skipped if they have no text, or if their points are 0, beyond 10 either way, or in words. ``veto`` is
    True only if the reply says so.
    """
    return [entry for node in nodes_in_reply(text) for entry in _entries(node)]


def names_by_criterion(text: str, key: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lists of names in the object under ``key`` of a reply, by criterion; empty if there is none."""
    for node in nodes_in_reply(text):
        pairs = dict(node) if isinstance(node, Pairs | dict) else {}
        told = pairs.get(key)
        if isinstance(told, Pairs | dict):
            return {str(name): found for name, one in dict(told).items() if (found := _names(one)) is not None}
    return {}


def _names(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return tuple(value)


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
                met = _names(pairs.get("met"))
                yield ProposedCriterion(" ".join(text.split()), float(points), pairs.get("veto") is True, met)
            return
        inner = list(pairs.values())
    for one in inner[:_WIDEST] if depth else ():
        yield from _entries(one, depth - 1)
