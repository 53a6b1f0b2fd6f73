"""Asks about a pair in its other order where the first verdict may be position bias.

A wrapper around all other planners. Not responsible for learning a judge's bias: of a judge whose bias is unknown, both
orders of every pair are asked.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from calipers.interfaces import Planner
from calipers.planners.first_asks import next_number, numbered
from calipers.types import Ask, Comparison, PlanState, Reading


class PairBias(Protocol):
    """Of pairs with this verdict, the share (0-1) whose other order is worth asking."""

    def swap_share(self, said: Literal["first", "second", "tie"]) -> float: ...


@dataclass(frozen=True, slots=True)
class Swapping:
    """What ``inner`` asks; then the other order of the pairs for which ``bias`` (by slot) says that it is worth a
    call.
    """

    inner: Planner
    bias: Mapping[int, PairBias]

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
        bias = self.bias.get(one.slot)
        if bias is None:
            return True
        verdict: Literal["first", "second", "tie"] = (
            "tie" if one.margin == 0 else "first" if one.margin > 0 else "second"
        )
        pair = f"{state.view.digest}:{state.seed}:{one.slot}:{min(one.first, one.second)}:{max(one.first, one.second)}"
        return random.Random(pair).random() < bias.swap_share(verdict)  # noqa: S311 - reproducible, not secret
