"""Canaries where a question has no place beside its candidates: shown in the place of one, in a question before the real one.

A pair is two and a rating is of one. So in a share of the questions a canary first stands for one candidate, beside the
other of a pair or alone. A judge that sees through it is then asked the question itself; one that does not is tested again,
and after that is not asked. Not responsible for asking on (``planners.follow_ups``), nor for lists (``canary``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from calipers.guard.canary import MARGIN, canary_in, candidate_of, drawn_kind, kind_of, reason_for
from calipers.interfaces import JudgingProtocol
from calipers.types import Ask, Canary, Comparison, Completion, JudgeRequest, Judgment, Rating, Reading, RenderedGroup

PASSES_BELOW: Final = 0.5
"""A canary that is rated alone wins from here on: half the scale is for doing half of what the task asks."""


@dataclass(frozen=True, slots=True)
class Probed:
    """``inner``, a protocol that asks about one candidate or two, with a canary first in a share ``rate`` (0-1) of its questions.

    Whether, which and for whom it stands is drawn from the group's content, ``seed`` and the ask's number. In a pair it
    wins by leading the real one by more than ``canary.MARGIN``; alone, with ``PASSES_BELOW`` or more.
    """

    inner: JudgingProtocol
    rate: float
    seed: int = 0

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest:
        """The inner question, or a test in its place where one is due."""
        if canary_in(view) is None and ask.cause != "tested":
            ask, view = self._as_test(ask, view)
        return self.inner.frame(ask, view)

    def read(self, request: JudgeRequest, completion: Completion) -> Reading:
        """What the answer says; of a test, only whether it was passed."""
        canary = canary_in(request.view)
        if canary is None:
            return self.inner.read(request, completion)
        ask = request.ask
        reading = self.inner.read(replace(request, ask=replace(ask, members=ask.order)), completion)
        won = _won(reading.judgments, canary)
        if won is None:
            return replace(
                reading, judgments=(), missing=dict.fromkeys(ask.members, reading.reason or "no answer to read")
            )
        kind = kind_of(request.view.candidates[canary])
        if not won:
            return Reading((), reading.outcome, warnings=reading.warnings, canary=Canary(kind, won=False, alone=True))
        reason = reason_for(kind, "above a real attempt" if len(ask.order) > 1 else "as good as half done")
        return Reading(
            (),
            "rejected",
            reason,
            missing=dict.fromkeys(ask.members, reason),
            warnings=(*reading.warnings, f"{reason}: it was not asked on"),
            canary=Canary(kind, won=True, alone=True),
        )

    def _as_test(self, ask: Ask, view: RenderedGroup) -> tuple[Ask, RenderedGroup]:
        drawn = random.Random(f"canary:{view.digest}:{self.seed}:{ask.number}")  # noqa: S311 - as in ``canary``
        if drawn.random() >= self.rate and ask.cause != "canary":
            return ask, view
        item = len(view.candidates)
        place = drawn.randrange(len(ask.order))
        order = (*ask.order[:place], item, *ask.order[place + 1 :])
        candidate = candidate_of(view, drawn_kind(ask, view, self.seed))
        return replace(ask, order=order), replace(view, candidates=(*view.candidates, candidate))


def _won(judgments: Sequence[Judgment], canary: int) -> bool | None:
    """Whether the canary won; None where the answer does not tell."""
    for one in judgments:
        if isinstance(one, Comparison):
            return (one.margin if one.first == canary else -one.margin) > MARGIN
        if isinstance(one, Rating) and one.item == canary:
            return one.value >= PASSES_BELOW
    return None
