"""Plans the first questions of pairwise judging: every pair of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.planners.first_asks import Presentations, cause_of_ask, shuffled_candidates
from calipers.types import Ask, PlanState


@dataclass(frozen=True, slots=True)
class Pairs(Presentations):
    """Plans n (n - 1) / 2 comparisons of n candidates in each presentation.

    With one order, each candidate is shown first in half of its pairs, or in one more or less than half; with
    ``orders=2``, each pair is also shown in its other order. Raises ConfigError for more than two orders.
    """

    def __post_init__(self) -> None:
        if self.orders > 2:
            raise ConfigError(f"orders={self.orders}: a pair has two orders; ask more often with samples=")

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan which questions to ask next: a comparison of every pair of candidates.

        Presentations in the second order show each pair swapped.
        """
        swapped, sample = self._swap_and_sample(index)
        drawn = shuffled_candidates(state)
        n = len(drawn)
        asks: list[Ask] = []
        for low in range(n):
            for high in range(low + 1, n):
                # Put the candidates on a circle. In each pair, candidate A is shown first if the way from A to B is
                # shorter clockwise than the way from B to A. So each candidate is first equally often.
                ahead = (high - low) * 2 < n or ((high - low) * 2 == n and low % 2 == 0)
                pair = (drawn[low], drawn[high]) if ahead else (drawn[high], drawn[low])
                shown = pair[::-1] if swapped else pair
                cause = cause_of_ask(swapped, sample, further="swap")
                asks.append(Ask(len(asks), shown, shown, sample=sample, cause=cause))
        return asks

    def _swap_and_sample(self, index: int) -> tuple[bool, int]:
        """Return whether presentation ``index`` shows pairs swapped, and its sample.

        Beyond the first presentations, orders alternate.
        """
        if index < self.count:
            order, sample = divmod(index, self.samples)
            return bool(order), sample
        if self.orders == 1 and index < 2 * self.samples:
            return True, index - self.samples
        sample, order = divmod(index, 2)
        return bool(order), sample
