"""Plans the questions of a cascade: a judge is asked, and the next one if the judge is not sure of the group.

A wrapper around the planners of each judge's questions. A group goes to another judge as a whole: every judge is asked
as if it were alone, and the scores of the last judge asked count. Not responsible for when a judge is sure (the rule).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from calipers.interfaces import Planner
from calipers.planners.first_asks import next_ask_number, number_asks
from calipers.types import Ask, PlanState, Scores


class Rule(Protocol):
    """A rule that says whether the ``scores`` of the judge in ``slot`` count, or why another judge is asked."""

    def next_step(
        self, scores: Scores, slot: int, threshold: float, draw: str
    ) -> Literal["sure", "unsure", "unusable", "check"]: ...


@dataclass(frozen=True, slots=True)
class Cascade:
    """Plans what ``judges`` ask, one planner for each slot, in turn; ``rule`` says after which judge to stop.

    A judge whose threshold in ``PlanState.thresholds`` is None is not asked. A group drawn for a check goes to the last
    judge; any other group that a judge is not sure of, or did not score completely, goes to the next.
    """

    judges: tuple[Planner, ...]
    rule: Rule

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan which questions to ask next: those of the judge whose turn it is, or else the first of another judge."""
        last = len(self.judges) - 1
        slot = max((done.ask.slot for done in state.answered), default=self._next_slot(state, 0))
        asks = self._asks_of(slot, state)
        if asks or slot == last or not state.answered:
            return asks
        step = self.rule.next_step(state.scores, slot, state.thresholds[slot] or 0.0, check_draw(state, slot))
        if step == "sure":
            return ()
        slot = last if step == "check" else self._next_slot(state, slot + 1)
        return [replace(ask, cause=step) for ask in self._asks_of(slot, state)]

    def _next_slot(self, state: PlanState, first: int) -> int:
        """Return the first slot from ``first`` on that may be asked; the last slot always may."""
        thresholds = state.thresholds[first:]
        return next((first + place for place, one in enumerate(thresholds) if one is not None), len(self.judges) - 1)

    def _asks_of(self, slot: int, state: PlanState) -> Sequence[Ask]:
        """Return what a judge is asked next. Its planner sees only its own answers."""
        own = tuple(done for done in state.answered if done.ask.slot == slot)
        asks = self.judges[slot].next_asks(replace(state, answered=own))
        if not own:  # the planner numbers its first asks from 0
            asks = number_asks(asks, next_ask_number(state))
        return [replace(ask, slot=slot) for ask in asks]


def check_draw(state: PlanState, slot: int) -> str:
    """Return the text from which it is drawn whether the scores of the judge in ``slot`` are checked."""
    return f"{state.view.digest}:{state.seed}:check:{slot}"
