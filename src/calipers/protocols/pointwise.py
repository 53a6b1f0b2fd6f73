"""The pointwise protocol: one candidate in each question, scored from 0 to 100 on an absolute scale.

Use it for an absolute threshold, for groups too large to show at once, and for comparing judges on recorded ratings. Do
not use it for candidates of nearly equal quality: a judge that sees one attempt at a time gives most of them the same
few scores.
"""

from __future__ import annotations

from calipers.protocols.question import ScoreProtocol


class Pointwise(ScoreProtocol):
    """Asks about one candidate at a time; ``Ask.presentation`` says which round a rating belongs to."""

    __slots__ = ()

    before = """\
You score one attempt at a task by itself, on a scale that means the same for every attempt."""

    after = """\
How to score: whole numbers from 0 to 100. 0 is worthless; 25 goes the right way but fails; 50 does half of what the \
task asks; 75 does all that matters, with flaws; 100 could not be better. Use the numbers in between. The name of the \
attempt is random and means nothing."""
