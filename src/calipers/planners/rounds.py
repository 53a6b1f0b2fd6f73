"""First asks one candidate at a time, for pointwise judging: ``samples`` rounds over the group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.planners.opening import opened
from calipers.types import Ask, PlanState


@dataclass(frozen=True, slots=True)
class Rounds:
    """Plan one ask for each candidate and round. ``orders`` times ``samples`` rounds: a lone candidate has no order.

    The ratings of one round belong together (``Ask.presentation``), so that rounds average like listwise answers.
    """

    orders: int = 1
    samples: int = 1

    @property
    def count(self) -> int:
        """Rounds asked at once."""
        return self.orders * self.samples

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """One ask for each candidate."""
        return [
            Ask(item, (item,), (item,), sample=index, cause="sample" if index else "first", presentation=index)
            for item in range(len(state.view.candidates))
        ]

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """All first asks in one batch; empty once they were answered."""
        return opened(self, state)
