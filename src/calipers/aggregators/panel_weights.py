"""Learns the weight of each judge of a panel, without labels.

A weight follows from how well the judge repeats itself (over samples, or better over swapped orders). If any judge was
never asked twice, the weights follow from how well each judge agrees with the others (one common factor: Spearman,
*American Journal of Psychology* 15, 1904). If repeats are known, agreement gives no judge a larger weight, because
judges that share a weakness agree best. Not responsible for how weights are used (``panel``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

_UNSEEN = 0.05
"""Noise that a judge may have beyond what its repeats show. Without it, a judge that always repeats itself would get
all the weight. Chosen on the panels of docs/calibration.md; for most of these panels, values from 0.02 to 0.1 give the
same result.
"""

_BELIEF = 10.0
"""The weight, in groups, of the assumption that all judges agree equally well."""

_EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class Weights:
    """The judges' weights, which sum to 1, with each judge's ``agreement`` and ``repeatability`` (None if unknown).

    ``agreement`` is a judge's estimated correlation with what the panel has in common. ``repeatability`` is the
    correlation between two of its calls within groups.
    """

    weights: tuple[float, ...]
    agreement: tuple[float | None, ...]
    repeatability: tuple[float | None, ...]


def learn_weights(calls: Sequence[Array]) -> Weights:
    """Learn the judges' weights, to aggregate their ratings into scores, from unlabelled calls.

    ``calls`` has an array per judge (groups, calls, members), with NaN for no score. All arrays have the same groups
    and members; the numbers of calls may differ. A judge's weight follows from its repeatability, or from its agreement
    if any judge was never asked twice. A judge with less than half of the weight that does not agree with the others
    beyond chance (one standard error) gets weight 0.
    """
    judges = len(calls)
    repeats = tuple(repeatability(one) for one in calls)
    if judges == 1:
        return Weights((1.0,), (None,), repeats)
    by_group = _agreement(calls)
    agreement = _loadings(by_group)
    if any(one is None for one in repeats):
        raw = list(agreement)
    else:
        raw = [max(one, 0.0) / (_UNSEEN + 1 - max(one, 0.0)) for one in repeats if one is not None]
    weights = _normalised_weights(raw)
    trusted = _agrees_beyond_chance(by_group, weights)
    return Weights(
        _normalised_weights([one if kept else 0.0 for one, kept in zip(raw, trusted, strict=True)]), agreement, repeats
    )


def _normalised_weights(raw: Sequence[float]) -> tuple[float, ...]:
    """Scale the judges' weights to the sum 1; if all are 0, return equal weights."""
    total = math.fsum(raw)
    return tuple(one / total for one in raw) if total > 0 else (1 / len(raw),) * len(raw)


def repeatability(calls: Array) -> float | None:
    """Return a judge's repeatability, a basis of its weight when judges' ratings are aggregated into scores.

    It is the correlation between consecutive calls within groups, in [-1, 1]; None for single calls. ``calls`` has the
    shape (groups, calls, members). It is an intraclass correlation (Shrout & Fleiss 1979), pooled over groups: the
    share of a call's variance within groups that is repeated.
    """
    if calls.shape[1] < 2:
        return None
    following = np.roll(calls, -1, axis=1) if calls.shape[1] > 2 else calls[:, ::-1]
    both = ~(np.isnan(calls) | np.isnan(following))
    one, other = _centred(calls, both), _centred(following, both)
    size = float((one**2).sum() + (other**2).sum()) / 2
    return float((one * other).sum()) / size if size > _EDGE else None


def _centred(values: Array, known: Flags) -> Array:
    """Return scores less their mean over the last axis; 0 where they are not ``known``."""
    count = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    filled = np.where(known, values, 0.0)
    return np.where(known, filled - filled.sum(axis=-1, keepdims=True) / count, 0.0)


def _agreement(calls: Sequence[Array]) -> Array:
    """Return correlations of every two judges in each group over their first four calls: (judges, judges, groups)."""
    judges, groups = len(calls), len(calls[0])
    rank = min(4, *(one.shape[1] for one in calls))
    found = np.zeros((judges, judges, groups))
    for i in range(judges):
        for j in range(i):
            by_call = [_correlations(calls[i][:, call], calls[j][:, call]) for call in range(rank)]
            found[i, j] = found[j, i] = np.mean(by_call, axis=0)
    return found


def _loadings(by_group: Array) -> tuple[float, ...]:
    """Return each judge's correlation with the common factor, shrunk to the mean of all judges if groups are few."""
    groups = by_group.shape[2]
    loadings = _one_factor_loadings(np.clip(by_group.mean(axis=2), 0.02, 1.0))
    shrunk = (groups * loadings + _BELIEF * loadings.mean()) / (groups + _BELIEF)
    return tuple(float(one) for one in shrunk)


def _agrees_beyond_chance(by_group: Array, weights: Sequence[float]) -> list[bool]:
    """Return for each judge whether it agrees with the weighted others by more than one standard error.

    A judge with at least half of the weight always counts as agreeing.
    """
    groups = by_group.shape[2]
    trusted = []
    for judge, weight in enumerate(weights):
        rest = 1 - weight
        if weight >= 0.5 or rest <= 0 or groups < 2:
            trusted.append(True)
            continue
        others = np.array([0.0 if other == judge else share / rest for other, share in enumerate(weights)])
        agreed = others @ by_group[judge]
        trusted.append(bool(agreed.mean() > agreed.std(ddof=1) / math.sqrt(groups)))
    return trusted


def _correlations(one: Array, other: Array) -> Array:
    """Return the Pearson correlation of two judges in each group over members both scored; 0 if either is constant."""
    both = ~(np.isnan(one) | np.isnan(other))
    a, b = _centred(one, both), _centred(other, both)
    size = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    return np.where(size > _EDGE, (a * b).sum(axis=-1) / np.where(size > _EDGE, size, 1.0), 0.0)


def _one_factor_loadings(table: Array) -> Array:
    """Return loadings whose products are closest to the correlations off the diagonal (minimum residuals)."""
    judges = len(table)
    loadings = np.full(judges, math.sqrt(float(table[~np.eye(judges, dtype=bool)].mean())))
    others = [[j for j in range(judges) if j != i] for i in range(judges)]
    for _ in range(100):
        for i in range(judges):
            rest = loadings[others[i]]
            loadings[i] = min(max(float(table[i, others[i]] @ rest / (rest @ rest)), 0.02), 0.98)
    return loadings
