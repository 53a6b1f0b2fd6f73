"""First asks: each group shown in ``orders`` different orders, each of them ``samples`` times.

Not responsible for what to do with poor answers (``reask``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.types import Ask, Cause, PlanState


@dataclass(frozen=True, slots=True)
class Orders:
    """Plan ``orders * samples`` asks over all candidates, then nothing more.

    Orders come from a permutation seeded by the group's content, so no arrival order and no fixed position survives.
    They come in pairs, each followed by its reverse: a bias that is linear in the place cancels within a pair. Pair
    ``j`` is the permutation rotated by ``j``, so over all pairs each candidate takes each place equally often.
    """

    orders: int = 1
    samples: int = 1

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """All first asks in one batch; empty once they were answered."""
        if state.answered:
            return ()
        n = len(state.view.candidates)
        permutation = list(range(n))
        # Seeded from content and seed alone: "same input, same reward". Not cryptography.
        random.Random(f"{state.view.digest}:{state.seed}").shuffle(permutation)  # noqa: S311
        members = tuple(range(n))
        asks: list[Ask] = []
        for order in range(self.orders):
            shown = _presentation(permutation, order)
            for sample in range(self.samples):
                cause: Cause = "sample" if sample else "order" if order else "first"
                asks.append(Ask(len(asks), members, shown, sample=sample, cause=cause))
        return asks


def _presentation(permutation: Sequence[int], order: int) -> tuple[int, ...]:
    pair = (order // 2) % len(permutation)
    shown = (*permutation[pair:], *permutation[:pair])
    return shown[::-1] if order % 2 else shown
