"""Learns the weight of each judge of a panel, without labels or from gold.

Without labels, the weights are those that best predict what the panel would say without noise, where each judge has a
vote by how well it repeats itself (over samples, or better over swapped orders) and by how well it agrees with the
others. This is the regression of Kelley (*Interpretation of Educational Measurements*, 1927) for several judges: the
inverse covariance of their scores times the covariance with the panel's noiseless scores. If any judge was never asked
twice, no noise is known, and the votes are by agreement alone. A judge that follows a fixed rule repeats itself better
than any honest judge; only its agreement shows it. So agreement is squared in the vote, and all weights are moved
towards equal ones by how far the judges that got them disagree (less one standard error of their agreement): of two
judges that contradict each other, nothing says which is right. Only judges whose scores are mostly noise get less.

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
the one that repeats itself best. Chosen on recorded panels (docs/calibration-figures.md#what-was-measured).
"""

_STEADY = 0.4
"""The repeatability from which judges have the same weight where agreement says nothing: below it, most is noise."""

_SPARE = 0.1
"""The share of equal weights in the weights that a panel's agreement is measured with: one judge alone has none."""

_EDGE = 1e-9

_RATIOS: Final = np.concatenate([np.logspace(-3, 3, 25), [1e6]])
"""Ratios s/t that are compared, in units of the mean of Z'Z's diagonal. The last one gives equal weights."""


def learn_weights(calls: Sequence[Array]) -> tuple[float, ...]:
    """Return the judges' weights, which sum to 1, to aggregate their ratings into scores, from unlabelled calls.

    ``calls`` has an array per judge (groups, calls, members), with NaN for no score. All arrays have the same groups
    and members; the numbers of calls may differ. Scores are standardised within each call, so that no group counts more
    than another.
    """
    judges = len(calls)
    if judges == 1:
        return (1.0,)
    standard = [standard_scores(call) for call in calls]
    known = [repeat for repeat in map(repeatability, standard) if repeat is not None]
    repeats = np.ones(judges) if len(known) < judges else _shrunk_repeatability(known, standard)
    true = np.sqrt(np.maximum(repeats, 0.02))
    apart = ~np.eye(judges, dtype=bool)
    by_group = np.where(apart[:, :, None], _agreement(standard) / np.outer(true, true)[:, :, None], 0.0)
    agreement = np.clip(by_group.mean(axis=2), -1.0, 1.0)
    votes = repeats**_VOTE * np.maximum(agreement.sum(axis=1) / (judges - 1), 0.0) ** 2
    noiseless = np.where(apart, np.maximum(agreement, 0.0), 1.0)
    weights = np.array(_normalised_weights(_noise_removing(noiseless, true, votes)))
    shares = weights + _SPARE / judges
    pairs = np.where(apart, np.outer(shares, shares), 0.0)
    support = np.einsum("ij,ijg->g", pairs / pairs.sum(), by_group)
    agreed = min(max(float(support.mean() - support.std() / math.sqrt(len(support))), 0.0), 1.0)
    steady = np.minimum(np.maximum(repeats, 0.02), _STEADY)
    return tuple(float(weight) for weight in agreed * weights + (1 - agreed) * steady / steady.sum())


def _normalised_weights(raw: Sequence[float]) -> tuple[float, ...]:
    """Scale the judges' weights to the sum 1; if all are 0, return equal weights."""
    total = math.fsum(raw)
    return tuple(weight / total for weight in raw) if total > 0 else (1 / len(raw),) * len(raw)


def repeatability(calls: Array) -> float | None:
    """Return a judge's repeatability, a basis of its weight when judges' ratings are aggregated into scores.

    It is the correlation between consecutive calls within groups, in [-1, 1]; None for single calls. ``calls`` has the
    shape (groups, calls, members). It is an intraclass correlation (Shrout & Fleiss 1979), pooled over groups: the
    share of a call's variance within groups that is repeated.
    """
    if calls.shape[1] < 2:
        return None
    following = np.roll(calls, -1, axis=1) if calls.shape[1] > 2 else calls[:, ::-1]
    in_both = ~(np.isnan(calls) | np.isnan(following))
    first, second = centred_values(calls, in_both), centred_values(following, in_both)
    size = float((first**2).sum() + (second**2).sum()) / 2
    return float((first * second).sum()) / size if size > _EDGE else None


def centred_values(values: Array, known: Flags) -> Array:
    """Return scores minus their mean over the ``known`` members of a group (the last axis); 0 for the others."""
    count = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    filled = np.where(known, values, 0.0)
    return np.where(known, filled - filled.sum(axis=-1, keepdims=True) / count, 0.0)


def _shrunk_repeatability(repeats: Sequence[float], calls: Sequence[Array]) -> Array:
    """Return each judge's repeatability, moved towards the mean of all as far as chance explains their differences.

    Empirical Bayes (Efron & Morris 1975), with the sampling variance of an intraclass correlation (Fisher 1925).
    """
    bounded = np.clip(np.array(repeats), 0.0, 1.0)
    counts = np.array([call.shape[1] for call in calls])
    scored = np.array([max((~np.isnan(call[:, 0])).sum() - len(call), 2) for call in calls])
    error = 2 * ((1 - bounded) * (1 + (counts - 1) * bounded)) ** 2 / (counts * (counts - 1) * (scored - 1))
    between = max(float(bounded.var(ddof=1) - error.mean()), 0.0)
    share = between / (between + error) if between > 0 else np.zeros(len(bounded))
    return np.asarray(np.where(error > 0, share, 1.0) * (bounded - bounded.mean()) + bounded.mean())


def _noise_removing(noiseless: Array, true: Array, votes: Array) -> list[float]:
    """Return weights that best predict the sum of noiseless scores by ``votes``, from one call of each judge.

    ``noiseless`` has the correlations between judges' noiseless scores, ``true`` those of a call with its judge's own.
    """
    observed = np.where(np.eye(len(votes), dtype=bool), 1.0 + _UNSEEN, noiseless * np.outer(true, true))
    return non_negative_solution(observed, (noiseless * true[:, None]) @ votes)


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
    judges = len(calls)
    rank = min(4, *(rows.shape[1] for rows in calls))
    table = np.zeros((judges, judges, len(calls[0])))
    for i in range(judges):
        for j in range(i):
            table[i, j] = table[j, i] = correlations(calls[i][:, :rank], calls[j][:, :rank]).mean(axis=1)
    return table


def standard_scores(scores: Array) -> Array:
    """Return scores minus their mean over the last axis, divided by their standard deviation; 0 if all are equal."""
    known = ~np.isnan(scores)
    off = centred_values(scores, known)
    spread = np.sqrt((off**2).sum(axis=-1, keepdims=True) / np.maximum(known.sum(axis=-1, keepdims=True), 1))
    return np.where(known, np.where(spread > _EDGE, off / np.where(spread > _EDGE, spread, 1.0), 0.0), np.nan)


def correlations(one: Array, other: Array) -> Array:
    """Return the Pearson correlation of two judges over members both scored in a call; 0 if either is constant."""
    in_both = ~(np.isnan(one) | np.isnan(other))
    a, b = centred_values(one, in_both), centred_values(other, in_both)
    size = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    return np.where(size > _EDGE, (a * b).sum(axis=-1) / np.where(size > _EDGE, size, 1.0), 0.0)


def gold_weights(scores: Array, products: Array, gold: float, groups: int) -> tuple[float, ...]:
    """Return weights to aggregate the judges' standard scores with, which are 0 or more and sum to 1.

    ``scores`` is Z'Z (judges, judges), ``products`` Z'y (judges), and ``gold`` y'y, summed over so many ``groups`` with
    gold, from values less their group's mean. A group counts as one observation, because the judges' errors on its
    members go together. Weights are equal if nothing is known, or if the judges together contradict gold.
    """
    judges = len(products)
    scale = float(np.trace(scores)) / judges
    if judges == 1 or groups <= judges or scale <= 0:
        return (1 / judges,) * judges
    ratios = _RATIOS * scale
    apart = np.eye(judges) - 1 / judges
    ridge = 1e-9 * scale * np.eye(judges)  # two judges with the same scores would have no unique weights
    systems = scores + ridge + ratios[:, None, None] * apart
    fitted = np.linalg.solve(systems, np.broadcast_to(products[:, None], (len(ratios), judges, 1)))[:, :, 0]
    left = np.maximum(gold - fitted @ products, 1e-9 * gold)
    worse = groups * np.log(left) + np.linalg.slogdet(systems)[1] - (judges - 1) * np.log(ratios)
    return _normalised_weights(non_negative_solution(systems[int(worse.argmin())], products))
