"""Which scenarios are for validation, and which are worth training on after first rollouts.

A group whose rollouts all score the same has advantage 0.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from calipers.scenarios.making import Known, Scenario

RELATED: Final = 0.5
"""Two scenarios that share at least this part of their words are on the same side of a split."""


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

    A cluster are scenarios that share ``RELATED`` of their words, also by way of others. Clusters are taken in an order
    drawn from ``seed`` and their texts, so that a scenario's side does not depend on the order of writing. A cluster
    that would take more than the share of its difficulties stays in training, and so does the last one that is left.
    """
    room = {name: count * share for name, count in Counter(one.cell.difficulty for one in scenarios).items()}
    held: set[int] = set()
    for cluster in sorted(_clusters([one.text for one in scenarios]), key=lambda one: _drawn(scenarios, one, seed)):
        takes = Counter(scenarios[place].cell.difficulty for place in cluster)
        rest = len(scenarios) - len(held) - len(cluster)
        if rest and all(room[name] + 0.5 >= count for name, count in takes.items()):
            held.update(cluster)
            for name, count in takes.items():
                room[name] -= count
    train = tuple(one for place, one in enumerate(scenarios) if place not in held)
    validation = tuple(one for place, one in enumerate(scenarios) if place in held)
    known = Known(one.text for one in train)
    return Split(train, validation, max((max(known.shares(one.text)) for one in validation), default=None))


def _clusters(texts: Sequence[str]) -> list[list[int]]:
    """Return the positions of ``texts`` in clusters of related ones."""
    clusters: list[list[int]] = []
    known = Known()
    for place, text in enumerate(texts):
        related = {other for other, share in enumerate(known.shares(text)) if share >= RELATED}
        joined = [one for one in clusters if related.intersection(one)]
        clusters = [one for one in clusters if one not in joined]
        clusters.append(sorted([place, *(other for one in joined for other in one)]))
        known.add(text)
    return clusters


def _drawn(scenarios: Sequence[Scenario], cluster: Sequence[int], seed: int) -> bytes:
    first = min(scenarios[place].id for place in cluster)
    return hashlib.blake2b(f"{seed}:{first}".encode(), digest_size=8).digest()


@dataclass(frozen=True, slots=True)
class Rollouts:
    """The scores of one scenario's rollouts; those without a score are left out, and counted as ``unscored``."""

    scenario: str
    scores: tuple[float, ...]
    unscored: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """Scenarios by what their rollouts say: those ``kept`` differ in score, the others do not.

    All rollouts of ``always`` are solved, none of ``never`` is, and ``unknown`` have fewer than two scores.
    """

    kept: tuple[str, ...]
    always: tuple[str, ...]
    never: tuple[str, ...]
    unknown: tuple[str, ...]


def keep(groups: Sequence[Rollouts], *, solved: float = 0.5) -> Kept:
    """Return which scenarios' rollouts differ in score. A rollout is solved if its score is at least ``solved``."""
    kinds: dict[str, list[str]] = {name: [] for name in ("kept", "always", "never", "unknown")}
    for group in groups:
        if len(group.scores) < 2:
            kind = "unknown"
        elif max(group.scores) - min(group.scores) > 1e-9:
            kind = "kept"
        else:
            kind = "always" if group.scores[0] >= solved else "never"
        kinds[kind].append(group.scenario)
    return Kept(**{name: tuple(names) for name, names in kinds.items()})
