"""Pairs in rounds, as in a Swiss tournament: after each round, candidates close in rank are compared next.

Comparisons of near-equals say most, and n log n of them order a group. Not responsible for what the comparisons come
to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.interfaces import Planner
from calipers.planners.first_asks import next_number, numbered, shuffled
from calipers.planners.pairs import PairPresentations
from calipers.types import Ask, Cause, PlanState


class FirstRound(PairPresentations):
    """Compare neighbours in an order drawn from the group's content; of an odd number, one candidate is compared
    twice.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """One ask a pair."""
        sample, swapped = divmod(index, self.orders)
        return _asks(_neighbours(shuffled(state)), swapped=bool(swapped), sample=sample, slot=0)


@dataclass(frozen=True, slots=True)
class Swiss:
    """What ``inner`` asks (the first round), then round by round until each candidate could meet ``ceil(log2 n) + 1``
    others.

    Each round compares, from the top, candidates that have not met, in one order or in both (``orders``). Stops earlier
    when every pair has met.
    """

    inner: Planner
    orders: int = 1

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """The next round, for every judge that is asked."""
        asks = self.inner.next_asks(state)
        if asks or not state.answered:
            return asks
        n = len(state.view.candidates)
        pairs = [done.ask for done in state.answered if len(done.ask.order) == 2]
        met = {frozenset(ask.order) for ask in pairs}
        left = (math.ceil(math.log2(n)) + 1) * math.ceil(n / 2) - len(met)
        if left <= 0 or all(value is None for value in state.scores.values):
            return ()
        # A candidate about which nothing is known is in the middle.
        ranked = sorted(range(n), key=lambda item: (-(state.scores.values[item] or 0.0), item))
        chosen = _unmet(ranked, met)[:left]
        found = [
            ask
            for slot in sorted({ask.slot for ask in pairs})
            for swapped in range(self.orders)
            for ask in _asks(chosen, swapped=bool(swapped), sample=0, slot=slot)
        ]
        return numbered(found, next_number(state))


def _neighbours(drawn: Sequence[int]) -> list[tuple[int, int]]:
    pairs = list(zip(drawn[::2], drawn[1::2], strict=False))
    return [*pairs, (drawn[-1], drawn[0])] if len(drawn) % 2 and len(drawn) > 1 else pairs


def _unmet(ranked: Sequence[int], met: set[frozenset[int]]) -> list[tuple[int, int]]:
    """From the top, each with the next below that it has not met; a candidate may remain."""
    free, pairs = list(ranked), []
    while len(free) > 1:
        first = free.pop(0)
        other = next((one for one in free if frozenset((first, one)) not in met), None)
        if other is not None:
            free.remove(other)
            pairs.append((first, other))
    return pairs


def _asks(pairs: Sequence[tuple[int, int]], *, swapped: bool, sample: int, slot: int) -> list[Ask]:
    """One ask a pair; who is shown first alternates down the ranking, so that the better is not always first."""
    asks: list[Ask] = []
    cause: Cause = "swap" if swapped else "first"
    for position, (one, other) in enumerate(pairs):
        shown = (other, one) if (position % 2 == 1) != swapped else (one, other)
        asks.append(Ask(len(asks), shown, shown, slot=slot, sample=sample, cause=cause))
    return asks
