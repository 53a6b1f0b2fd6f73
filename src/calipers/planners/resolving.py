"""Asks for one more presentation at a time, until more calls would not change the ranking.

A wrapper around all other planners: nothing more is asked while an answer is still to be completed. Not responsible for
the rule that says when to stop, nor for which judge is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from calipers.interfaces import Planner
from calipers.planners.first_asks import FirstAsks, ancestry, asked, next_number, numbered
from calipers.types import Ask, PlanState, Reading, Scores


class Rule(Protocol):
    """Whether to stop after ``calls`` presentations that led to ``scores``."""

    def is_settled(self, scores: Scores, *, calls: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class Resolving:
    """What ``inner`` asks; once it is done, further presentations of ``first`` until ``rule`` is satisfied.

    Stops when a whole presentation brought no judgment: asking a judge that cannot answer once more is no use.
    """

    inner: Planner
    first: FirstAsks
    rule: Rule

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """The next presentation, with cause "unresolved"."""
        asks = self.inner.next_asks(state)
        if asks or not state.answered:
            return asks
        size = len(self.first.presentation(state, 0))
        roots = [done.ask.number for done in state.answered if done.ask.parent is None]
        calls = len(roots) // size
        if not _brought_judgments(state, roots[-size:]) or self.rule.is_settled(state.scores, calls=calls):
            return ()
        more = (replace(ask, cause="unresolved") for ask in self.first.presentation(state, calls))
        return numbered(more, next_number(state))


def _brought_judgments(state: PlanState, roots: Sequence[int]) -> bool:
    """Whether the asks ``roots``, or what followed them, brought any."""
    by_number = asked(state)
    return any(
        done.result.judgments and ancestry(done.ask, by_number)[-1].number in roots
        for done in state.answered
        if isinstance(done.result, Reading)
    )
