"""Plans pairs in rounds, as in a Swiss tournament: after each round, candidates with similar scores are compared.

Comparisons of candidates that are nearly equal are the most informative, and about n log n of them suffice to rank a
group. Not responsible for making scores of the comparisons (``aggregators``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.interfaces import Planner
from calipers.planners.first_asks import next_ask_number, number_asks, shuffled_candidates
from calipers.planners.pairs import PairPresentations
from calipers.types import Ask, Cause, PlanState


class FirstRound(PairPresentations):
    """Plans comparisons of neighbours in an order drawn from the content; if n is odd, compares one candidate twice."""

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan which questions to ask next: one for each pair of neighbours."""
        sample, swapped = divmod(index, self.orders)
        return _pair_asks(_neighbouring_pairs(shuffled_candidates(state)), swapped=bool(swapped), sample=sample, slot=0)


@dataclass(frozen=True, slots=True)
class Swiss:
    """Plans what ``inner`` asks (the first round), then further rounds of pairs.

    Each round compares, from the top of the ranking, candidates that have not been compared, in one order or in both
    (``orders``). The rounds end when there were enough comparisons for each candidate to meet ``ceil(log2 n) + 1``
    others, or when every pair was compared.
    """

    inner: Planner
    orders: int = 1

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan which questions to ask next: those of ``inner``, or else the next round of pairs.

        Every judge that compared pairs before is asked.
        """
        asks = self.inner.next_asks(state)
        if asks or not state.answered:
            return asks
        n = len(state.view.candidates)
        pairs = [done.ask for done in state.answered if len(done.ask.order) == 2]
        met = {frozenset(ask.order) for ask in pairs}
        left = (math.ceil(math.log2(n)) + 1) * math.ceil(n / 2) - len(met)
        if left <= 0 or all(value is None for value in state.scores.values):
            return ()
        # A candidate without a score is ranked in the middle.
        ranked = sorted(range(n), key=lambda item: (-(state.scores.values[item] or 0.0), item))
        chosen = _unmet_pairs(ranked, met)[:left]
        found = [
            ask
            for slot in sorted({ask.slot for ask in pairs})
            for swapped in range(self.orders)
            for ask in _pair_asks(chosen, swapped=bool(swapped), sample=0, slot=slot)
        ]
        return number_asks(found, next_ask_number(state))


def _neighbouring_pairs(drawn: Sequence[int]) -> list[tuple[int, int]]:
    pairs = list(zip(drawn[::2], drawn[1::2], strict=False))
    return [*pairs, (drawn[-1], drawn[0])] if len(drawn) % 2 and len(drawn) > 1 else pairs


def _unmet_pairs(ranked: Sequence[int], met: set[frozenset[int]]) -> list[tuple[int, int]]:
    """Pair each candidate, from the top of the ranking, with the next below that it has not met; some may remain."""
    free, pairs = list(ranked), []
    while len(free) > 1:
        first = free.pop(0)
        other = next((item for item in free if frozenset((first, item)) not in met), None)
        if other is not None:
            free.remove(other)
            pairs.append((first, other))
    return pairs


def _pair_asks(pairs: Sequence[tuple[int, int]], *, swapped: bool, sample: int, slot: int) -> list[Ask]:
    """Plan one question for each pair. Every second pair shows the candidate with the lower rank first."""
    asks: list[Ask] = []
    cause: Cause = "swap" if swapped else "first"
    for position, (one, other) in enumerate(pairs):
        shown = (other, one) if (position % 2 == 1) != swapped else (one, other)
        asks.append(Ask(len(asks), shown, shown, slot=slot, sample=sample, cause=cause))
    return asks
