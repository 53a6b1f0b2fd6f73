"""Pairwise: two candidates in each question, both scored, and the difference is the margin.

A margin says more than a winner for the same tokens, and equal scores are a tie without a word for it. Not responsible
for which pairs are asked about (``planners``) nor for strengths (``aggregators``).
"""

from __future__ import annotations

from calipers.protocols.question import ScoreQuestion
from calipers.types import Ask, Comparison, Completion, JudgeRequest, Reading, RenderedGroup

_BEFORE = """\
You compare two attempts at one task. The attempts were made independently of one another; what matters is which is \
better, and by how much."""

_AFTER = """\
How to score: a whole number from 0 (worthless) to 100 (could not be better) for each. The distance between the two \
numbers says how much better one is: a few points for a hair's breadth, fifty or more where one succeeds and the other \
fails; equal scores are for attempts of equal worth. The order and the names of the attempts are random and mean nothing."""


class Pairwise(ScoreQuestion):
    """Frame and read questions about two candidates; each answer is one Comparison, or nothing."""

    __slots__ = ()
    compares = True

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest:
        """Put the question about the two candidates of ``ask.order``."""
        return self.put(ask, view, before=_BEFORE, after=_AFTER)

    def read(self, request: JudgeRequest, completion: Completion) -> Reading:
        """Read the margin between the two; one score of two is no comparison."""
        heard = self.heard(request, completion)
        first, second = heard.ask.order
        values = heard.values
        if first not in values or second not in values:
            return heard.reading((), ())
        margin = round(values[first] - values[second], 6)
        return heard.reading((Comparison(first, second, margin, heard.ask.number, heard.ask.slot),), (first, second))
