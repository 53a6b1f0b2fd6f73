"""Learns the weight of each judge of a panel, without labels or from gold.

Without labels: if every judge was asked twice or more, the weights are those that best predict what the panel would say
without noise, where each judge has a vote by how well it repeats itself (over samples, or better over swapped orders).
This is the regression of Kelley (*Interpretation of Educational Measurements*, 1927) for several judges: the inverse
covariance of their scores times the covariance with the panel's noiseless scores. If any judge was never asked twice,
only agreement is known (one common factor: Spearman, *American Journal of Psychology* 15, 1904). Agreement does not
tell quality from shared errors, so these weights stay close to equal ones.

From gold: gold y is explained by the judges' standard scores, y = Z w + e, within groups, of which there are n. Every
weight is a common value m, about which nothing is known before, plus a deviation of its own, which is normal with
variance t. With s the variance of e and P the projection that removes the mean over judges, the posterior mean of w
solves ``(Z'Z + s/t P) w = Z'y``. The ratio s/t is the one with the highest restricted likelihood (Patterson & Thompson,
*Biometrika* 58, 1971; with m and s integrated out, its -2 log is ``n log(y'y - y'Zw) + log det(Z'Z + s/t P) -
(judges - 1) log(s/t)``). If the gold does not show that judges differ, s/t has no upper limit, and the weights are
equal. Without P and with t unlimited, this is least squares: the inverse covariance of the judges' scores times their
covariances with gold, which is reliability over one minus its square for judges with unrelated errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

_UNSEEN = 0.02
"""Noise that a judge may have beyond what its repeats show, as a share of its variance. Without it, judges that always
repeat themselves and each other would have no unique weights.
"""

_VOTE = 4
"""The power of a judge's repeatability that is its vote. At 0 all judges have the same vote, and at a high power only
the one that repeats itself best. Chosen on recorded panels (docs/calibration-figures.md#what-was-measured): up
to a power of 3, several judges that follow the order of a pair outvote one that does not.
"""

_TRUST = 0.25
"""The power of agreement that is a judge's weight if it was asked once. At 1, two judges with common errors get most of
the weight; at 0, a noisy judge counts as much as a good one.
"""

_BELIEF = 10.0
"""The weight, in groups, of the assumption that all judges agree equally well."""

_EDGE = 1e-9

_RATIOS: Final = np.concatenate([np.logspace(-3, 3, 25), [1e6]])
"""Ratios s/t that are compared, in units of the mean of Z'Z's diagonal. The last one gives equal weights."""


def learn_weights(calls: Sequence[Array]) -> tuple[float, ...]:
    """Return the judges' weights, which sum to 1, to aggregate their ratings into scores, from unlabelled calls.

    ``calls`` has an array per judge (groups, calls, members), with NaN for no score. All arrays have the same groups
    and members; the numbers of calls may differ. The weights follow from repeatability, or from agreement if any judge
    was never asked twice. A judge with less than half of the weight that does not agree with the others beyond chance
    (one standard error) gets weight 0.
    """
    judges = len(calls)
    if judges == 1:
        return (1.0,)
    by_group = _agreement(calls)
    known = [one for one in map(repeatability, calls) if one is not None]
    if len(known) < judges:
        raw = [loading**_TRUST for loading in _loadings(by_group)]
    else:
        raw = _noise_removing(by_group.mean(axis=2), _shrunk_repeatability(known, calls))
    weights = _normalised_weights(raw)
    trusted = _agrees_beyond_chance(by_group, weights)
    return _normalised_weights([one if kept else 0.0 for one, kept in zip(raw, trusted, strict=True)])


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


def _shrunk_repeatability(repeats: Sequence[float], calls: Sequence[Array]) -> Array:
    """Return each judge's repeatability, moved towards the mean of all as far as chance explains their differences.

    Empirical Bayes (Efron & Morris 1975), with the sampling variance of an intraclass correlation (Fisher 1925).
    """
    found = np.clip(np.array(repeats), 0.0, 1.0)
    counts = np.array([call.shape[1] for call in calls])
    scored = np.array([max((~np.isnan(call[:, 0])).sum() - len(call), 2) for call in calls])
    error = 2 * ((1 - found) * (1 + (counts - 1) * found)) ** 2 / (counts * (counts - 1) * (scored - 1))
    between = max(float(found.var(ddof=1) - error.mean()), 0.0)
    share = between / (between + error) if between > 0 else np.zeros(len(found))
    return np.asarray(np.where(error > 0, share, 1.0) * (found - found.mean()) + found.mean())


def _noise_removing(table: Array, repeats: Array) -> list[float]:
    """Return weights that best predict the panel's vote without noise, from one call of each judge.

    ``table`` has the correlations between judges. Judge k votes with ``repeats[k]`` to the power ``_VOTE`` for its
    noiseless scores, whose correlation with judge j's call is ``table[j, k] / sqrt(repeats[k])``.
    """
    true = np.sqrt(np.maximum(repeats, 0.02))
    same = np.eye(len(repeats), dtype=bool)
    noiseless = np.where(same, 1.0, np.clip(table / np.outer(true, true), 0.0, 1.0))
    observed = np.where(same, 1.0 + _UNSEEN, noiseless * np.outer(true, true))
    return non_negative_solution(observed, (noiseless * true[:, None]) @ repeats**_VOTE)


def non_negative_solution(system: Array, target: Array) -> list[float]:
    """Return the judges' weights that solve ``system`` for ``target``; judges that would get less than 0 get 0.

    ``system`` is symmetric and positive definite, as covariances of scores are. Judges are left out one at a time, the
    most negative one first.
    """
    weights, used = np.zeros(len(target)), np.arange(len(target))
    while len(used):
        solved = np.linalg.solve(system[np.ix_(used, used)], target[used])
        if (solved >= 0).all():
            weights[used] = solved
            break
        used = np.delete(used, int(solved.argmin()))
    return [float(weight) for weight in weights]


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


def gold_weights(scores: Array, products: Array, gold: float, groups: int) -> tuple[float, ...]:
    """Return weights to aggregate the judges' standard scores with, which are 0 or more and sum to 1.

    ``scores`` is Z'Z (judges, judges), ``products`` Z'y (judges), and ``gold`` y'y, summed over so many ``groups`` with
    gold, from values less their group's mean. A group counts as one observation, because the judges' errors on its
    members go together. Weights are equal if nothing is known, or if the judges together contradict gold.
    """
    judges = len(products)
    equal = (1 / judges,) * judges
    scale = float(np.trace(scores)) / judges
    if judges == 1 or groups <= judges or scale <= 0:
        return equal
    ratios = _RATIOS * scale
    apart = np.eye(judges) - 1 / judges
    ridge = 1e-9 * scale * np.eye(judges)  # two judges with the same scores would have no unique weights
    systems = scores + ridge + ratios[:, None, None] * apart
    fitted = np.linalg.solve(systems, np.broadcast_to(products[:, None], (len(ratios), judges, 1)))[:, :, 0]
    left = np.maximum(gold - fitted @ products, 1e-9 * gold)
    worse = groups * np.log(left) + np.linalg.slogdet(systems)[1] - (judges - 1) * np.log(ratios)
    weights = np.array(non_negative_solution(systems[int(worse.argmin())], products))
    total = float(weights.sum())
    return tuple(float(weight) / total for weight in weights) if total > 0 else equal
