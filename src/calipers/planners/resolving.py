"""Plans further questions until more calls would not change the ranking: presentations, or pairs in the other order.

Wrappers around all other planners, which plan nothing while any answer is still to be completed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from calipers.interfaces import Planner
from calipers.planners.first_asks import FirstAsks, ancestry_of_ask, answered_asks, next_ask_number, number_asks
from calipers.types import Ask, Comparison, PlanState, Reading

Verdict: TypeAlias = Literal["first", "second", "tie"]


@dataclass(frozen=True, slots=True)
class Resolving:
    """Plans what ``inner`` asks, and after that further presentations of ``first`` until ``should_stop``.

    ``should_stop`` gets the scores, and ``calls``: how many presentations led to them. Stops if a whole presentation
    brought no judgment: it is useless to ask a judge again that cannot answer.
    """

    inner: Planner
    first: FirstAsks
    should_stop: Callable[..., bool]

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan what ``inner`` asks, else the next presentation (cause "unresolved")."""
        asks = self.inner.next_asks(state)
        if asks or not state.answered:
            return asks
        size = len(self.first.presentation(state, 0))
        roots = [answer.ask.number for answer in state.answered if answer.ask.parent is None]
        calls = len(roots) // size
        if not _brought_judgments(state, roots[-size:]) or self.should_stop(state.scores, calls=calls):
            return ()
        more = (replace(ask, cause="unresolved") for ask in self.first.presentation(state, calls))
        return number_asks(more, next_ask_number(state))


def _brought_judgments(state: PlanState, roots: Sequence[int]) -> bool:
    """Return whether the asks ``roots``, or follow-ups to them, brought any judgments."""
    by_number = answered_asks(state)
    return any(
        answer.result.judgments and ancestry_of_ask(answer.ask, by_number)[-1].number in roots
        for answer in state.answered
        if isinstance(answer.result, Reading)
    )


@dataclass(frozen=True, slots=True)
class Swapping:
    """Plans what ``inner`` asks, then the other order of pairs whose first verdict may come from position bias.

    ``swap_shares`` has a function for each judge, by slot: of a verdict, the share of pairs whose other order is asked
    too. For a judge without one, both orders of every pair are asked.
    """

    inner: Planner
    swap_shares: Mapping[int, Callable[[Verdict], float]]

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan what ``inner`` asks, else one batch of swapped pairs (cause "swap")."""
        asks = self.inner.next_asks(state)
        if asks:
            return asks
        verdicts = [
            (judgment, answer.ask.sample)
            for answer in state.answered
            if isinstance(answer.result, Reading)
            for judgment in answer.result.judgments
            if isinstance(judgment, Comparison)
        ]
        known = {(comparison.slot, comparison.first, comparison.second) for comparison, _ in verdicts}
        asked = {(answer.ask.slot, *answer.ask.order) for answer in state.answered}
        swaps: list[Ask] = []
        for comparison, sample in verdicts:
            turned = (comparison.slot, comparison.second, comparison.first)
            if turned in known or turned in asked or not self._is_worth_it(comparison, state):
                continue
            known.add(turned)
            swaps.append(Ask(len(swaps), turned[1:], turned[1:], slot=comparison.slot, sample=sample, cause="swap"))
        return number_asks(swaps, next_ask_number(state))

    def _is_worth_it(self, one: Comparison, state: PlanState) -> bool:
        swap_share = self.swap_shares.get(one.slot)
        if swap_share is None:
            return True
        verdict: Verdict = "tie" if one.margin == 0 else "first" if one.margin > 0 else "second"
        pair = f"{state.view.digest}:{state.seed}:{one.slot}:{min(one.first, one.second)}:{max(one.first, one.second)}"
        return random.Random(pair).random() < swap_share(verdict)  # noqa: S311 - reproducible, not secret
