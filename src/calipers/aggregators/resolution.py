"""Decides when to stop asking about a group, from its scores and their errors, and what to do if all is noise.

With variance V between candidates and noise variance v of one call, the mean of k calls correlates with the judge's
long-run ranking by sqrt(V / (V + v/k)) (reliability of a mean: Spearman 1910, Brown 1910). One more call is worth what
it adds to this correlation. That is little if the ranking would not change, and little if noise hides every difference.
To a batch, whose advantages are to point along the true differences, it is worth √V times as much: the cosine of
standardised scores z and centred truths T sums z T over groups, and E z T = (G - 1) √V × this correlation.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from calipers.types import Scores

_BELIEF = 0.3
"""The weight of the judge's usual spread, in degrees of freedom. Chosen from 0.05 to 1 on the development half of the
recorded judges (benchmarks/fidelity), by the judge that gains least over a fixed number of calls: its gain is largest
with this value. Other values change the gain little.
"""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """A rule that continues to ask while one more call is expected to add ``tolerance`` to the scores' reliability.

    ``spread`` is the judge's usual variance of true scores within a group, in squared units of the scores. ``budget``
    is the maximal number of calls for a group.
    """

    spread: float
    tolerance: float = 0.015
    budget: int = 8

    def should_stop(self, scores: Scores, *, calls: int) -> bool:
        """Return whether to stop asking after ``calls`` calls whose ratings were aggregated into ``scores``.

        Also true if the value of another call cannot be estimated: fewer than two candidates have a score, or no
        standard error is known.
        """
        pairs = zip(scores.values, scores.stderrs, strict=True)
        known = [(value, error) for value, error in pairs if value is not None and error is not None]
        if calls >= self.budget or len(known) < 2:
            return True
        noise = math.fsum(error**2 for _, error in known) / len(known)
        seen = statistics.variance(value for value, _ in known)
        return self.gain(seen, noise * calls, freedom=len(known) - 1, calls=calls) < self.tolerance

    def gain(self, seen: float, noise: float, *, freedom: int, calls: int) -> float:
        """Return what one more call adds to the reliability (0-1) of a group's aggregated scores.

        ``seen`` is the variance of the mean scores, and ``noise`` that of one call.
        """
        # The variance of the group's true scores, shrunk to the judge's usual spread.
        true = (_BELIEF * self.spread + freedom * max(seen - noise / calls, 0.0)) / (_BELIEF + freedom)
        return _correlation(true, noise / (calls + 1)) - _correlation(true, noise / calls)


def _correlation(true: float, squared_error: float) -> float:
    """Return the correlation of a group's scores with what they would be without noise; 0 without true spread."""
    return math.sqrt(true / (true + squared_error)) if true > 0 else 0.0
