"""Asks a pair in its other order where one order's verdict is what the judge leans to anyway.

A wrapper around the planner of everything else. Not responsible for what is known of a judge's leaning: ``leaning`` tells
it by slot, and a judge about whom nothing is known is asked both orders of every pair.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from calipers.interfaces import Planner
from calipers.planners.opening import next_number, numbered
from calipers.types import Ask, Comparison, PlanState, Reading


class Leaning(Protocol):
    """Of pairs with this verdict, the share (0-1) whose other order is worth asking."""

    def swap_share(self, said: Literal["first", "second", "tie"]) -> float: ...


@dataclass(frozen=True, slots=True)
class Swapping:
    """What ``inner`` asks; once it is done, the other order of the pairs for which it is worth its price."""

    inner: Planner
    leaning: Mapping[int, Leaning]

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """One batch of swapped pairs, with cause "swap"."""
        asks = self.inner.next_asks(state)
        if asks:
            return asks
        said = [
            (one, done.ask.sample)
            for done in state.answered
            if isinstance(done.result, Reading)
            for one in done.result.judgments
            if isinstance(one, Comparison)
        ]
        known = {(one.slot, one.first, one.second) for one, _ in said}
        asked = {(done.ask.slot, *done.ask.order) for done in state.answered}
        swaps = []
        for one, sample in said:
            turned = (one.slot, one.second, one.first)
            if turned in known or turned in asked or not self._is_worth_it(one, state):
                continue
            known.add(turned)
            swaps.append(Ask(0, turned[1:], turned[1:], slot=one.slot, sample=sample, cause="swap"))
        return numbered(swaps, next_number(state))

    def _is_worth_it(self, one: Comparison, state: PlanState) -> bool:
        leaning = self.leaning.get(one.slot)
        if leaning is None:
            return True
        verdict: Literal["first", "second", "tie"] = (
            "tie" if one.margin == 0 else "first" if one.margin > 0 else "second"
        )
        pair = f"{state.view.digest}:{state.seed}:{one.slot}:{min(one.first, one.second)}:{max(one.first, one.second)}"
        return random.Random(pair).random() < leaning.swap_share(verdict)  # noqa: S311 - seeded by content, no secret
