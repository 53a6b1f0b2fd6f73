"""Standard errors from what a judge's own probabilities say, where nothing else tells any.

One answer shows no noise. Where it came with probabilities, the standard deviation of a score by them is how sure the
judge was; as soon as repeats, or what is known of the judge, tell how far scores really move, those count alone. Not
responsible for reading probabilities (``protocols.expected``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.aggregators.two_way import DIGITS, two_way
from calipers.interfaces import Aggregator
from calipers.types import Judgment, Rating, Scores


@dataclass(frozen=True, slots=True)
class Believed:
    """``within``'s scores; where it has no standard error, that of a mean of K independent beliefs of these ``Rating.spread``.

    None where one of the K ratings came without probabilities.
    """

    within: Aggregator = two_way

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """As ``within``, with the errors it leaves open."""
        scores = self.within(judgments, n)
        if not any(type(one) is Rating and one.spread is not None for one in judgments):
            return scores
        spreads: dict[int, list[float | None]] = {}
        for one in judgments:
            if isinstance(one, Rating):
                spreads.setdefault(one.item, []).append(one.spread)
        known = zip(scores.values, scores.stderrs, strict=True)
        return Scores(
            scores.values,
            tuple(
                _error(spreads.get(item, ())) if value is not None and error is None else error
                for item, (value, error) in enumerate(known)
            ),
        )


def _error(spreads: Sequence[float | None]) -> float | None:
    told = [one for one in spreads if one is not None]
    if not told or len(told) < len(spreads):
        return None
    return round(math.sqrt(math.fsum(one**2 for one in told)) / len(told), DIGITS)
