"""First asks about two candidates at a time, for pairwise judging: every pair, or every candidate against a pivot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.planners.first_asks import Presentations, cause_of, shuffled
from calipers.types import Ask, PlanState


@dataclass(frozen=True, slots=True)
class PairPresentations(Presentations):
    """Presentations of pairs, with ``orders=2`` each pair also swapped.

    Raises ConfigError for more than two orders, which a pair does not have.
    """

    def __post_init__(self) -> None:
        if self.orders > 2:
            raise ConfigError(f"orders={self.orders}: a pair has two orders; ask more often with samples=")


class Pairs(PairPresentations):
    """Plan n (n - 1) / 2 comparisons of n candidates in each presentation.

    In one order, who is shown first is balanced over the pairs: each candidate is in half of its own, give or take one.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Every pair once: as drawn or, in every second presentation where orders or further rounds ask, swapped."""
        swapped, sample = self._which(index)
        drawn = shuffled(state)
        n = len(drawn)
        asks: list[Ask] = []
        for low in range(n):
            for high in range(low + 1, n):
                # On a circle of n, the nearer neighbour clockwise goes first: equally often for every candidate.
                ahead = (high - low) * 2 < n or ((high - low) * 2 == n and low % 2 == 0)
                pair = (drawn[low], drawn[high]) if ahead else (drawn[high], drawn[low])
                shown = pair[::-1] if swapped else pair
                cause = cause_of(swapped, sample, further="swap")
                asks.append(Ask(len(asks), shown, shown, sample=sample, cause=cause))
        return asks

    def _which(self, index: int) -> tuple[bool, int]:
        """Whether presentation ``index`` is swapped, and its sample. Beyond the first ones, orders take turns."""
        if index < self.count:
            order, sample = divmod(index, self.samples)
            return bool(order), sample
        if self.orders == 1 and index < 2 * self.samples:
            return True, index - self.samples
        sample, order = divmod(index, 2)
        return bool(order), sample


class Pivot(PairPresentations):
    """Compare every candidate with one that is drawn from the group's content: n - 1 comparisons in each presentation.

    Each further sample has another pivot. Cheap, and as good as its pivot: candidates are told apart only through it,
    so if the pivot beats all or loses to all, margins alone tell the rest apart.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Every other candidate against the pivot of this sample; who is shown first alternates."""
        swapped, sample = index % self.orders, index // self.orders
        drawn = shuffled(state)
        n = len(drawn)
        pivot = drawn[sample % n]
        cause = cause_of(swapped, sample, further="swap")
        asks: list[Ask] = []
        for position, other in enumerate(one for one in drawn if one != pivot):
            shown = (pivot, other) if (position + swapped) % 2 else (other, pivot)
            asks.append(Ask(len(asks), shown, shown, sample=sample // n, cause=cause))
        return asks
