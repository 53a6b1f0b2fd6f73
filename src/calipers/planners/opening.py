"""First asks, a presentation at a time: what planners that ask a group in several ways share.

A presentation is one way of putting the whole group to a judge: one order, one sample, one round. Not responsible for
what to do with the answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from calipers.types import Ask, PlanState


class Opening(Protocol):
    """A Planner whose first asks are ``count`` presentations, and which can go on with further ones."""

    @property
    def count(self) -> int:
        """Presentations that are asked at once."""
        ...

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """The asks of presentation ``index`` (0, 1, ... without end), numbered from 0."""
        ...

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """The first ``count`` presentations in one batch; then, what failed answers make necessary."""
        ...


def opened(planner: Opening, state: PlanState) -> Sequence[Ask]:
    """The asks of a planner's first presentations, before anything was answered; empty afterwards."""
    if state.answered:
        return ()
    return numbered((ask for index in range(planner.count) for ask in planner.presentation(state, index)), 0)


def numbered(asks: Iterable[Ask], start: int) -> list[Ask]:
    """``asks`` with the numbers ``start``, ``start + 1``, ..."""
    return [ask if ask.number == number else replace(ask, number=number) for number, ask in enumerate(asks, start)]


def next_number(state: PlanState, asks: Sequence[Ask] = ()) -> int:
    """The number of the next ask, after those answered and those already planned."""
    return max([-1, *(done.ask.number for done in state.answered), *(ask.number for ask in asks)]) + 1
