"""Asks again about what an answer left open: what is missing or in doubt, what a decoy answer won, what was too long.

A wrapper around the planner of the first asks. Not responsible for failed calls, which are retried below, for decoys
(``guard.canary``), or for shortening (``render``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Any

from calipers.interfaces import Planner
from calipers.planners.first_asks import ancestry, asked, next_number
from calipers.types import Answered, Ask, Cause, Failure, PlanState, Rating, Reading

MAX_TOKENS_FACTOR = 4
"""By how much a cut-off reply's token limit grows: reasoning models overrun by factors, not by percents."""

_RECHECKS = 1
"""Times in a row that a question is asked again because a decoy won."""

_REFITS = 3
"""Times in a row that a question is shortened: of several servers behind a judge, each may have a smaller window."""


@dataclass(frozen=True, slots=True)
class FollowUps:
    """Follow each answer that is not usable as it is with a better question.

    - Missing candidates are asked about next to two that this answer scored (its highest and its lowest), whose scores
      are stated, so that the new scores complete the old answer on its own scale. A reply in doubt is asked again
      whole, and one that was cut off with a higher token limit. The question says what was wrong. ``reasks`` times in a
      row at most.
    - A verdict that a decoy won is asked again in a new order, of the next of ``sharing`` judges that share the work; a
      gap in one judge's answer goes to the same judge. A judge that passed a test is asked what it was tested for.
    - A question that was refused as too long is asked again within the window that the refusal named.
    """

    inner: Planner
    reasks: int = 2
    sharing: int = 1

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """What the inner planner asks, then one follow-up for each answer that needs it."""
        asks = list(self.inner.next_asks(state))
        due = [done for done in state.answered if _may_be_followed(done.result)]
        if not due:
            return asks
        followed = {done.ask.parent for done in state.answered}
        substituted = followed | {ask.parent for ask in asks}
        number = next_number(state, asks)
        for follow_up in (self._completed, self._rechecked, _shortened):
            for done in due:
                if done.ask.number in (substituted if isinstance(done.result, Failure) else followed):
                    continue
                ask = follow_up(done, number, state)
                if ask is not None:
                    asks.append(ask)
                    number += 1
        return asks

    def _completed(self, done: Answered, number: int, state: PlanState) -> Ask | None:
        """What was missing or in doubt, once more."""
        ask, reading = done.ask, done.result
        if not isinstance(reading, Reading) or reading.complaint is None or not reading.missing:
            return None
        links = pairwise(
            ancestry(ask, asked(state))
        )  # a test is no answer, and another judge's answers are not counted
        if sum(one.slot == parent.slot and one.cause != "tested" for one, parent in links) >= self.reasks:
            return None
        if reading.truncated:
            return _after(ask, number, "truncated", max_tokens_factor=ask.max_tokens_factor * MAX_TOKENS_FACTOR)
        if reading.open:
            return _about_open(ask, reading, number)
        presentation = ask.number if ask.presentation is None else ask.presentation
        anchors = _anchors(state, presentation)
        if reading.outcome == "rejected" or not anchors:
            # Where scores are asked for, every ask draws new keys for the candidates, and is another question anyway.
            note = _reworded(ask.note, reading.complaint) if state.view.rubrics else reading.complaint
            return _after(ask, number, "doubt", note=note)
        members = tuple(sorted(reading.missing))
        shown = _drawn([*members, *(item for item, _ in anchors)], number, state)
        return _after(
            ask,
            number,
            "missing",
            members=members,
            order=tuple(shown),
            anchors=anchors,
            presentation=presentation,
            note=reading.complaint,
        )

    def _rechecked(self, done: Answered, number: int, state: PlanState) -> Ask | None:
        """In a new order what a decoy won, or the question that a judge was tested for and passed."""
        ask, canary = done.ask, done.result.canary if isinstance(done.result, Reading) else None
        if canary is None or not (canary.won or canary.alone):
            return None
        if not canary.won:
            return _after(
                ask, number, "tested", presentation=ask.number if ask.presentation is None else ask.presentation
            )
        if _in_a_row(ask, "canary", state) >= _RECHECKS:
            return None
        order = tuple(_drawn(ask.order, number, state))
        if order == ask.order:
            order = order[::-1]
        slot = (ask.slot + 1) % self.sharing if self.sharing > 1 and not ask.anchors else ask.slot
        return _after(ask, number, "canary", order=order, slot=slot)


def _shortened(done: Answered, number: int, state: PlanState) -> Ask | None:
    """The same within the window that a refusal named, if that is smaller than the one it was shortened to."""
    ask, window = done.ask, done.result.window if isinstance(done.result, Failure) else None
    if window is None or (ask.window is not None and ask.window.tokens <= window.tokens):
        return None
    return _after(ask, number, "window", window=window) if _in_a_row(ask, "window", state) < _REFITS else None


def _may_be_followed(result: Reading | Failure) -> bool:
    """Whether a follow-up is possible; cheap, for most answers need none."""
    if isinstance(result, Failure):
        return result.window is not None
    return bool(result.missing) or result.canary is not None


def _after(ask: Ask, number: int, cause: Cause, **changes: Any) -> Ask:
    return replace(ask, number=number, parent=ask.number, cause=cause, **changes)


def _in_a_row(ask: Ask, cause: Cause, state: PlanState) -> int:
    """How many asks for this cause, one after the other, led to ``ask``, itself included."""
    return sum(1 for _ in takewhile(lambda one: one.cause == cause, ancestry(ask, asked(state))))


def _drawn(items: Sequence[int], number: int, state: PlanState) -> list[int]:
    """The items in an order drawn for the ask of that number."""
    order = list(items)
    random.Random(f"{state.view.digest}:{state.seed}:{number}").shuffle(order)  # noqa: S311 - reproducible, not secret
    return order


def _about_open(ask: Ask, reading: Reading, number: int) -> Ask:
    """The criteria without a verdict once more, and only of the candidates that lack it; verdicts need no anchors."""
    items, criteria = ({pair[place] for pair in reading.open} for place in (0, 1))
    return _after(
        ask,
        number,
        "doubt" if reading.outcome == "rejected" else "missing",
        members=tuple(item for item in ask.members if item in items),
        criteria=tuple(name for name in ask.criteria if name in criteria),
        note=_reworded(ask.note, reading.complaint or ""),
    )


def _reworded(before: str, complaint: str) -> str:
    """The complaint in other words than ``before``: an equal question would be answered from the ledger as before."""
    return f"{before}, once more" if complaint and before.startswith(complaint) else complaint


def _anchors(state: PlanState, presentation: int) -> tuple[tuple[int, float], ...]:
    """The highest and the lowest rating of one answer, its filled gaps included."""
    rated = [
        judgment
        for done in state.answered
        if isinstance(done.result, Reading)
        for judgment in done.result.judgments
        if isinstance(judgment, Rating) and judgment.presentation == presentation
    ]
    if not rated:
        return ()
    low = min(rated, key=lambda rating: (rating.value, rating.item))
    high = max(rated, key=lambda rating: (rating.value, -rating.item))
    return tuple({high.item: high.value, low.item: low.value}.items())
