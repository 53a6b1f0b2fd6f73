"""The protocols that ask for scores from 0 to 100: of all candidates at once, of two, or of one at a time."""

from __future__ import annotations

from calipers.protocols.question import ScoreProtocol
from calipers.types import Comparison, Completion, JudgeRequest, Reading


class Listwise(ScoreProtocol):
    """Asks about a list of candidates; each reply rates every candidate in the list.

    The reply's schema has explanations first, then scores. Of the forms tested, only this form stays valid when a model
    with random weights writes it under a grammar; it also lets a judge compare before it commits to numbers.
    """

    __slots__ = ()

    before = """\
Score independent attempts at one task against each other."""

    after = """\
Scores are whole numbers from 0 (worthless) to 100 (perfect). Only equal worth gets equal scores. Order and names are \
random."""


class Pairwise(ScoreProtocol):
    """Asks about two candidates; each reply gives one Comparison, or none.

    Both are scored: a margin says more than the name of a winner for the same tokens, and equal scores are a tie.
    """

    __slots__ = ()
    is_comparison = True

    before = """\
Compare two independent attempts at one task: which is better, and by how much?"""

    after = """\
Scores are whole numbers from 0 (worthless) to 100 (perfect). Their distance says how much better one is: a few points \
for a hair's breadth, fifty or more where one succeeds and the other fails. Only equal worth gets equal scores. Order \
and names are random."""

    def read(self, request: JudgeRequest, completion: Completion) -> Reading:
        """Return the margin in a reply about a pair; none if either score is missing."""
        reply = self.scored_reply(request, completion)
        first, second = reply.ask.order
        values = reply.values
        if first not in values or second not in values:
            return reply.reading(())
        margin = round(values[first] - values[second], 6)
        return reply.reading((Comparison(first, second, margin, reply.ask.number, reply.ask.slot),))


class Pointwise(ScoreProtocol):
    """Asks about one candidate at a time; ``Ask.presentation`` says which round a rating belongs to.

    For an absolute threshold, and for groups too large to show at once. A judge that sees one attempt at a time gives
    candidates of nearly equal quality the same few scores.
    """

    __slots__ = ()

    before = """\
Score one attempt at a task by itself, on a scale that means the same for every attempt."""

    after = """\
Scores are whole numbers from 0 to 100. 0 is worthless; 25 goes the right way but fails; 50 does half of what the task \
asks; 75 does all that matters, with flaws; 100 is perfect. Use the numbers in between. The name is random."""
