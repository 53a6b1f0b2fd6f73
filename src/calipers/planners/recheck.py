"""Asks again, in another order, what a canary made worthless; and asks on where one had a question of its own and lost.

A wrapper around any planner. Not responsible for canaries themselves (``probes.canary``); which verdict one won stands in
its reading.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from calipers.interfaces import Planner
from calipers.planners.opening import next_number
from calipers.types import Ask, PlanState, Reading


@dataclass(frozen=True, slots=True)
class Recheck:
    """Follow each verdict that a canary won with the same question in a new order, at most ``limit`` times in a row.

    It goes to the next of ``judges`` judges that share the work; a gap in one judge's answer, to the same one again. A judge
    that passed a test is asked what it was tested for.
    """

    inner: Planner
    limit: int = 1
    judges: int = 1

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """What the inner planner asks, then one more question for each such verdict, and each test that was passed."""
        asks = list(self.inner.next_asks(state))
        tested = [(done.ask, done.result.canary) for done in state.answered if isinstance(done.result, Reading)]
        due = [(ask, canary.won) for ask, canary in tested if canary is not None and (canary.won or canary.alone)]
        if not due:
            return asks
        by_number = {done.ask.number: done.ask for done in state.answered}
        followed = {done.ask.parent for done in state.answered}
        number = next_number(state, asks)
        for ask, won in due:
            if ask.number in followed or (won and _repeated(ask, by_number) >= self.limit):
                continue
            asks.append(self._again(ask, number, state) if won else _itself(ask, number))
            number += 1
        return asks

    def _again(self, ask: Ask, number: int, state: PlanState) -> Ask:
        order = list(ask.order)
        random.Random(f"{state.view.digest}:{state.seed}:{number}").shuffle(order)  # noqa: S311 - a seeded order
        if tuple(order) == ask.order:
            order.reverse()
        slot = (ask.slot + 1) % self.judges if self.judges > 1 and not ask.anchors else ask.slot
        return replace(ask, number=number, parent=ask.number, cause="canary", order=tuple(order), slot=slot)


def _itself(ask: Ask, number: int) -> Ask:
    """The question that was tested for, of the judge that passed."""
    presentation = ask.number if ask.presentation is None else ask.presentation
    return replace(ask, number=number, parent=ask.number, cause="tested", presentation=presentation)


def _repeated(ask: Ask, by_number: dict[int, Ask]) -> int:
    """How often this question was asked again for a canary's sake, one time after the other."""
    times = 0
    while ask.cause == "canary" and ask.parent is not None:
        times += 1
        ask = by_number[ask.parent]
    return times
