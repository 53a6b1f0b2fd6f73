"""Plans follow-up questions: after answers with gaps or in doubt, after a decoy won, and after a refusal as too long.

A wrapper around the planner of the first questions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Any

from calipers.interfaces import Planner
from calipers.planners.first_asks import ancestry_of_ask, answered_asks, next_ask_number
from calipers.types import Answered, Ask, Cause, Failure, PlanState, Rating, Reading

MAX_TOKENS_FACTOR = 4
"""The factor by which the token limit of a truncated reply grows. Reasoning models need a multiple of the limit."""

_RECHECKS = 1
"""How many times in a row a question is asked again because a decoy won."""

_REFITS = 3
"""How many times in a row a question is shortened: a judge may have several servers with different context windows."""


@dataclass(frozen=True, slots=True)
class FollowUps:
    """Plans a better question after each answer that cannot be used fully.

    - Missing candidates are asked about together with two that this answer scored (its highest and its lowest).
      Their scores are stated as anchors, so that the new scores complete the old answer on its own scale. If a
      reply is in doubt, the whole question is asked again; if it was truncated, with a higher token limit. The
      question says what was wrong. The values of a reply with words around its verdict count if they are given
      again. This happens at most ``reasks`` times in a row.
    - If a decoy won, the question is asked again in a new order; if ``sharing`` judges share the work, the next judge
      is asked. A gap in one judge's answer goes to the same judge. A judge that passed a test with a decoy is then
      asked the real question.
    - A question that was refused as too long is asked again within the context window that the refusal stated.
    """

    inner: Planner
    reasks: int = 2
    sharing: int = 1

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan the inner planner's questions, then a follow-up to each answer that needs one."""
        asks = list(self.inner.next_asks(state))
        due: list[Answered] = []
        for answer in state.answered:  # most answers need no follow-up
            result = answer.result
            if result.window is not None if isinstance(result, Failure) else result.missing or result.canary:
                due.append(answer)
        if not due:
            return asks
        followed = {answer.ask.parent for answer in state.answered}
        substituted = followed | {ask.parent for ask in asks}
        number = next_ask_number(state, asks)
        for follow_up in (self._ask_for_missing, self._ask_after_decoy, _ask_within_window):
            for answer in due:
                if answer.ask.number in (substituted if isinstance(answer.result, Failure) else followed):
                    continue
                ask = follow_up(answer, number, state)
                if ask is not None:
                    asks.append(ask)
                    number += 1
        return asks

    def _ask_for_missing(self, done: Answered, number: int, state: PlanState) -> Ask | None:
        """Plan a question about the candidates that are missing or in doubt in an answer; None if it is complete."""
        ask, reading = done.ask, done.result
        if not isinstance(reading, Reading) or reading.complaint is None or not reading.missing:
            return None
        links = pairwise(ancestry_of_ask(ask, answered_asks(state)))
        # The real question after a test, and a question to another judge, do not count as repetitions.
        if sum(child.slot == parent.slot and child.cause != "tested" for child, parent in links) >= self.reasks:
            return None
        if reading.truncated:
            return _follow_up(
                ask, number, "truncated", max_tokens_factor=ask.max_tokens_factor * MAX_TOKENS_FACTOR, doubted=()
            )
        if reading.open:
            return _ask_for_open_criteria(ask, reading, number)
        presentation = ask.number if ask.presentation is None else ask.presentation
        anchors = _anchors(state, presentation)
        if reading.outcome == "rejected" or not anchors:
            # Questions for scores always differ, because each draws new keys for the candidates. Questions about
            # criteria need a different note, or the ledger would return the same answer.
            note = _reworded_complaint(ask.note, reading.complaint) if state.view.rubrics else reading.complaint
            return _follow_up(ask, number, "doubt", note=note, doubted=reading.doubted)
        members = tuple(sorted(reading.missing))
        shown = _drawn_order([*members, *(item for item, _ in anchors)], number, state)
        return _follow_up(
            ask,
            number,
            "missing",
            members=members,
            order=tuple(shown),
            anchors=anchors,
            presentation=presentation,
            note=reading.complaint,
            doubted=(),
        )

    def _ask_after_decoy(self, done: Answered, number: int, state: PlanState) -> Ask | None:
        """Plan the question again in a new order if a decoy won, or the real question if the judge passed a test."""
        ask, canary = done.ask, done.result.canary if isinstance(done.result, Reading) else None
        if canary is None or not (canary.won or canary.alone):
            return None
        if not canary.won:
            return _follow_up(
                ask, number, "tested", presentation=ask.number if ask.presentation is None else ask.presentation
            )
        if _consecutive_asks(ask, "canary", state) >= _RECHECKS:
            return None
        order = tuple(_drawn_order(ask.order, number, state))
        if order == ask.order:
            order = order[::-1]
        slot = (ask.slot + 1) % self.sharing if self.sharing > 1 and not ask.anchors else ask.slot
        return _follow_up(ask, number, "canary", order=order, slot=slot)


def _ask_within_window(done: Answered, number: int, state: PlanState) -> Ask | None:
    """Plan the question again within the window that a refusal stated, if that is smaller than before."""
    ask, window = done.ask, done.result.window if isinstance(done.result, Failure) else None
    if window is None or (ask.window is not None and ask.window.tokens <= window.tokens):
        return None
    return (
        _follow_up(ask, number, "window", window=window) if _consecutive_asks(ask, "window", state) < _REFITS else None
    )


def _follow_up(ask: Ask, number: int, cause: Cause, **changes: Any) -> Ask:
    return replace(ask, number=number, parent=ask.number, cause=cause, **changes)


def _consecutive_asks(ask: Ask, cause: Cause, state: PlanState) -> int:
    """Return how many consecutive asks with this cause led to ``ask``, which counts as well."""
    return sum(1 for _ in takewhile(lambda older: older.cause == cause, ancestry_of_ask(ask, answered_asks(state))))


def _drawn_order(items: Sequence[int], number: int, state: PlanState) -> list[int]:
    """Return the candidates ``items`` in an order drawn for the ask ``number``."""
    order = list(items)
    random.Random(f"{state.view.digest}:{state.seed}:{number}").shuffle(order)  # noqa: S311 - reproducible, not secret
    return order


def _ask_for_open_criteria(ask: Ask, reading: Reading, number: int) -> Ask:
    """Plan a question about the criteria without a verdict, and only about the candidates that lack one.

    Verdicts need no anchors.
    """
    items, criteria = ({pair[place] for pair in reading.open} for place in (0, 1))
    return _follow_up(
        ask,
        number,
        "doubt" if reading.outcome == "rejected" else "missing",
        members=tuple(item for item in ask.members if item in items),
        criteria=tuple(name for name in ask.criteria if name in criteria),
        note=_reworded_complaint(ask.note, reading.complaint or ""),
        doubted=reading.doubted,
    )


def _reworded_complaint(before: str, complaint: str) -> str:
    """Return the complaint in other words than ``before``: the ledger would answer an equal question as before."""
    return f"{before}, once more" if complaint and before.startswith(complaint) else complaint


def _anchors(state: PlanState, presentation: int) -> tuple[tuple[int, float], ...]:
    """Return the candidates with the highest and the lowest rating in one presentation, with their ratings.

    Ratings from follow-up questions that completed the presentation count as well.
    """
    rated = [
        judgment
        for answer in state.answered
        if isinstance(answer.result, Reading)
        for judgment in answer.result.judgments
        if isinstance(judgment, Rating) and judgment.presentation == presentation
    ]
    if not rated:
        return ()
    low = min(rated, key=lambda rating: (rating.value, rating.item))
    high = max(rated, key=lambda rating: (rating.value, -rating.item))
    return tuple({high.item: high.value, low.item: low.value}.items())
