"""Measures how useful a drafted criterion is on graded groups: whether it separates trajectories, and repeatably so.

Pure. Not responsible for grading the groups (``judging``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from calipers.types import Criterion, GroupResult

LEAST_AGREEMENT = 0.75
LEAST_DECIDED = 0.7
LEAST_PAIRS = 6
"""A criterion that contradicts gold is dropped only with at least this many pairs with gold. With fewer pairs, the
contradiction may be chance.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of a drafted criterion. Shares are in [0, 1], or None if there was nothing to count.

    ``separates`` is the share of groups in which some trajectories met the criterion and others did not. ``agreement``
    is the share of trajectories on which repeated gradings gave the same verdict. ``decided`` is the share of verdicts
    that were readable, and ``met`` the share of these that are positive. ``pairs`` counts the pairs of trajectories of
    a group that differ both in their verdicts and in gold. ``with_gold`` is the share of them in which gold and the
    criterion prefer the same trajectory.
    """

    separates: float | None
    agreement: float | None
    decided: float
    met: float | None
    with_gold: float | None = None
    pairs: int = 0

    def fault(self) -> str | None:
        """Return the reason why the drafted criterion is not useful, or None if it is useful."""
        if self.decided < LEAST_DECIDED:
            return f"only {self.decided:.0%} of its verdicts could be read"
        if not self.separates:
            return "it never separates the trajectories of a group"
        if self.agreement is not None and self.agreement < LEAST_AGREEMENT:
            return f"asked twice, the judge agrees with itself on {self.agreement:.0%} of the trajectories"
        if self.with_gold is not None and self.pairs >= LEAST_PAIRS and self.with_gold < 0.5:
            return f"it points the wrong way in {1 - self.with_gold:.0%} of {self.pairs} pairs with gold"
        return None


def measure_criterion(
    criterion: Criterion, results: Sequence[GroupResult], gold: Mapping[tuple[str, str], float]
) -> Measured:
    """Return the figures of a drafted ``criterion`` on graded groups. ``gold`` is keyed by (group id, trajectory
    id).
    """
    votes = [
        {one.id: _votes(one.extra.get("criteria"), criterion.id) for one in result.trajectories} for result in results
    ]
    every = [vote for of_group in votes for own in of_group.values() for vote in own]
    known = [vote for vote in every if vote is not None]
    repeated = [own for of_group in votes for own in of_group.values() if len(own) > 1 and None not in own]
    sides = [{vote for own in of_group.values() for vote in own[:1] if vote is not None} for of_group in votes]
    separated = [len(side) > 1 for side, of_group in zip(sides, votes, strict=True) if len(of_group) > 1]
    right = [
        agrees for result, own in zip(results, votes, strict=True) for agrees in _pairs(criterion, result, own, gold)
    ]
    return Measured(
        _share(separated),
        _share([len(set(own)) == 1 for own in repeated]),
        len(known) / len(every) if every else 0.0,
        _share(known),
        _share(right),
        len(right),
    )


def _votes(grades: Any, criterion: str) -> list[bool | None]:
    """Return the verdicts of all gradings of a trajectory for one criterion."""
    one = grades.get(criterion) if isinstance(grades, Mapping) else None
    if one is None:
        return []
    return list(one["votes"]) if "votes" in one else [one["met"]]


def _pairs(
    criterion: Criterion,
    result: GroupResult,
    votes: Mapping[str, Sequence[bool | None]],
    gold: Mapping[tuple[str, str], float],
) -> list[bool]:
    first = {
        name: (own[0], gold[result.group_id, name])
        for name, own in votes.items()
        if own and own[0] is not None and (result.group_id, name) in gold
    }
    found = []
    for (one_met, one_gold), (other_met, other_gold) in combinations(first.values(), 2):
        if one_met != other_met and one_gold != other_gold:
            found.append((one_gold > other_gold) == (bool(one_met) == (criterion.points > 0)))
    return found


def _share(cases: Sequence[bool]) -> float | None:
    return sum(cases) / len(cases) if cases else None
