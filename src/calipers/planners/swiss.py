"""Pairs in rounds, as in a Swiss tournament: who stands near one another after a round meets in the next.

Comparisons of near-equals say most, and n log n of them order a group. A wrapper around the planner of everything else:
``inner`` asks the first round (``FirstRound``) and completes poor answers; each further round waits for that. Not responsible
for what the comparisons come to.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.interfaces import Planner
from calipers.planners.opening import next_number, numbered, opened
from calipers.planners.pairs import require_two_orders
from calipers.types import Ask, Cause, PlanState


@dataclass(frozen=True, slots=True)
class FirstRound:
    """Neighbours of an order drawn by the group's content meet; with ``orders=2`` also the other way round.

    Of an odd number one meets two.
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
        """One ask a pair."""
        sample, swapped = divmod(index, self.orders)
        seats = list(range(len(state.view.candidates)))
        random.Random(f"{state.view.digest}:{state.seed}").shuffle(seats)  # noqa: S311 - seeded by content, no secret
        return _asks(_neighbours(seats), swapped=bool(swapped), sample=sample, slot=0)

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """All first asks in one batch; empty once they were answered."""
        return opened(self, state)


@dataclass(frozen=True, slots=True)
class Swiss:
    """What ``inner`` asks, then round by round until everybody could meet ``ceil(log2 n) + 1`` others, or has nobody left.

    Each round pairs from the top those that have not met, in one order or in both (``orders``).
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
        standing = sorted(range(n), key=lambda item: (-_value(state, item), item))
        chosen = _unmet(standing, met)[:left]
        slots = sorted({ask.slot for ask in pairs})
        found = [
            ask
            for slot in slots
            for swapped in range(self.orders)
            for ask in _asks(chosen, swapped=bool(swapped), sample=0, slot=slot)
        ]
        return numbered(found, next_number(state))


def _value(state: PlanState, item: int) -> float:
    """A candidate's strength so far; nothing known is the middle."""
    value = state.scores.values[item]
    return 0.0 if value is None else value


def _neighbours(seats: Sequence[int]) -> list[tuple[int, int]]:
    pairs = [(seats[place], seats[place + 1]) for place in range(0, len(seats) - 1, 2)]
    return [*pairs, (seats[-1], seats[0])] if len(seats) % 2 and len(seats) > 1 else pairs


def _unmet(standing: Sequence[int], met: set[frozenset[int]]) -> list[tuple[int, int]]:
    """From the top, each with the next below that it has not met; somebody may be left over."""
    free, pairs = list(standing), []
    while len(free) > 1:
        first = free.pop(0)
        other = next((one for one in free if frozenset((first, one)) not in met), None)
        if other is not None:
            free.remove(other)
            pairs.append((first, other))
    return pairs


def _asks(pairs: Sequence[tuple[int, int]], *, swapped: bool, sample: int, slot: int) -> list[Ask]:
    """One ask a pair; who stands first alternates down the table, so that the better is not always first."""
    asks: list[Ask] = []
    cause: Cause = "swap" if swapped else "first"
    for place, (one, other) in enumerate(pairs):
        shown = (other, one) if (place % 2 == 1) != swapped else (one, other)
        asks.append(Ask(len(asks), shown, shown, slot=slot, sample=sample, cause=cause))
    return asks
