"""Asks again what an answer left open: what it missed, what could not be trusted, what was cut off.

A wrapper around any planner that plans the first asks. A failed call is not its business: transport retries happened
below, and asking a dead judge again is not a plan.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from calipers.interfaces import Planner
from calipers.planners.opening import next_number
from calipers.types import Answered, Ask, PlanState, Rating, Reading

ROOM = 4
"""How much more room a cut-off reply gets: reasoning models overrun by factors, not by percents."""


@dataclass(frozen=True, slots=True)
class Reask:
    """Follow each poor answer with a better question, at most ``limit`` times in a row.

    Missing candidates are asked about next to two that this answer scored (its highest and its lowest), whose scores
    are stated, so that the new scores complete the old answer on its own scale. A reply in doubt is asked again whole. A reply that was cut off gets more
    room. The question says what was wrong before.
    """

    inner: Planner
    limit: int = 2

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """What the inner planner asks, then one follow-up for each unfinished answer."""
        asks = list(self.inner.next_asks(state))
        if not any(isinstance(done.result, Reading) and done.result.missing for done in state.answered):
            return asks
        number = next_number(state, asks)
        by_number = {done.ask.number: done.ask for done in state.answered}
        followed = {done.ask.parent for done in state.answered}
        for done in state.answered:
            if done.ask.number in followed or _depth(done.ask, by_number) >= self.limit:
                continue
            follow_up = _follow_up(done, number, state)
            if follow_up is not None:
                asks.append(follow_up)
                number += 1
        return asks


def _depth(ask: Ask, by_number: dict[int, Ask]) -> int:
    """How often in a row this judge was asked again already."""
    depth = 0
    while ask.parent is not None:
        parent = by_number[ask.parent]
        depth += parent.slot == ask.slot and ask.cause != "tested"  # a test is no answer
        ask = parent
    return depth


def _follow_up(done: Answered, number: int, state: PlanState) -> Ask | None:
    ask, reading = done.ask, done.result
    if not isinstance(reading, Reading) or reading.complaint is None or not reading.missing:
        return None
    if reading.truncated:
        return replace(
            ask, number=number, parent=ask.number, cause="truncated", max_tokens_factor=ask.max_tokens_factor * ROOM
        )
    if reading.open:
        return _about_open(ask, reading, number)
    presentation = ask.number if ask.presentation is None else ask.presentation
    anchors = _anchors(state, presentation)
    if reading.outcome == "rejected" or not anchors:
        # Where scores are asked for, every ask has names of its own for the candidates, and is another question anyway.
        note = _repeated(ask.note, reading.complaint) if state.view.rubrics else reading.complaint
        return replace(ask, number=number, parent=ask.number, cause="doubt", note=note)
    members = tuple(sorted(reading.missing))
    shown = [*members, *(item for item, _ in anchors)]
    random.Random(f"{state.view.digest}:{state.seed}:{number}").shuffle(shown)  # noqa: S311 - a seeded order
    return replace(
        ask,
        number=number,
        parent=ask.number,
        cause="missing",
        members=members,
        order=tuple(shown),
        anchors=anchors,
        presentation=presentation,
        note=reading.complaint,
    )


def _about_open(ask: Ask, reading: Reading, number: int) -> Ask:
    """The criteria without a verdict once more, and only of the candidates that lack it; verdicts need no anchors."""
    items, criteria = ({pair[place] for pair in reading.open} for place in (0, 1))
    return replace(
        ask,
        number=number,
        parent=ask.number,
        cause="doubt" if reading.outcome == "rejected" else "missing",
        members=tuple(item for item in ask.members if item in items),
        criteria=tuple(name for name in ask.criteria if name in criteria),
        note=_repeated(ask.note, reading.complaint or ""),
    )


def _repeated(before: str, complaint: str) -> str:
    """The complaint, told from the same one ``before``: put in the same words, a ledger would answer the question as before."""
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
