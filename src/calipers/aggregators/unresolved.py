"""Groups whose scores differ no more than chance would make them: what may become of them.

Not responsible for when to stop asking (``sequential``).
"""

from __future__ import annotations

import math
import statistics

from calipers.aggregators.two_way import DIGITS
from calipers.types import Scores


def is_all_noise(scores: Scores) -> bool:
    """Whether the variance between scores is no more than their mean squared standard error (F at most 1).

    False where errors are not known, or fewer than two candidates have a score: then nothing can be said.
    """
    known = [
        (value, error)
        for value, error in zip(scores.values, scores.stderrs, strict=True)
        if value is not None and error is not None
    ]
    if len(known) < 2:
        return False
    noise = math.fsum(error**2 for _, error in known) / len(known)
    return 0 < noise >= statistics.variance(value for value, _ in known)


def tied(scores: Scores) -> Scores:
    """Every known score at their mean, bit-equal, so that the advantage is 0; standard errors stay."""
    known = [value for value in scores.values if value is not None]
    mean = round(math.fsum(known) / len(known), DIGITS) if known else None
    return Scores(tuple(None if value is None else mean for value in scores.values), scores.stderrs)


def unsaid(scores: Scores) -> Scores:
    """No score at all."""
    nothing = (None,) * len(scores.values)
    return Scores(nothing, nothing)
