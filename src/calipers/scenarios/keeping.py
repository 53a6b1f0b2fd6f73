"""Which scenarios are for validation, which are worth training on after first rollouts, and in what group size.

A group whose rollouts all score the same has advantage 0. How often that will happen again follows from how often a
scenario was solved.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calipers.scenarios.making import Known, Scenario

RELATED: Final = 0.5
"""Two scenarios that share at least this part of their words are on the same side of a split."""
SIZES: Final = (4, 8, 16, 32)
"""The group sizes that the advice compares."""
ENOUGH: Final = 0.75
"""The advised size is the smallest at which this share of groups is expected to differ."""


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
class Advice:
    """The expected share of kept groups that differ at each group size, and what follows from it.

    ``groups`` is how many groups a step needs so that the wanted number of them is expected to differ.
    """

    differing: Mapping[int, float]
    size: int
    groups: int


@dataclass(frozen=True, slots=True)
class Kept:
    """Scenarios by what their rollouts say: those ``kept`` differ in score, the others do not.

    All rollouts of ``always`` are solved, none of ``never`` is, and ``unknown`` have fewer than two scores. ``advice``
    is None if nothing is kept.
    """

    kept: tuple[str, ...]
    always: tuple[str, ...]
    never: tuple[str, ...]
    unknown: tuple[str, ...]
    advice: Advice | None


def keep(groups: Sequence[Rollouts], *, solved: float = 0.5, informative: int = 16) -> Kept:
    """Return which scenarios' rollouts differ in score, and advice for training on these.

    A rollout is solved if its score is at least ``solved``. The advice is for ``informative`` groups that differ in
    each step.
    """
    sorted_out: dict[str, list[str]] = {name: [] for name in ("kept", "always", "never", "unknown")}
    for group in groups:
        sorted_out[_kind(group, solved)].append(group.scenario)
    kept = [group for group in groups if group.scenario in set(sorted_out["kept"])]
    counts = [(sum(score >= solved for score in group.scores), len(group.scores)) for group in kept]
    named = {name: tuple(found) for name, found in sorted_out.items()}
    return Kept(**named, advice=advice(counts, informative) if counts else None)


def _kind(group: Rollouts, solved: float) -> str:
    if len(group.scores) < 2:
        return "unknown"
    if max(group.scores) - min(group.scores) > 1e-9:
        return "kept"
    return "always" if group.scores[0] >= solved else "never"


def advice(counts: Sequence[tuple[int, int]], informative: int) -> Advice:
    """Return the advised group size and number of groups, from how many of how many rollouts each scenario solved.

    With s of n solved, the chance p of solving has the Beta distribution (s + 1/2, n - s + 1/2), and a group of G
    differs with the chance 1 - E[p^G] - E[(1 - p)^G]. The advised size is the smallest of 4, 8, 16 and 32 at which the
    mean of these chances is at least ``ENOUGH``, else 32; the number of groups is ``informative`` divided by that mean.
    """
    differing = {size: math.fsum(_differs(*one, size) for one in counts) / len(counts) for size in SIZES}
    size = next((one for one in SIZES if differing[one] >= ENOUGH), SIZES[-1])
    return Advice(differing, size, math.ceil(informative / differing[size]))


def _differs(solved: int, rollouts: int, size: int) -> float:
    """Return the expected chance that a group of ``size`` rollouts holds both solved and unsolved ones."""
    won, lost = solved + 0.5, rollouts - solved + 0.5
    return 1 - _all_alike(won, lost, size) - _all_alike(lost, won, size)


def _all_alike(won: float, lost: float, size: int) -> float:
    """Return E[p^size] for p with the Beta distribution (won, lost): a product of posterior predictive chances."""
    return math.prod((won + place) / (won + lost + place) for place in range(size))
