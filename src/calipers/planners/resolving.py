"""Plans one further presentation at a time, until more calls would not change the ranking.

A wrapper around all other planners: it plans nothing while any answer is still to be completed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from calipers.interfaces import Planner
from calipers.planners.first_asks import FirstAsks, ancestry_of_ask, answered_asks, next_ask_number, number_asks
from calipers.types import Ask, PlanState, Reading, Scores


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
        """Plan which questions to ask next: those of ``inner``, else the next presentation (cause "unresolved")."""
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
