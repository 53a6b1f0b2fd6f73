"""Asks on, a presentation at a time, until the group is settled.

A wrapper around the planner of everything else: nothing more is asked while an answer is still to be completed. Not
responsible for when a group is settled (the rule), nor for who is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from calipers.interfaces import Planner
from calipers.planners.opening import Opening, next_number, numbered
from calipers.types import Ask, PlanState, Reading, Scores


class Rule(Protocol):
    """Whether to stop after ``calls`` presentations that came to ``scores``."""

    def settled(self, scores: Scores, *, calls: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class Resolving:
    """What ``inner`` asks; once it is done, further presentations of ``opening`` while ``rule`` is not satisfied.

    Stops where a whole presentation brought nothing: a judge that cannot answer will not settle anything.
    """

    inner: Planner
    opening: Opening
    rule: Rule

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """The next presentation, with cause "unresolved"."""
        asks = self.inner.next_asks(state)
        if asks or not state.answered:
            return asks
        size = len(self.opening.presentation(state, 0))
        roots = [done.ask.number for done in state.answered if done.ask.parent is None]
        if not self._was_heard(state, roots[-size:]):
            return ()
        calls = len(roots) // size
        if self.rule.settled(state.scores, calls=calls):
            return ()
        more = (replace(ask, cause="unresolved") for ask in self.opening.presentation(state, calls))
        return numbered(more, next_number(state))

    def _was_heard(self, state: PlanState, roots: Sequence[int]) -> bool:
        """Whether the asks ``roots``, or what followed them, brought anything."""
        reached = set(roots)
        heard = False
        for done in state.answered:
            if done.ask.number in reached or done.ask.parent in reached:
                reached.add(done.ask.number)
                heard = heard or (isinstance(done.result, Reading) and bool(done.result.judgments))
        return heard
