"""First asks one candidate at a time, for pointwise judging: ``samples`` rounds over the group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.types import Ask, PlanState


@dataclass(frozen=True, slots=True)
class Rounds:
    """Plan one ask for each candidate and round. ``orders`` times ``samples`` rounds: a lone candidate has no order.

    The ratings of one round belong together (``Ask.presentation``), so that rounds average like listwise answers.
    """

    orders: int = 1
    samples: int = 1

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """All first asks in one batch; empty once they were answered."""
        if state.answered:
            return ()
        n = len(state.view.candidates)
        return [
            Ask(
                n * sample + item,
                (item,),
                (item,),
                sample=sample,
                cause="sample" if sample else "first",
                presentation=sample,
            )
            for sample in range(self.orders * self.samples)
            for item in range(n)
        ]
