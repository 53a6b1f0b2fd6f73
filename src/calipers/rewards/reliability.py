"""How reliable a group's scores are: the share of their variance that is not noise, with its interval.

R = max(0, 1 - mean(se²) / s²), where s² is the variance of the scores (ddof 1) and se their standard errors. With F =
s² / mean(se²), F (1 - ρ) has the F distribution with G - 1 and ν degrees of freedom for normal scores and noise, where
ρ is the reliability of groups like this one and ν the degrees of freedom of the noise. The interval for ρ follows
(Shrout & Fleiss, "Intraclass correlations: uses in assessing rater reliability", *Psychological Bulletin* 86, 1979).
"""

from __future__ import annotations

import math
import statistics
from functools import lru_cache
from typing import Final

from calipers.types import UNKNOWN_RELIABILITY, Reliability, Scores

_DIGITS: Final = 6
_LEVELS: Final = (0.025, 0.975)
_MOST_FREEDOM: Final = 10_000.0
"""More degrees of freedom are as good as infinitely many."""
_FAR_EXPONENT: Final = 400
"""Numbers from 2**400 on have sums of squares near the largest float, 2**1024."""


def reliability_of(scores: Scores) -> Reliability:
    """Return the reliability of aggregated scores; unknown if fewer than two candidates have a score, or if a score's
    standard error is unknown.

    Candidates without a score are left out. Equal scores have the reliability 0, because nothing differs. There is no
    interval where scores or answers are equal, and where the noise was assumed, not estimated.
    """
    known = [
        (value, math.nan if error is None else error)
        for value, error in zip(scores.values, scores.stderrs, strict=True)
        if value is not None
    ]
    if len(known) < 2 or not all(math.isfinite(value) and math.isfinite(error) for value, error in known):
        return UNKNOWN_RELIABILITY
    basis = scores.basis or "assumed"
    known = _near_one(known)
    variance = statistics.variance(value for value, _ in known)
    noise = math.fsum(error**2 for _, error in known) / len(known)
    if variance <= 0:
        return Reliability(0.0, None, basis, scores.freedom)
    value = round(max(0.0, 1 - noise / variance), _DIGITS)
    if not scores.freedom or noise <= 0:
        return Reliability(value, None, basis, scores.freedom)
    low, high = (1 - bound * noise / variance for bound in _bounds(len(known) - 1, min(scores.freedom, _MOST_FREEDOM)))
    interval = (round(min(max(low, 0.0), 1.0), _DIGITS), round(min(max(high, 0.0), 1.0), _DIGITS))
    return Reliability(value, interval, basis, scores.freedom)


def _near_one(known: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return scores and errors divided by a power of two, so that no square overflows or vanishes.

    The reliability is a ratio, which this leaves unchanged to the last bit.
    """
    exponent = max((math.frexp(number)[1] for pair in known for number in pair if number), default=0)
    if abs(exponent) < _FAR_EXPONENT:
        return known
    return [(math.ldexp(value, -exponent), math.ldexp(error, -exponent)) for value, error in known]


@lru_cache(maxsize=1024)
def _bounds(between: int, within: float) -> tuple[float, float]:
    """Return the upper and the lower quantile of F, which bound the reliability of scores from below and above."""
    low, high = (f_quantile(level, between, within) for level in _LEVELS)
    return high, low


@lru_cache(maxsize=1024)
def errors_of_interval(freedom: float | None) -> float:
    """Return how many standard errors a 95 % interval of a score has to either side: Student's t, squared F(1, ν).

    ``freedom`` is that of the scores' reliability, None or 0 if unknown: then the errors count as exact.
    """
    return math.sqrt(f_quantile(0.95, 1, min(max(freedom or _MOST_FREEDOM, 1.0), _MOST_FREEDOM)))


def f_quantile(level: float, first: float, second: float) -> float:
    """Return the quantile of the F distribution at ``level``, for intervals of scores' reliability.

    ``first`` and ``second`` are its degrees of freedom, above 0. P(F <= f) = I_x(first / 2, second / 2) with
    x = first f / (first f + second) (Abramowitz & Stegun, *Handbook of Mathematical Functions*, 26.6.2).
    """
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        if incomplete_beta(middle, first / 2, second / 2) < level:
            low = middle
        else:
            high = middle
    return second * low / (first * (1 - low))


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), for intervals of scores' reliability.

    By its continued fraction (Abramowitz & Stegun, 26.5.8), evaluated from the front (Lentz, *Applied Optics* 15,
    1976).
    """
    if not 0 < x < 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    tiny = 1e-300
    upper, lower = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    fraction = lower
    for m in range(1, 2000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            lower = 1 / ((1 + term * lower) or tiny)
            upper = (1 + term / upper) or tiny
            fraction *= lower * upper
        if abs(lower * upper - 1) < 1e-14:
            break
    return scale * fraction / a
