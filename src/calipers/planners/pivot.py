"""First asks two at a time, each candidate against a pivot: n - 1 comparisons instead of n (n - 1) / 2."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.planners.opening import opened
from calipers.planners.pairs import require_two_orders
from calipers.types import Ask, Cause, PlanState


@dataclass(frozen=True, slots=True)
class Pivot:
    """Compare every candidate with one, drawn by the group's content; with ``orders=2`` each pair also swapped.

    Each further sample has a pivot of its own. Cheap, and as good as its pivot: candidates are told apart only through
    it, so a pivot that beats or loses to all leaves the rest to margins.
    """

    orders: int = 1
    samples: int = 1

    def __post_init__(self) -> None:
        require_two_orders(self.orders)

    @property
    def count(self) -> int:
        """Presentations asked at once."""
        return self.orders * self.samples

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Every other candidate against the pivot of this sample; who stands first alternates."""
        swapped, sample = index % self.orders, index // self.orders
        n = len(state.view.candidates)
        seats = list(range(n))
        random.Random(f"{state.view.digest}:{state.seed}").shuffle(seats)  # noqa: S311 - seeded by content, no secret
        pivot = seats[sample % n]
        cause: Cause = "sample" if sample else "swap" if swapped else "first"
        asks: list[Ask] = []
        for place, other in enumerate(one for one in seats if one != pivot):
            shown = (pivot, other) if (place + swapped) % 2 else (other, pivot)
            asks.append(Ask(len(asks), shown, shown, sample=sample // n, cause=cause))
        return asks

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """All first asks in one batch; empty once they were answered."""
        return opened(self, state)
