"""The pairwise protocol: two candidates in each question, both scored; the difference of the scores is the margin.

A margin says more than the name of a winner for the same number of tokens, and equal scores are a tie.
"""

from __future__ import annotations

from calipers.protocols.question import ScoreProtocol
from calipers.types import Comparison, Completion, JudgeRequest, Reading


class Pairwise(ScoreProtocol):
    """Asks about two candidates; each reply gives one Comparison, or none."""

    __slots__ = ()
    is_comparison = True

    before = """\
You compare two attempts at one task. The attempts were made independently of one another; what matters is which is \
better, and by how much."""

    after = """\
How to score: a whole number from 0 (worthless) to 100 (could not be better) for each. The distance between the two \
numbers says how much better one is: a few points for a hair's breadth, fifty or more where one succeeds and the \
other fails; equal scores are for attempts of equal worth. The order and the names of the attempts are random and \
mean nothing."""

    def read(self, request: JudgeRequest, completion: Completion) -> Reading:
        """Return the margin in a reply to this protocol's question about a pair; none if either score is missing."""
        reply = self.scored_reply(request, completion)
        first, second = reply.ask.order
        values = reply.values
        if first not in values or second not in values:
            return reply.reading((), ())
        margin = round(values[first] - values[second], 6)
        return reply.reading((Comparison(first, second, margin, reply.ask.number, reply.ask.slot),), (first, second))
