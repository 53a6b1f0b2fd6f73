"""Plans further questions until more calls would not change the ranking: presentations, or pairs in the other order.

Wrappers around all other planners, which plan nothing while any answer is still to be completed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from calipers.interfaces import Planner
from calipers.planners.first_asks import FirstAsks, ancestry_of_ask, answered_asks, next_ask_number, number_asks
from calipers.types import Ask, Comparison, PlanState, Reading, Scores


class Rule(Protocol):
    """A rule that says whether to stop asking after ``calls`` presentations that led to ``scores``."""

    def should_stop(self, scores: Scores, *, calls: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class Resolving:
    """Plans what ``inner`` asks, and after that further presentations of ``first`` until ``rule`` says to stop.

    Stops if a whole presentation brought no judgment: it is useless to ask a judge again that cannot answer.
    """

    inner: Planner
    first: FirstAsks
    rule: Rule

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan what ``inner`` asks, else the next presentation (cause "unresolved")."""
        asks = self.inner.next_asks(state)
        if asks or not state.answered:
            return asks
        size = len(self.first.presentation(state, 0))
        roots = [done.ask.number for done in state.answered if done.ask.parent is None]
        calls = len(roots) // size
        if not _brought_judgments(state, roots[-size:]) or self.rule.should_stop(state.scores, calls=calls):
            return ()
        more = (replace(ask, cause="unresolved") for ask in self.first.presentation(state, calls))
        return number_asks(more, next_ask_number(state))


def _brought_judgments(state: PlanState, roots: Sequence[int]) -> bool:
    """Return whether the asks ``roots``, or follow-ups to them, brought any judgments."""
    by_number = answered_asks(state)
    return any(
        done.result.judgments and ancestry_of_ask(done.ask, by_number)[-1].number in roots
        for done in state.answered
        if isinstance(done.result, Reading)
    )


class PairBias(Protocol):
    """A judge's position bias, which decides for what share of its verdicts the other order is asked too."""

    def swap_share(self, verdict: Literal["first", "second", "tie"]) -> float: ...


@dataclass(frozen=True, slots=True)
class Swapping:
    """Plans what ``inner`` asks, then the other order of pairs whose first verdict may come from position bias.

    ``bias`` is that of each judge, by slot. If it is unknown, both orders of every pair are asked.
    """

    inner: Planner
    bias: Mapping[int, PairBias]

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan what ``inner`` asks, else one batch of swapped pairs (cause "swap")."""
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
