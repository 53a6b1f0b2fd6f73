"""Listwise: all candidates in one question, a whole number from 0 to 100 for each.

The schema is an object keyed by candidate, with explanations apart and first: the only form that random weights on a
real grammar engine cannot get wrong, and one that lets a judge compare before it commits to numbers.
"""

from __future__ import annotations

from calipers.protocols.question import ScoreProtocol


class Listwise(ScoreProtocol):
    """Questions about a list of candidates; each answer rates every candidate it was shown."""

    __slots__ = ()

    before = """\
You compare several attempts at one task and score each of them. The attempts were made independently of one another; \
what matters is how good they are relative to each other."""

    after = """\
How to score: whole numbers from 0 (worthless) to 100 (could not be better). A better attempt gets a higher score even \
if the difference is small; equal scores are for attempts of equal worth. The order and the names of the attempts are \
random and mean nothing."""
