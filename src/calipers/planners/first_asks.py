"""Plans the first questions about a group, before any answer, in presentations.

A presentation shows the whole group to a judge once: in one order, one sample or one round. It consists of one question
about all candidates (``Orders``), or of one question about each (``Rounds``).
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from calipers.types import Ask, Cause, PlanState


class FirstAsks(ABC):
    """A planner whose first questions are ``count`` presentations, and which can plan further presentations."""

    __slots__ = ()

    @property
    @abstractmethod
    def count(self) -> int:
        """Return the number of presentations that are asked at once."""

    @abstractmethod
    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan which questions to ask next: those of presentation ``index`` (0, 1, ... endless).

        The caller numbers them.
        """

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan which questions to ask next: the first ``count`` presentations in one batch; none if any is answered."""
        if state.answered:
            return ()
        asks: list[Ask] = []
        for index in range(self.count):
            asks += self.presentation(state, index)
        return asks if len(asks) == 1 else number_asks(asks, 0)


@dataclass(frozen=True, slots=True)
class Presentations(FirstAsks):
    """Plans the first questions in ``orders`` different orders of the candidates, each of them ``samples`` times."""

    orders: int = 1
    samples: int = 1

    @property
    def count(self) -> int:
        """Return the number of presentations that are asked at once."""
        return self.orders * self.samples


class Orders(Presentations):
    """Plans one question about all candidates in each presentation.

    Orders come from a permutation seeded by the group's content, so that neither arrival order nor a fixed position has
    an effect. They come in pairs, an order and its reverse: position bias that is linear in the position cancels within
    a pair. Pair ``j`` is the permutation rotated by ``j``, so over all pairs each candidate has each position equally
    often. After every order was used, the orders are used again as further samples.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan which question to ask next: one about all candidates.

        It is that of order ``index // samples`` and sample ``index % samples``.
        """
        n = len(state.view.candidates)
        order, sample = divmod(index, self.samples)
        again, order = divmod(order, 2 * n if n > 2 else n)
        sample += again * self.samples
        shown = rotated_order(shuffled_candidates(state), order)
        return (Ask(index, tuple(range(n)), tuple(shown), sample=sample, cause=cause_of_ask(order, sample)),)


class Rounds(Presentations):
    """Plans one question about each candidate in each presentation; orders count as samples.

    A question about a single candidate has no order. The ratings of one round share ``Ask.presentation``, so that
    rounds are averaged like listwise answers.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan which questions to ask next: one about each candidate of the group."""
        return [
            Ask(item, (item,), (item,), sample=index, cause=cause_of_ask(0, index), presentation=index)
            for item in range(len(state.view.candidates))
        ]


def cause_of_ask(order: int, sample: int, *, further: Cause = "order") -> Cause:
    """Return why a planner asks a question: it is the first of its kind, a ``further`` order, or a repeated sample."""
    return "sample" if sample else further if order else "first"


def shuffled_candidates(state: PlanState) -> list[int]:
    """Return all candidates in the planner's order, which is drawn from the group's content and the seed."""
    permutation = list(range(len(state.view.candidates)))
    random.Random(f"{state.view.digest}:{state.seed}").shuffle(permutation)  # noqa: S311 - reproducible, not secret
    return permutation


def rotated_order(permutation: Sequence[int], order: int) -> Sequence[int]:
    """Return a planner's order number ``order``: rotations of ``permutation`` in turn, each followed by its reverse."""
    start = (order // 2) % len(permutation)
    shown = [*permutation[start:], *permutation[:start]]
    return shown[::-1] if order % 2 else shown


def number_asks(asks: Iterable[Ask], start: int) -> list[Ask]:
    """Return the planner's ``asks`` with the numbers ``start``, ``start + 1``, ..."""
    return [ask if ask.number == number else replace(ask, number=number) for number, ask in enumerate(asks, start)]


def next_ask_number(state: PlanState, asks: Sequence[Ask] = ()) -> int:
    """Return the number of the planner's next ask, given the answered asks and ``asks``, which are planned already."""
    return max([-1, *(done.ask.number for done in state.answered), *(ask.number for ask in asks)]) + 1


def answered_asks(state: PlanState) -> dict[int, Ask]:
    """Return the planner's asks that were answered, by number."""
    return {done.ask.number: done.ask for done in state.answered}


def ancestry_of_ask(ask: Ask, by_number: Mapping[int, Ask]) -> list[Ask]:
    """Return the planner's ``ask``, the ask that made it necessary (its parent), and so on to the first ask."""
    asks = [ask]
    while asks[-1].parent is not None:
        asks.append(by_number[asks[-1].parent])
    return asks
