"""Which scenarios are worth training on after first rollouts, and what group size and count suit them. Pure.

A group whose rollouts all score the same has advantage 0. How often that will happen again follows from how often a
scenario was solved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SIZES: Final = (4, 8, 16, 32)
"""The group sizes that the advice compares."""
ENOUGH: Final = 0.75
"""The advised size is the smallest at which this share of groups is expected to differ."""


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
