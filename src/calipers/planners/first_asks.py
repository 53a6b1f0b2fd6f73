"""First asks, planned before anything was answered, in presentations; and the two ways of a whole group or one at a
time.

A presentation puts the whole group to a judge once: in one order, one sample or one round. Not responsible for what to
do with the answers (``follow_ups``).
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from calipers.types import Ask, Cause, PlanState


class FirstAsks(ABC):
    """A Planner whose first asks are ``count`` presentations, and which can plan further ones."""

    __slots__ = ()

    @property
    @abstractmethod
    def count(self) -> int:
        """Presentations that are asked at once."""

    @abstractmethod
    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """The asks of presentation ``index`` (0, 1, ... without end), numbered from 0."""

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """The first ``count`` presentations in one batch; nothing once something was answered."""
        if state.answered:
            return ()
        return numbered((ask for index in range(self.count) for ask in self.presentation(state, index)), 0)


@dataclass(frozen=True, slots=True)
class Presentations(FirstAsks):
    """First asks in ``orders`` different orders, each of them ``samples`` times."""

    orders: int = 1
    samples: int = 1

    @property
    def count(self) -> int:
        """Presentations that are asked at once."""
        return self.orders * self.samples


class Orders(Presentations):
    """One ask about all candidates in each presentation.

    Orders come from a permutation seeded by the group's content, so that neither arrival order nor a fixed position has
    an effect. They come in pairs, an order and its reverse: position bias that is linear in the position cancels within
    a pair. Pair ``j`` is the permutation rotated by ``j``, so over all pairs each candidate has each position equally
    often. When every order was used, they come again as further samples.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """One ask: order ``index // samples``, in its sample ``index % samples``."""
        n = len(state.view.candidates)
        order, sample = divmod(index, self.samples)
        again, order = divmod(order, 2 * n if n > 2 else n)
        sample += again * self.samples
        shown = rotated(shuffled(state), order)
        return (Ask(index, tuple(range(n)), tuple(shown), sample=sample, cause=cause_of(order, sample)),)


class Rounds(Presentations):
    """One ask about each candidate in each presentation; a lone candidate has no order, so orders are samples here.

    The ratings of one round belong together (``Ask.presentation``), so that rounds are averaged like listwise answers.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """One ask for each candidate."""
        return [
            Ask(item, (item,), (item,), sample=index, cause=cause_of(0, index), presentation=index)
            for item in range(len(state.view.candidates))
        ]


def cause_of(order: int, sample: int, *, further: Cause = "order") -> Cause:
    """Why an ask is planned: the first of its kind, a ``further`` order, or a repeat."""
    return "sample" if sample else further if order else "first"


def shuffled(state: PlanState) -> list[int]:
    """All candidates in an order drawn from the group's content and the seed."""
    permutation = list(range(len(state.view.candidates)))
    random.Random(f"{state.view.digest}:{state.seed}").shuffle(permutation)  # noqa: S311 - reproducible, not secret
    return permutation


def rotated(permutation: Sequence[int], order: int) -> Sequence[int]:
    """Order number ``order`` of a permutation: rotations in turn, each followed by its reverse."""
    start = (order // 2) % len(permutation)
    shown = [*permutation[start:], *permutation[:start]]
    return shown[::-1] if order % 2 else shown


def numbered(asks: Iterable[Ask], start: int) -> list[Ask]:
    """``asks`` with the numbers ``start``, ``start + 1``, ..."""
    return [ask if ask.number == number else replace(ask, number=number) for number, ask in enumerate(asks, start)]


def next_number(state: PlanState, asks: Sequence[Ask] = ()) -> int:
    """The number of the next ask, after those answered and those already planned."""
    return max([-1, *(done.ask.number for done in state.answered), *(ask.number for ask in asks)]) + 1


def asked(state: PlanState) -> dict[int, Ask]:
    """The asks that were answered, by number."""
    return {done.ask.number: done.ask for done in state.answered}


def ancestry(ask: Ask, by_number: Mapping[int, Ask]) -> list[Ask]:
    """The ask, the ask that made it necessary, and so on to the first."""
    asks = [ask]
    while asks[-1].parent is not None:
        asks.append(by_number[asks[-1].parent])
    return asks
