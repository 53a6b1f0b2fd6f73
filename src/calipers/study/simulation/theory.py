"""What theory predicts of a policy's first step, for the simulator to be held against before it is believed.

Each is an exact expectation over groups of independent responses to one prompt; what it assumes is stated. Not
responsible for what follows later in a run, when the policy has changed.
"""

from __future__ import annotations

import math

import numpy as np

from calipers.study.simulation.advantages import advantages
from calipers.study.simulation.arrays import Array
from calipers.study.simulation.settings import Scale


def group_factor(size: int) -> float:
    """Return E[s] / σ times (G - 1) / G for groups of ``size`` normal scores, s with ddof 1: the finite-G correction.

    For scores of standard deviation σ, division by the group's own s leaves E[A r] = σ (G - 1) / G c₄(G) with
    c₄(G) = √(2 / (G - 1)) Γ(G / 2) / Γ((G - 1) / 2) (Holtzman 1950); without division it is σ² (G - 1) / G.
    """
    c4 = math.sqrt(2 / (size - 1)) * math.exp(math.lgamma(size / 2) - math.lgamma((size - 1) / 2))
    return (size - 1) / size * c4


def quality_drift(deviation: float, noise: float, size: int, *, scale: Scale = "group") -> float:
    """Return the drift cov(quality, A) of normal quality with this standard deviation under normal ``noise``.

    After division by the group's standard deviation it is √R σ times ``group_factor``, with the reliability
    R = σ² / (σ² + noise²): noise attenuates by the root of the reliability. Without division it is σ² (G - 1) / G,
    whatever the noise.
    """
    if scale == "none":
        return deviation**2 * (size - 1) / size
    reliability = deviation**2 / (deviation**2 + noise**2)
    return math.sqrt(reliability) * deviation * group_factor(size)


def verdict_drift(
    p: float, tpr: float, fpr: float, size: int, *, scale: Scale = "group", epsilon: float = 1e-4
) -> float:
    """Return the drift cov(right, A) where responses are right with probability ``p`` and verdicts err by class.

    It is p (1 - p) J (E[A | passed] - E[A | not passed]) with J = TPR - FPR. A verdict that passes is never worth less
    than one that does not, so that J alone decides the sign.
    """
    passes = p * tpr + (1 - p) * fpr
    others = [math.comb(size - 1, k) * passes**k * (1 - passes) ** (size - 1 - k) for k in range(size)]
    worth = {}
    for verdict in (0.0, 1.0):
        rows = np.array([[verdict] + [1.0] * k + [0.0] * (size - 1 - k) for k in range(size)])
        gained = advantages(rows[None], scale=scale, epsilon=epsilon)[0, :, 0]
        worth[verdict] = math.fsum(chance * float(one) for chance, one in zip(others, gained, strict=True))
    return p * (1 - p) * (tpr - fpr) * (worth[1.0] - worth[0.0])


def zeroed_drift(
    covariance: float, failures: float, reward: float, failure_covariance: float, third: float = 0.0
) -> float:
    """Return cov(x, r (1 - F)), the drift of a feature x where failed judgments (F = 1) count as a reward of zero.

    It is (1 - f) cov(x, r) - E[r] cov(x, F) - E[(x - E x)(r - E r)(F - f)]. Failures that are independent of content
    attenuate, (1 - f); those that are linked to x steer, with the mean reward as their weight. The ``third`` moment is
    0 if r or F is independent of the other two.
    """
    return (1 - failures) * covariance - reward * failure_covariance - third


def score_drift(covariance: float, variance: float, size: int) -> float:
    """Return the drift cov(x, A) after division by the group's standard deviation, from within-group moments of scores.

    ``covariance`` is cov(x, score) and ``variance`` that of the scores, both within groups with ddof 1. Exact for
    normal scores, and nearly so where noise is not small beside a right-or-wrong quality.
    """
    return covariance / math.sqrt(variance) * group_factor(size)


def arrival_covariance(chances: Array, z: Array, effects: Array) -> float:
    """Return the covariance, within groups with ddof 1, of length and what positions add where shorter arrives earlier.

    ``chances`` are the probabilities of the lengths, ``z`` their standardised values, ascending, and ``effects`` what
    each of the G positions adds (mean 0; averaged over the orders that are shown). A response that is longer than a
    share v of all has k of its G - 1 rivals before it with the probability Binomial(k; G - 1, v), so that
    cov = G / (G - 1) E[z Σ_k Binomial(k; G - 1, v) effect_k]. Equal lengths arrive in random order: v is uniform there.
    """
    size, parts = len(effects), 64
    below = np.cumsum(chances) - chances
    v = below[:, None] + chances[:, None] * (np.arange(parts) + 0.5) / parts
    ways = np.array([math.comb(size - 1, k) for k in range(size)])
    k = np.arange(size)
    expected = (ways * v[..., None] ** k * (1 - v[..., None]) ** (size - 1 - k) * effects).sum(axis=-1).mean(axis=1)
    return float((chances * z * expected).sum()) * size / (size - 1)
