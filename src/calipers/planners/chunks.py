"""Plans the first questions about a group that is too large for one question: overlapping chunks.

Every chunk contains two candidates that the other chunks of its presentation contain as well. Their ratings put the
chunks on one scale (``aggregators.two_way``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from calipers.errors import ConfigError
from calipers.planners.first_asks import Orders, Presentations, cause_of_ask
from calipers.types import Ask, PlanState

_SHARED = 2
"""How many candidates all chunks share. A single shared candidate suffices for a common scale; a second reduces the
noise of that scale.
"""


@dataclass(frozen=True, slots=True)
class Chunks(Presentations):
    """Plans questions in several orders as ``Orders`` does, but with at most ``at_once`` candidates in a question.

    A group of at most ``at_once`` candidates is asked about as a whole. Chunks and shared candidates are drawn anew for
    each pair of presentations; the second presentation of a pair shows each chunk in reverse order. Raises ConfigError
    if ``at_once`` is less than 4: a chunk needs two shared candidates and at least two others.
    """

    at_once: int = 0

    def __post_init__(self) -> None:
        if self.at_once < _SHARED + 2:
            raise ConfigError(f"at_once={self.at_once}: a question takes {_SHARED + 2} candidates at least")

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan which questions to ask next: one for each chunk of the group."""
        n = len(state.view.candidates)
        if n <= self.at_once:
            return Orders(self.orders, self.samples).presentation(state, index)
        order, sample = divmod(index, self.samples)
        generator = random.Random(f"{state.view.digest}:{state.seed}:parts:{order // 2}")  # noqa: S311 - not secret
        drawn = generator.sample(range(n), n)
        shared, rest = drawn[:_SHARED], drawn[_SHARED:]
        asks: list[Ask] = []
        for chunk in _even_chunks(rest, self.at_once - _SHARED):
            shown = [*shared, *chunk]
            generator.shuffle(shown)
            in_order = tuple(shown[::-1] if order % 2 else shown)
            asks.append(
                Ask(len(asks), tuple(sorted(shown)), in_order, sample=sample, cause=cause_of_ask(order, sample))
            )
        return asks


def _even_chunks(items: Sequence[int], most: int) -> list[Sequence[int]]:
    """Split candidates into the fewest chunks of at most ``most`` candidates, as equal in size as possible."""
    chunks = -(-len(items) // most)
    size, larger = divmod(len(items), chunks)
    cuts = [size * chunk + min(chunk, larger) for chunk in range(chunks + 1)]
    return [items[start:end] for start, end in pairwise(cuts)]
