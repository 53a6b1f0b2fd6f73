"""Asks again, shortened, what turned out to be too long for the judge's context window.

A wrapper around any planner. Not responsible for shortening (``render``), nor for windows known beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calipers.interfaces import Planner
from calipers.planners.opening import next_number
from calipers.types import Ask, Failure, PlanState

_MOST = 3
"""Refits of one question: of several servers behind a judge, each may have a smaller window than the one before."""


@dataclass(frozen=True, slots=True)
class Refit:
    """Follow each refusal that taught the window's size with the same ask, to be put within it; again only where that
    was refused for a smaller window still.
    """

    inner: Planner

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """What the inner planner asks, then the refused asks once more."""
        asks = list(self.inner.next_asks(state))
        if not any(isinstance(done.result, Failure) and done.result.window for done in state.answered):
            return asks
        number = next_number(state, asks)
        followed = {done.ask.parent for done in state.answered} | {ask.parent for ask in asks}
        by_number = {done.ask.number: done.ask for done in state.answered}
        for done in state.answered:
            ask, result = done.ask, done.result
            if isinstance(result, Failure) and result.window and ask.number not in followed:
                smaller = ask.window is None or result.window.tokens < ask.window.tokens
                if smaller and _refits(ask, by_number) < _MOST:
                    asks.append(replace(ask, number=number, parent=ask.number, cause="window", window=result.window))
                    number += 1
        return asks


def _refits(ask: Ask, by_number: Mapping[int, Ask]) -> int:
    """How many refits in a row led to this ask."""
    count = 0
    while ask.cause == "window" and ask.parent is not None:
        count, ask = count + 1, by_number[ask.parent]
    return count
