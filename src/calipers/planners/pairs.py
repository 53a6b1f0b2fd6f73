"""First asks two candidates at a time, for pairwise judging: a round robin, in one or both orders."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.planners.opening import opened
from calipers.types import Ask, Cause, PlanState


@dataclass(frozen=True, slots=True)
class Pairs:
    """Plan n (n - 1) / 2 comparisons of n candidates, ``samples`` times each; with ``orders=2`` each also swapped.

    In one order, who stands first is balanced over the pairs: each candidate does in half of its own, give or take one.
    Raises ConfigError for more than two orders, which a pair does not have.
    """

    orders: int = 1
    samples: int = 1

    def __post_init__(self) -> None:
        require_two_orders(self.orders)

    @property
    def count(self) -> int:
        """Presentations asked at once: rounds, in one order or in both."""
        return self.orders * self.samples

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Every pair once: as seated or, in every second presentation where orders or further rounds ask, swapped."""
        swapped, sample = self._which(index)
        n = len(state.view.candidates)
        seats = list(range(n))
        random.Random(f"{state.view.digest}:{state.seed}").shuffle(seats)  # noqa: S311 - seeded by content, no secret
        cause: Cause = "sample" if sample else "swap" if swapped else "first"
        asks: list[Ask] = []
        for low in range(n):
            for high in range(low + 1, n):
                # Around a table of n, the nearer neighbour clockwise goes first: as often as not, for everyone.
                ahead = (high - low) * 2 < n or ((high - low) * 2 == n and low % 2 == 0)
                pair = (seats[low], seats[high]) if ahead else (seats[high], seats[low])
                shown = pair[::-1] if swapped else pair
                asks.append(Ask(len(asks), shown, shown, sample=sample, cause=cause))
        return asks

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """All first asks in one batch; empty once they were answered."""
        return opened(self, state)

    def _which(self, index: int) -> tuple[bool, int]:
        """Whether presentation ``index`` is swapped, and its sample. Beyond the first ones, orders take turns."""
        if index < self.count:
            order, sample = divmod(index, self.samples)
            return bool(order), sample
        if self.orders == 1 and index < 2 * self.samples:
            return True, index - self.samples
        sample, order = divmod(index, 2)
        return bool(order), sample


def require_two_orders(orders: int) -> None:
    """Raise ConfigError for more orders than a pair has."""
    if orders > 2:
        raise ConfigError(f"orders={orders}: a pair has two orders; ask more often with samples=")
