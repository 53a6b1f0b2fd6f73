"""Which judge of a panel is asked what: all of them everything, each presentation another one, or the next where one
fails.

Wrappers around the planner of the first asks. A failed call of a judge that shares the work goes to the next judge;
where all are asked, the others' answers stand. Not responsible for what several judges' answers come to
(``aggregators``).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from calipers.planners.first_asks import FirstAsks, ancestry, asked, next_number, numbered
from calipers.types import Answered, Ask, Failure, PlanState

_OWN_LIMITS = frozenset({"deadline", "budget"})
"""Failures that would be the same with another judge."""


@dataclass(frozen=True, slots=True)
class _Panel(FirstAsks):
    """First asks ``inner`` for ``judges`` judges."""

    inner: FirstAsks
    judges: int

    @property
    def count(self) -> int:
        """Presentations that are asked at once."""
        return self.inner.count


class Everyone(_Panel):
    """Put every presentation to each judge."""

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """The presentation, once for each judge."""
        asks = self.inner.presentation(state, index)
        return numbered((_of(ask, slot, self.judges) for slot in range(self.judges) for ask in asks), 0)


class Cycle(_Panel):
    """Put each presentation to another judge, at the price of one; which judge begins is drawn from the group's
    content.

    A question that one judge cannot answer goes to the next judge that was not asked it.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """The presentation, to the judge whose turn it is."""
        generator = random.Random(f"{state.view.digest}:{state.seed}:turn")  # noqa: S311 - reproducible, not secret
        slot = (generator.randrange(self.judges) + index) % self.judges
        return [_of(ask, slot, self.judges) for ask in self.inner.presentation(state, index)]

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """All first asks in one batch, then a substitute for each that failed."""
        first = super().next_asks(state)
        return first or numbered(self._substitutes(state), next_number(state))

    def _substitutes(self, state: PlanState) -> Iterator[Ask]:
        followed = {done.ask.parent for done in state.answered}
        by_number = asked(state)
        for done in state.answered:
            # Another judge cannot fill a gap in one judge's answer: it would read the anchors on a scale of its own.
            if not _unavailable(done) or done.ask.number in followed or done.ask.anchors:
                continue
            tried = {ask.slot for ask in ancestry(done.ask, by_number)}
            if len(tried) < self.judges:
                turns = ((done.ask.slot + step) % self.judges for step in range(1, self.judges))
                slot = next(one for one in turns if one not in tried)
                yield replace(_moved(done.ask, slot, self.judges), cause="substitute", parent=done.ask.number)


class Fallback(_Panel):
    """Ask the first judge; where it cannot answer, ask everything about the group of the next one instead.

    The answers of two judges are not mixed within a group: ``aggregators.panel.Fallback`` takes those of one.
    """

    __slots__ = ()

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """The presentation, to the judge that scores this group."""
        slot = max((done.ask.slot for done in state.answered), default=0)
        return [_of(ask, slot, self.judges) for ask in self.inner.presentation(state, index)]

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """All first asks in one batch; then, where any of a judge's failed, all of them for the next judge."""
        if not state.answered:
            return super().next_asks(state)
        slot = max(done.ask.slot for done in state.answered)
        own = [done for done in state.answered if done.ask.slot == slot]
        if slot + 1 == self.judges or not any(_unavailable(done) for done in own):
            return ()
        numbers = {done.ask.number for done in own}
        firsts = [done.ask.number for done in own if done.ask.parent not in numbers]
        again = self.inner.next_asks(replace(state, answered=()))
        return numbered(
            (
                replace(_of(ask, slot + 1, self.judges), cause="substitute", parent=number)
                for ask, number in zip(again, firsts, strict=False)  # further presentations were asked meanwhile
            ),
            next_number(state),
        )


def _of(ask: Ask, slot: int, judges: int) -> Ask:
    """``ask`` for the judge ``slot``; presentations that a planner numbers itself get numbers of their own by judge."""
    if ask.presentation is None:
        return replace(ask, slot=slot)
    return replace(ask, slot=slot, presentation=ask.presentation * judges + slot)


def _moved(ask: Ask, slot: int, judges: int) -> Ask:
    """``ask``, which was some judge's, for the judge ``slot``."""
    inner = None if ask.presentation is None else ask.presentation // judges
    return _of(replace(ask, presentation=inner), slot, judges)


def _unavailable(done: Answered) -> bool:
    """Whether this judge cannot answer, but another might."""
    result = done.result
    return isinstance(result, Failure) and result.window is None and result.kind not in _OWN_LIMITS
