"""Learns the weight of each judge of a panel from gold, shrunk to equal weights by how much the gold shows.

Gold y is explained by the judges' standard scores, y = Z w + e, within groups, of which there are n. Every weight is a
common value m, about which nothing is known before, plus a deviation of its own, which is normal with variance t. With
s the variance of e and P the projection that removes the mean over judges, the posterior mean of w solves ``(Z'Z + s/t
P) w = Z'y``. The ratio s/t is the one with the highest restricted likelihood (Patterson & Thompson, *Biometrika* 58,
1971; with m and s integrated out, its -2 log is ``n log(y'y - y'Zw) + log det(Z'Z + s/t P) - (judges - 1) log(s/t)``).
If the gold does not show that judges differ, s/t has no upper limit, and the weights are equal. Without P and with t
unlimited, this is least squares: the inverse covariance of the judges' scores times their covariances with gold, which
is reliability over one minus its square for judges with unrelated errors.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from calipers.aggregators.panel_weights import Array, non_negative_solution

_RATIOS: Final = np.concatenate([np.logspace(-3, 3, 25), [1e6]])
"""Ratios s/t that are compared, in units of the mean of Z'Z's diagonal. The last one gives equal weights."""


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
    return tuple(float(one) / total for one in weights) if total > 0 else equal
