"""The listwise protocol: all candidates in one question, and a whole number from 0 to 100 for each.

The reply's schema has two objects with a value for each candidate: explanations first, then scores. Of the forms
tested, only this form stays valid when a model with random weights writes it under a grammar. It also lets a judge
compare before it commits to numbers.
"""

from __future__ import annotations

from calipers.protocols.question import ScoreProtocol


class Listwise(ScoreProtocol):
    """Asks about a list of candidates; each reply rates every candidate in the list."""

    __slots__ = ()

    before = """\
You compare several attempts at one task and score each of them. The attempts were made independently of one another; \
what matters is how good they are relative to each other."""

    after = """\
How to score: whole numbers from 0 (worthless) to 100 (could not be better). A better attempt gets a higher score even \
if the difference is small; equal scores are for attempts of equal worth. The order and the names of the attempts are \
random and mean nothing."""
