"""Asks again, once and shortened, what turned out to be too long for the judge's context window.

A wrapper around any planner. Not responsible for shortening (``render``), nor for windows known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calipers.interfaces import Planner
from calipers.planners.opening import next_number
from calipers.types import Ask, Failure, PlanState


@dataclass(frozen=True, slots=True)
class Refit:
    """Follow each refusal that taught the window's size with the same ask, to be put within it; never twice in a row."""

    inner: Planner

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """What the inner planner asks, then the refused asks once more."""
        asks = list(self.inner.next_asks(state))
        if not any(isinstance(done.result, Failure) and done.result.window for done in state.answered):
            return asks
        number = next_number(state, asks)
        followed = {done.ask.parent for done in state.answered} | {ask.parent for ask in asks}
        for done in state.answered:
            ask, result = done.ask, done.result
            if isinstance(result, Failure) and result.window and ask.window is None and ask.number not in followed:
                asks.append(replace(ask, number=number, parent=ask.number, cause="window", window=result.window))
                number += 1
        return asks
