"""When to stop asking about a group, given scores and standard errors so far, and what to do where they are all noise.

The mean of k calls orders a group as the judge would in the long run up to a correlation of sqrt(V / (V + v/k)), for a
variance V between candidates and a noise variance v of one call (reliability of a mean: Spearman 1910, Brown 1910). One
more call is worth what it adds to that: little where the ranking would not change, and little where noise hides any.
Not responsible for asking, or for learning noise (``noise``).
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from calipers.aggregators.two_way import DIGITS
from calipers.types import Scores

_BELIEF = 0.3
"""The weight of the judge's usual spread, in degrees of freedom. Of 0.05 to 1, the value whose least gain over a fixed
number of calls was largest on the development half of recorded judges (benchmarks/fidelity.py); the gain depends on it
little."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Go on while one more call is expected to add ``tolerance`` to the group's reliability.

    ``spread`` is the judge's usual variance of true scores within a group, in squared units of the scores. ``budget``
    is the most calls that a group may take.
    """

    spread: float
    tolerance: float = 0.015
    budget: int = 8

    def should_stop(self, scores: Scores, *, calls: int) -> bool:
        """Whether to stop after ``calls`` calls that led to ``scores``.

        True as well where what another call would add cannot be estimated: fewer than two candidates have a score, or
        no standard error is known.
        """
        known = _known(scores)
        if calls >= self.budget or len(known) < 2:
            return True
        noise = math.fsum(error**2 for _, error in known) / len(known)
        seen = statistics.variance(value for value, _ in known)
        return self.gain(seen, noise * calls, freedom=len(known) - 1, calls=calls) < self.tolerance

    def gain(self, seen: float, noise: float, *, freedom: int, calls: int) -> float:
        """What one more call adds to the reliability (0-1): ``seen`` variance of mean scores, ``noise`` of one call."""
        true = (_BELIEF * self.spread + freedom * max(seen - noise / calls, 0.0)) / (_BELIEF + freedom)
        if true <= 0:
            return 0.0
        return math.sqrt(true / (true + noise / (calls + 1))) - math.sqrt(true / (true + noise / calls))


def usual_spread(seen: float, noise: float) -> float:
    """The variance of true scores: mean within-group variance of single calls ``seen``, less ``noise`` of a call."""
    return max(seen - noise, 0.0)


def is_all_noise(scores: Scores) -> bool:
    """Whether the variance between scores is no more than their mean squared standard error (F at most 1).

    False where errors are not known, or fewer than two candidates have a score: then it is unknown.
    """
    known = _known(scores)
    if len(known) < 2:
        return False
    noise = math.fsum(error**2 for _, error in known) / len(known)
    return 0 < noise >= statistics.variance(value for value, _ in known)


def tied(scores: Scores) -> Scores:
    """Every known score at their mean, bit-equal, so that the advantage is 0; standard errors stay."""
    known = [value for value in scores.values if value is not None]
    mean = round(math.fsum(known) / len(known), DIGITS) if known else None
    return Scores(tuple(None if value is None else mean for value in scores.values), scores.stderrs)


def unscored(scores: Scores) -> Scores:
    """No score at all."""
    nothing = (None,) * len(scores.values)
    return Scores(nothing, nothing)


def _known(scores: Scores) -> list[tuple[float, float]]:
    """Scores with their standard errors, of the candidates that have both."""
    return [
        (value, error)
        for value, error in zip(scores.values, scores.stderrs, strict=True)
        if value is not None and error is not None
    ]
