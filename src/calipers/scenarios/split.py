"""A split of scenarios into training and validation without leakage: near-duplicates are on one side. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.scenarios.alike import Known, clusters
from calipers.scenarios.grid import Scenario


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

    Clusters (``alike.clusters``) are taken in an order drawn from ``seed`` and their texts, so that the split of a
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
