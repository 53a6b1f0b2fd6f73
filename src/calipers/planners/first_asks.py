"""Plans the first questions about a group, before any answer, in presentations.

A presentation shows the whole group to a judge once: in one order, one sample or one round. It consists of one question
about all candidates (``Orders``), of overlapping ones about a few (``Chunks``), or of one about each candidate
(``Rounds``) or each pair (``Pairs``).
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from calipers.rubric import Grading
from calipers.rubric.formulas import criteria_for_judge
from calipers.types import Ask, Cause, Criterion, PlanState

_SHARED = 2
"""How many candidates all chunks share. One suffices for a common scale; a second reduces the noise of that scale."""


class FirstAsks(ABC):
    """A planner whose first questions are ``count`` presentations, and which can plan further presentations."""

    __slots__ = ()

    @property
    @abstractmethod
    def count(self) -> int:
        """Return the number of presentations that are asked at once."""

    @abstractmethod
    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan the questions of presentation ``index`` (0, 1, ... endless); the caller numbers them."""

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan the first ``count`` presentations in one batch; none if any is answered."""
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
        """Plan the question of order ``index // samples`` and sample ``index % samples``."""
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
        """Plan one question about each candidate of the group."""
        return [
            Ask(item, (item,), (item,), sample=index, cause=cause_of_ask(0, index), presentation=index)
            for item in range(len(state.view.candidates))
        ]


@dataclass(frozen=True, slots=True)
class Chunks(Presentations):
    """Plans questions in several orders as ``Orders`` does, but with at most ``at_once`` candidates in a question.

    All chunks of a presentation share two candidates, whose ratings put the chunks on one scale
    (``aggregators.two_way``). Chunks and shared candidates are drawn anew for each pair of presentations; the second
    presentation of a pair shows each chunk in reverse order.
    """

    at_once: int = 0

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan one question about each chunk of the group."""
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


@dataclass(frozen=True, slots=True)
class Pairs(Presentations):
    """Plans n (n - 1) / 2 comparisons of n candidates in each presentation.

    With one order, each candidate is shown first in half of its pairs, or in one more or less than half; with
    ``orders=2``, each pair is also shown in its other order.
    """

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan a comparison of every pair of candidates, which the second order shows swapped."""
        swapped, sample = self._swap_and_sample(index)
        drawn = shuffled_candidates(state)
        n = len(drawn)
        asks: list[Ask] = []
        for low in range(n):
            for high in range(low + 1, n):
                # Put the candidates on a circle. In each pair, candidate A is shown first if the way from A to B is
                # shorter clockwise than the way from B to A. So each candidate is first equally often.
                ahead = (high - low) * 2 < n or ((high - low) * 2 == n and low % 2 == 0)
                pair = (drawn[low], drawn[high]) if ahead else (drawn[high], drawn[low])
                shown = pair[::-1] if swapped else pair
                cause = cause_of_ask(swapped, sample, further="swap")
                asks.append(Ask(len(asks), shown, shown, sample=sample, cause=cause))
        return asks

    def _swap_and_sample(self, index: int) -> tuple[bool, int]:
        """Return whether presentation ``index`` shows pairs swapped, and its sample. Later ones alternate orders."""
        if index < self.count:
            order, sample = divmod(index, self.samples)
            return bool(order), sample
        if self.orders == 1 and index < 2 * self.samples:
            return True, index - self.samples
        sample, order = divmod(index, 2)
        return bool(order), sample


def cause_of_ask(order: int, sample: int, *, further: Cause = "order") -> Cause:
    """Return why a question is asked: it is the first of its kind, a ``further`` order, or a repeated sample."""
    return "sample" if sample else further if order else "first"


def shuffled_candidates(state: PlanState) -> list[int]:
    """Return all candidates in an order that is drawn from the group's content and the seed."""
    permutation = list(range(len(state.view.candidates)))
    random.Random(f"{state.view.digest}:{state.seed}").shuffle(permutation)  # noqa: S311 - reproducible, not secret
    return permutation


def rotated_order(permutation: Sequence[int], order: int) -> Sequence[int]:
    """Return the order number ``order``: rotations of ``permutation`` in turn, each followed by its reverse."""
    start = (order // 2) % len(permutation)
    shown = [*permutation[start:], *permutation[:start]]
    return shown[::-1] if order % 2 else shown


def number_asks(asks: Iterable[Ask], start: int) -> list[Ask]:
    """Return ``asks`` with the numbers ``start``, ``start + 1``, ..."""
    return [ask if ask.number == number else replace(ask, number=number) for number, ask in enumerate(asks, start)]


def next_ask_number(state: PlanState, asks: Sequence[Ask] = ()) -> int:
    """Return the number of the next ask, given the answered asks and ``asks``, which are planned already."""
    return max([-1, *(answer.ask.number for answer in state.answered), *(ask.number for ask in asks)]) + 1


def answered_asks(state: PlanState) -> dict[int, Ask]:
    """Return the asks that were answered, by number."""
    return {answer.ask.number: answer.ask for answer in state.answered}


def ancestry_of_ask(ask: Ask, by_number: Mapping[int, Ask]) -> list[Ask]:
    """Return ``ask``, the ask that made it necessary (its parent), and so on to the first ask."""
    asks = [ask]
    while asks[-1].parent is not None:
        asks.append(by_number[asks[-1].parent])
    return asks


def _even_chunks(items: Sequence[int], most: int) -> list[Sequence[int]]:
    """Split candidates into the fewest chunks of at most ``most`` candidates, as equal in size as possible."""
    chunks = -(-len(items) // most)
    size, larger = divmod(len(items), chunks)
    cuts = [size * chunk + min(chunk, larger) for chunk in range(chunks + 1)]
    return [items[start:end] for start, end in pairwise(cuts)]


@dataclass(frozen=True, slots=True)
class Criteria(Presentations):
    """Plans ``orders * samples`` gradings of the group. The asks of one grading share ``Ask.presentation``.

    Only relative grading shows several candidates, and so only relative grading has orders: a seeded permutation, then
    its reverse, then the list rotated, as in listwise judging. Candidates without criteria are not asked about.
    """

    grading: Grading = field(default_factory=Grading)

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan the questions of grading ``index``."""
        order, sample = divmod(index, self.samples)
        base = Ask(index, (), (), sample=sample, cause=cause_of_ask(order, sample), presentation=index)
        return list(
            self._relative_asks(state, base, order)
            if self.grading.mode == "relative"
            else self._asks_about_one(state, base)
        )

    def _asks_about_one(self, state: PlanState, base: Ask) -> Iterator[Ask]:
        """Plan questions about one candidate each, with as many of its criteria as the grading mode says."""
        for item, rubric in enumerate(state.view.rubrics):
            if rubric is None:
                continue
            names = [criterion.id for criterion in self._criteria_for_judge(state, item)]
            if self.grading.shuffle:
                seed = f"{state.view.digest}:{state.seed}:criteria:{base.number}:{item}"
                random.Random(seed).shuffle(names)  # noqa: S311 - reproducible, not secret
            size = {"per_criterion": 1, "chunks": self.grading.chunk}.get(self.grading.mode, max(len(names), 1))
            for start in range(0, len(names), size):
                yield replace(base, members=(item,), order=(item,), criteria=tuple(names[start : start + size]))

    def _criteria_for_judge(self, state: PlanState, item: int) -> Sequence[Criterion]:
        """Return the criteria of a candidate that the judge has to decide."""
        rubric, checked = state.view.rubrics[item], state.view.rule_verdicts
        return () if rubric is None else criteria_for_judge(rubric, checked[item] if checked else {}, self.grading)

    def _relative_asks(self, state: PlanState, base: Ask, order: int) -> Iterator[Ask]:
        """Plan one question about each criterion, which shows all candidates that have this criterion."""
        asked: dict[str, tuple[Criterion, list[int]]] = {}
        for item in rotated_order(shuffled_candidates(state), order):
            for criterion in self._criteria_for_judge(state, item):
                # The same id may stand for a different criterion in another trajectory's rubric.
                asked.setdefault(f"{criterion.id}\n{criterion}", (criterion, []))[1].append(item)
        for criterion, items in asked.values():
            yield replace(base, members=tuple(sorted(items)), order=tuple(items), criteria=(criterion.id,))
