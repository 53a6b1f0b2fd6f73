"""First asks: each group shown in ``orders`` different orders, each of them ``samples`` times.

Not responsible for what to do with poor answers (``reask``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.planners.opening import opened
from calipers.types import Ask, Cause, PlanState


@dataclass(frozen=True, slots=True)
class Orders:
    """Plan ``orders * samples`` asks over all candidates, then nothing more.

    Orders come from a permutation seeded by the group's content, so no arrival order and no fixed position survives.
    They come in pairs, each followed by its reverse: a bias that is linear in the place cancels within a pair. Pair
    ``j`` is the permutation rotated by ``j``, so over all pairs each candidate takes each place equally often. When no
    order is left that was not shown, they come again as further samples.
    """

    orders: int = 1
    samples: int = 1

    @property
    def count(self) -> int:
        """Presentations asked at once."""
        return self.orders * self.samples

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """One ask: order ``index // samples``, in its sample ``index % samples``."""
        n = len(state.view.candidates)
        permutation = list(range(n))
        # Seeded from content and seed alone: "same input, same reward". Not cryptography.
        random.Random(f"{state.view.digest}:{state.seed}").shuffle(permutation)  # noqa: S311
        order, sample = divmod(index, self.samples)
        again, order = divmod(order, 2 * n if n > 2 else n)
        sample += again * self.samples
        cause: Cause = "sample" if sample else "order" if order else "first"
        return (Ask(index, tuple(range(n)), _shown(permutation, order), sample=sample, cause=cause),)

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """All first asks in one batch; empty once they were answered."""
        return opened(self, state)


def _shown(permutation: Sequence[int], order: int) -> tuple[int, ...]:
    pair = (order // 2) % len(permutation)
    shown = (*permutation[pair:], *permutation[:pair])
    return shown[::-1] if order % 2 else shown
