"""Fits weights of features to pairs: logistic regression on differences, by Newton's method, with a penalty."""

from __future__ import annotations

from typing import Final

import numpy as np

from calipers.backends.local.features import Array
from calipers.distilling.pairs import Pairs

PENALTY: Final = 40.0
"""Of a weight of 1 per standard deviation of a feature's differences. Chosen on the recorded sets, like the trees."""
_STEPS: Final = 30
_CONSTANT: Final = 1e-3


def fit_linear(pairs: Pairs) -> Array:
    """Return a weight for each relative feature of a local judge. Features that hardly vary get a small one."""
    rows = pairs.differences
    scale = rows.std(axis=0) + _CONSTANT
    rows = rows / scale
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        gradient = rows.T @ (pairs.weights * (likely - pairs.targets)) + PENALTY * weights
        curvature = (rows * (pairs.weights * likely * (1 - likely))[:, None]).T @ rows
        step = np.linalg.solve(curvature + PENALTY * np.eye(len(weights)), gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    return np.asarray(weights / scale)
