"""Plans to ask about a pair again in the other order if the first verdict may come from position bias.

A wrapper around all other planners. If the bias of a judge is unknown, both orders of every pair are asked.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from calipers.interfaces import Planner
from calipers.planners.first_asks import next_ask_number, number_asks
from calipers.types import Ask, Comparison, PlanState, Reading


class PairBias(Protocol):
    """A judge's position bias, which decides for what share of its verdicts the other order is asked too."""

    def swap_share(self, verdict: Literal["first", "second", "tie"]) -> float: ...


@dataclass(frozen=True, slots=True)
class Swapping:
    """Plans what ``inner`` asks, then the other order of pairs if the judge's ``bias`` (by slot) justifies a call."""

    inner: Planner
    bias: Mapping[int, PairBias]

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan which questions to ask next: those of ``inner``, else one batch of swapped pairs (cause "swap")."""
        asks = self.inner.next_asks(state)
        if asks:
            return asks
        verdicts = [
            (one, done.ask.sample)
            for done in state.answered
            if isinstance(done.result, Reading)
            for one in done.result.judgments
            if isinstance(one, Comparison)
        ]
        known = {(one.slot, one.first, one.second) for one, _ in verdicts}
        asked = {(done.ask.slot, *done.ask.order) for done in state.answered}
        swaps: list[Ask] = []
        for one, sample in verdicts:
            turned = (one.slot, one.second, one.first)
            if turned in known or turned in asked or not self._is_worth_it(one, state):
                continue
            known.add(turned)
            swaps.append(Ask(len(swaps), turned[1:], turned[1:], slot=one.slot, sample=sample, cause="swap"))
        return number_asks(swaps, next_ask_number(state))

    def _is_worth_it(self, one: Comparison, state: PlanState) -> bool:
        bias = self.bias.get(one.slot)
        if bias is None:
            return True
        verdict: Literal["first", "second", "tie"] = (
            "tie" if one.margin == 0 else "first" if one.margin > 0 else "second"
        )
        pair = f"{state.view.digest}:{state.seed}:{one.slot}:{min(one.first, one.second)}:{max(one.first, one.second)}"
        return random.Random(pair).random() < bias.swap_share(verdict)  # noqa: S311 - reproducible, not secret
