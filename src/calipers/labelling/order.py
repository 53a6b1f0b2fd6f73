"""The order in which groups are labelled, the same for every annotator: contested ones, and among them a random sample.

Every fourth group comes from a random order, because figures from contested groups alone are worse than the judge is.
Without results all groups come in this order. Not responsible for how contested a group is (``choosing``), or for what
an annotator has done already (``session``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calipers.labelling.blinding import seed_of

EVERY: Final = 4
"""Every so many groups, one comes from the random order."""


@dataclass(frozen=True, slots=True)
class Contest:
    """How contested a judged group is: ``flags`` counts disputed and flipped; ``doubt`` is from 0 to 1."""

    flags: int = 0
    doubt: float = 0.0


def queue(ids: Sequence[str], known: Mapping[str, Contest]) -> list[int]:
    """Return the numbers of all groups in the order in which they are labelled: the same for every annotator."""
    chance = random_order(ids)
    place = {number: at for at, number in enumerate(chance)}
    contested = [number for number, name in enumerate(ids) if (one := known.get(name)) and (one.flags or one.doubt > 0)]
    contested.sort(key=lambda number: (-known[ids[number]].flags, -known[ids[number]].doubt, place[number]))
    found: dict[int, None] = {}
    at_random, by_contest = iter(chance), iter(contested)
    for turn in range(len(ids)):
        source = at_random if turn % EVERY == EVERY - 1 else by_contest
        number = next((one for one in source if one not in found), None)
        if number is None:
            number = next(one for one in at_random if one not in found)
        found[number] = None
    return list(found)


def random_order(ids: Sequence[str]) -> list[int]:
    """Return the numbers of all groups in a random order that depends on their ids alone, not on the file's order."""
    return sorted(range(len(ids)), key=lambda number: (seed_of("order of groups", ids[number]), ids[number]))
