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
You compare several attempts at one task and score each of them. The attempts were made independently of one another; \
what matters is how good they are relative to each other."""

    after = """\
How to score: whole numbers from 0 (worthless) to 100 (could not be better). A better attempt gets a higher score even \
if the difference is small; equal scores are for attempts of equal worth. The order and the names of the attempts are \
random and mean nothing."""


class Pairwise(ScoreProtocol):
    """Asks about two candidates; each reply gives one Comparison, or none.

    Both are scored: a margin says more than the name of a winner for the same tokens, and equal scores are a tie.
    """

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
        """Return the margin in a reply about a pair; none if either score is missing."""
        reply = self.scored_reply(request, completion)
        first, second = reply.ask.order
        values = reply.values
        if first not in values or second not in values:
            return reply.reading((), ())
        margin = round(values[first] - values[second], 6)
        return reply.reading((Comparison(first, second, margin, reply.ask.number, reply.ask.slot),), (first, second))


class Pointwise(ScoreProtocol):
    """Asks about one candidate at a time; ``Ask.presentation`` says which round a rating belongs to.

    For an absolute threshold, and for groups too large to show at once. A judge that sees one attempt at a time gives
    candidates of nearly equal quality the same few scores.
    """

    __slots__ = ()

    before = """\
You score one attempt at a task by itself, on a scale that means the same for every attempt."""

    after = """\
How to score: whole numbers from 0 to 100. 0 is worthless; 25 goes the right way but fails; 50 does half of what the \
task asks; 75 does all that matters, with flaws; 100 could not be better. Use the numbers in between. The name of the \
attempt is random and means nothing."""
