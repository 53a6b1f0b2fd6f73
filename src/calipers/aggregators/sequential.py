"""When to stop asking about a group: the rule behind ``resolve``, given scores and standard errors so far.

The mean of k calls orders a group as the judge would in the long run up to a correlation of sqrt(V / (V + v/k)), for a
spread V between candidates and a noise v of one call (reliability of a mean: Spearman 1910, Brown 1910). One more call
is worth what it adds to that: little where the group is settled, and little where it is hopeless. Not responsible for
asking, for learning noise (``noise``), or for what an unresolved group is paid.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from calipers.types import Scores

_BELIEF = 0.3
"""Degrees of freedom the judge's usual spread weighs. Of 0.05 to 1, the value whose least gain over a fixed number of
calls was largest on the development half of recorded judges (benchmarks/fidelity.py); the gain depends on it little."""


@dataclass(frozen=True, slots=True)
class Resolve:
    """A stopping rule: ask on while one more call is expected to add ``tolerance`` to the group's reliability.

    ``spread`` is the judge's usual variance of settled scores within a group, in squared units of the scores.
    ``budget`` is the most calls a group may take.
    """

    spread: float
    tolerance: float = 0.015
    budget: int = 8

    def is_settled(self, scores: Scores, *, calls: int) -> bool:
        """Whether to stop after ``calls`` calls that led to ``scores``.

        True as well where nothing can be resolved: fewer than two candidates have a score, or no standard error is
        known, so that what another call would add cannot be told.
        """
        known = [
            (value, error)
            for value, error in zip(scores.values, scores.stderrs, strict=True)
            if value is not None and error is not None
        ]
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
    """The spread of settled scores: mean within-group variance of single calls ``seen``, less ``noise`` of a call."""
    return max(seen - noise, 0.0)
