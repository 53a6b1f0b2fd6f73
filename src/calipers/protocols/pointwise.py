"""Pointwise: one candidate in each question, scored from 0 to 100 on an absolute scale.

Not for telling near-equals apart: a judge that sees one attempt at a time saturates. It is the protocol for an absolute
floor, for groups too large to show at once, and for comparing judges on recorded ratings.
"""

from __future__ import annotations

from calipers.protocols.question import ScoreQuestion
from calipers.types import Ask, Completion, JudgeRequest, Reading, RenderedGroup

_BEFORE = """\
You score one attempt at a task by itself, on a scale that means the same for every attempt."""

_AFTER = """\
How to score: whole numbers from 0 to 100. 0 is worthless; 25 goes the right way but fails; 50 does half of what the \
task asks; 75 does all that matters, with flaws; 100 could not be better. Use the numbers in between. The name of the \
attempt is random and means nothing."""


class Pointwise(ScoreQuestion):
    """Frame and read questions about single candidates; ``Ask.presentation`` tells which round a rating belongs to."""

    __slots__ = ()

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest:
        """Put the question about the one candidate of ``ask.order``."""
        return self.put(ask, view, before=_BEFORE, after=_AFTER)

    def read(self, request: JudgeRequest, completion: Completion) -> Reading:
        """Read its score."""
        heard = self.heard(request, completion)
        ratings = heard.ratings()
        return heard.reading(ratings, {rating.item for rating in ratings})
