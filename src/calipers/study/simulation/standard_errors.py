"""The standard errors of a simulated judge's scores, in units of scores: what calipers has from repeated answers.

One answer's variance, given the opinion, follows from the noise and from obedience to injected text. It is pooled over
a batch's answers, as ``aggregators.noise`` pools a judge's. Position effects are taken as known and are no part of it.
Not responsible for what standard errors are used for (``treatment``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.settings import JudgeSettings

_REACH: Final = 8.0
"""Standard deviations beyond which noise carries no opinion over a threshold: its chance there is below 1e-15."""
_FINENESS: Final = 25
"""Points of a curve in each standard deviation of noise: interpolation is right to some 2e-4 of a variance."""


class PooledNoise:
    """The variance of one answer of a judge in a step, pooled over the answers of each run."""

    def __init__(self, judge: JudgeSettings, injected: Array) -> None:
        self._judge = judge
        self._injected = injected
        self._total: Array = np.zeros((len(injected), 1, 1))
        self._answers: Array = np.zeros((len(injected), 1, 1))

    def add(self, opinions: Array, usable: Array) -> None:
        """Add one answer on each response, given the opinions before noise and injected text, all (S, B, G).

        ``usable`` is 1 where the answer arrived, else 0.
        """
        if _is_plain(self._judge):
            return
        variance = usable * answer_variance(self._judge, opinions, self._injected)
        self._total = self._total + variance.sum(axis=(1, 2), keepdims=True)
        self._answers = self._answers + usable.sum(axis=(1, 2), keepdims=True)

    def stderr(self, count: Array | int) -> Array:
        """Return the standard error of the mean of ``count`` answers: (S, 1, 1), or (S, B, G) if counts differ.

        ``count`` is an array (S, B, G) of each score's usable answers, or the number of every score's.
        """
        root = np.sqrt(np.maximum(count, 1))
        if _is_plain(self._judge):
            return np.asarray(self._judge.noise / root * np.ones_like(self._total))
        return np.asarray(np.sqrt(self._total / np.maximum(self._answers, 1)) / root)


def answer_variance(judge: JudgeSettings, opinions: Array, injected: Array) -> Array:
    """Return the variance of one answer's score for each opinion (S, B, G), which is before noise and injected text.

    ``injected`` is 1 where a response has injected text, else 0. Where the judge obeys it with the chance q, scores are
    a mixture of those with and those without it, and their variance is
    q Var(with) + (1 - q) Var(without) + q (1 - q) (difference of the means)².
    """
    without = _moments(judge, opinions)
    if not (judge.injection and judge.obeys):
        return without.variance
    obeying = _moments(judge, opinions + judge.injection)
    obeys = judge.obeys * injected
    mixed = obeys * obeying.variance + (1 - obeys) * without.variance
    return np.asarray(mixed + obeys * (1 - obeys) * (obeying.mean - without.mean) ** 2)


def _is_plain(judge: JudgeSettings) -> bool:
    """Whether every answer's variance is that of the noise, whatever the opinion."""
    return not (len(judge.scores) or judge.levels or (judge.injection and 0 < judge.obeys < 1))


@dataclass(frozen=True, slots=True)
class _Moments:
    """The mean and the variance of one answer's score, for each opinion."""

    mean: Array
    variance: Array


def _moments(judge: JudgeSettings, opinions: Array) -> _Moments:
    if judge.levels:
        steps = judge.levels - 1
        thresholds = tuple((step + 0.5) / steps for step in range(steps))
        scores = tuple(step / steps for step in range(judge.levels))
    elif len(judge.scores):
        thresholds, scores = tuple(map(float, judge.thresholds)), tuple(map(float, judge.scores))
    else:
        return _Moments(opinions, np.full_like(opinions, judge.noise**2))
    if not thresholds:
        return _Moments(np.full_like(opinions, scores[0]), np.zeros_like(opinions))
    points, curves = _curves(thresholds, scores, judge.noise)
    return _Moments(np.interp(opinions, points, curves.mean), np.interp(opinions, points, curves.variance))


@lru_cache(maxsize=64)
def _curves(thresholds: tuple[float, ...], scores: tuple[float, ...], noise: float) -> tuple[Array, _Moments]:
    """Return opinions, ascending, and the mean and the variance of a score at each, between which both are smooth.

    Moments are taken about the score without noise. A threshold t at which the score rises by d adds to the mean d
    times the chance that noise carries the opinion over it; for thresholds below the opinion, d is negative.
    """
    offsets = np.arange(-_REACH, _REACH, 1 / _FINENESS) * noise
    unit = noise / _FINENESS
    points = np.unique(np.round((np.array(thresholds)[:, None] + offsets) / unit)) * unit
    centre = np.array(scores)[np.searchsorted(thresholds, points, "right")]
    first, second = np.zeros_like(points), np.zeros_like(points)
    for threshold, low, high in zip(thresholds, scores, scores[1:], strict=False):
        reach = _REACH * noise
        near = slice(*np.searchsorted(points, [threshold - reach, threshold + reach]))
        z = (points[near] - threshold) / noise
        chance = np.array([0.5 * math.erfc(abs(one) / math.sqrt(2)) for one in z])
        sign = np.where(points[near] >= threshold, -1, 1)
        first[near] += sign * (high - low) * chance
        second[near] += sign * ((high - centre[near]) ** 2 - (low - centre[near]) ** 2) * chance
    return points, _Moments(centre + first, np.maximum(second - first**2, 0.0))
