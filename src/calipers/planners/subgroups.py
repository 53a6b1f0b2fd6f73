"""First asks for groups too large for one question: overlapping parts of them, linked by shared candidates.

Every part rates two candidates that the other parts of its presentation rate as well; what a judge gives them there puts
the parts on one scale (``aggregators.two_way``). Not responsible for whether a part fits the context window.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.planners.opening import opened
from calipers.planners.orders import Orders
from calipers.types import Ask, Cause, PlanState

_LINKS = 2
"""Candidates that all parts share: one fixes the level, a second shows what is noise in it."""


@dataclass(frozen=True, slots=True)
class Subgroups:
    """As ``Orders``, with at most ``at_once`` candidates in a question; a group that is no larger is asked whole.

    Parts and links are drawn anew for each pair of presentations; the second of a pair shows each part in reverse.
    Raises ConfigError for less than 4 at once: two new ones beside the two links.
    """

    orders: int
    samples: int
    at_once: int

    def __post_init__(self) -> None:
        if self.at_once < _LINKS + 2:
            raise ConfigError(f"at_once={self.at_once}: a question takes {_LINKS + 2} candidates at least")

    @property
    def count(self) -> int:
        """Presentations asked at once."""
        return self.orders * self.samples

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """One ask for each part."""
        n = len(state.view.candidates)
        if n <= self.at_once:
            return Orders(self.orders, self.samples).presentation(state, index)
        order, sample = divmod(index, self.samples)
        generator = random.Random(f"{state.view.digest}:{state.seed}:parts:{order // 2}")  # noqa: S311 - no secret
        drawn = generator.sample(range(n), n)
        links, rest = drawn[:_LINKS], drawn[_LINKS:]
        asks: list[Ask] = []
        cause: Cause = "sample" if sample else "order" if order else "first"
        for part in _even(rest, self.at_once - _LINKS):
            shown = [*links, *part]
            generator.shuffle(shown)
            asked = tuple(shown[::-1] if order % 2 else shown)
            asks.append(Ask(len(asks), tuple(sorted(shown)), asked, sample=sample, cause=cause))
        return asks

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """All first asks in one batch; empty once they were answered."""
        return opened(self, state)


def _even(items: Sequence[int], most: int) -> list[Sequence[int]]:
    """``items`` in as few parts of at most ``most`` as possible, as equal in size as possible."""
    parts = -(-len(items) // most)
    size, larger = divmod(len(items), parts)
    cut, found = 0, []
    for part in range(parts):
        end = cut + size + (part < larger)
        found.append(items[cut:end])
        cut = end
    return found
