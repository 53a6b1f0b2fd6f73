"""Plans which judges of a panel get a question: all of them, each in turn, or the next judge after a failure.

Wrappers around the planner of the first questions. If judges share the work, the next judge is asked after a failed
call; if all judges are asked, the answers of the others remain.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from calipers.planners.first_asks import FirstAsks, ancestry_of_ask, answered_asks, next_ask_number, number_asks
from calipers.types import Answered, Ask, Failure, PlanState

OWN_LIMITS = frozenset({"deadline", "budget"})
"""Kinds of failure that another judge or question would have as well."""


@dataclass(frozen=True, slots=True)
class _Panel(FirstAsks):
    """Plans the first questions of the planner ``inner`` for a panel of ``judges`` judges."""

    inner: FirstAsks
    judges: int

    @property
    def count(self) -> int:
        """Return the number of presentations that are asked at once."""
        return self.inner.count


class Everyone(_Panel):
    """Plans every presentation for each judge of the panel."""

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan presentation ``index``, once for each judge."""
        asks = self.inner.presentation(state, index)
        return [_for_slot(ask, slot, self.judges) for slot in range(self.judges) for ask in asks]


class Cycle(_Panel):
    """Plans each presentation for the next judge of the panel in turn, so that a panel costs as much as one judge.

    The judge that begins is drawn from the group's content. A question that a judge cannot answer goes to the next
    judge that was not asked it yet.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan presentation ``index`` for the judge in turn."""
        generator = random.Random(f"{state.view.digest}:{state.seed}:turn")  # noqa: S311 - reproducible, not secret
        slot = (generator.randrange(self.judges) + index) % self.judges
        return [_for_slot(ask, slot, self.judges) for ask in self.inner.presentation(state, index)]

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan all first questions in one batch, then a substitute for each that failed."""
        first = super().next_asks(state)
        return first or number_asks(self._substitutes(state), next_ask_number(state))

    def _substitutes(self, state: PlanState) -> Iterator[Ask]:
        followed = {reply.ask.parent for reply in state.answered}
        by_number = answered_asks(state)
        for reply in state.answered:
            # Another judge cannot complete this judge's reply: it would read the anchors on a scale of its own.
            if not _another_judge_might_answer(reply) or reply.ask.number in followed or reply.ask.anchors:
                continue
            tried = {ask.slot for ask in ancestry_of_ask(reply.ask, by_number)}
            if len(tried) < self.judges:
                turns = ((reply.ask.slot + step) % self.judges for step in range(1, self.judges))
                slot = next(turn for turn in turns if turn not in tried)
                yield replace(_moved_to_slot(reply.ask, slot, self.judges), cause="substitute", parent=reply.ask.number)


class Fallback(_Panel):
    """Plans all questions for a panel's first judge; if it cannot answer, asks everything again of the next judge.

    A group's scores come from a single judge: ``aggregators.panel.Fallback`` chooses whose answers count.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan presentation ``index`` for the judge that scores this group."""
        slot = max((answer.ask.slot for answer in state.answered), default=0)
        return [_for_slot(ask, slot, self.judges) for ask in self.inner.presentation(state, index)]

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan all first questions in one batch; if any failed, all of the next judge."""
        if not state.answered:
            return super().next_asks(state)
        slot = max(answer.ask.slot for answer in state.answered)
        answers = [answer for answer in state.answered if answer.ask.slot == slot]
        if slot + 1 == self.judges or not any(_another_judge_might_answer(answer) for answer in answers):
            return ()
        numbers = {answer.ask.number for answer in answers}
        firsts = [answer.ask.number for answer in answers if answer.ask.parent not in numbers]
        again = self.inner.next_asks(replace(state, answered=()))
        # Each new ask takes the place of a first one. After further presentations ``firsts`` has more than ``again``.
        asks = (
            replace(_for_slot(ask, slot + 1, self.judges), cause="substitute", parent=number)
            for ask, number in zip(again, firsts, strict=False)
        )
        return number_asks(asks, next_ask_number(state))


def _for_slot(ask: Ask, slot: int, judges: int) -> Ask:
    """Return ``ask`` for the panel member ``slot``; a presentation number becomes one that only this member has."""
    if ask.presentation is None:
        return replace(ask, slot=slot)
    return replace(ask, slot=slot, presentation=ask.presentation * judges + slot)


def _moved_to_slot(ask: Ask, slot: int, judges: int) -> Ask:
    """Return ``ask``, which was planned for another panel member, for the panel member ``slot``."""
    inner = None if ask.presentation is None else ask.presentation // judges
    return _for_slot(replace(ask, presentation=inner), slot, judges)


def _another_judge_might_answer(done: Answered) -> bool:
    """Return whether this judge cannot answer the question, but another judge might."""
    result = done.result
    return isinstance(result, Failure) and result.window is None and result.kind not in OWN_LIMITS
