"""What is measured of a run: figures of a step's rollouts, and of answers to held-out prompts. Pure.

Not responsible for what follows from them over runs (``summary``).
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from calipers.study.training.judged import Judged
from calipers.study.training.task import Features

FIGURES: Final = (*(one.name for one in fields(Features) if one.name != "right"), "truth", "overconfident")
"""The figures of responses: means over a batch. ``length`` is in tokens, the others are shares (0-1)."""


def response_figures(found: Features) -> dict[str, float]:
    """Return what is measured of a run's responses: means over a batch, under the names in FIGURES."""
    named = {name: getattr(found, name) for name in FIGURES if name != "truth"}
    return {name: float(np.mean(values)) for name, values in ({"truth": found.right} | named).items()}


def step_figures(found: Features, judged: Judged, given: NDArray[Any], size: int) -> dict[str, float | None]:
    """Return what is measured of a run's step: the figures of its responses, of its groups and of its rewards.

    ``given`` are the advantages, (rollouts,). ``length_spread`` is the standard deviation of lengths in a group;
    ``truth_spread`` and ``reward_spread`` are the shares of groups whose responses are not all right or all wrong, and
    not all rewarded alike. ``missing`` is the share of rollouts without a reward, ``reward`` the mean of the others.
    ``unscored`` is the share that the judge gave none, and ``weight`` the mean weight of the advantages.
    ``length_pull`` and ``truth_pull`` are the means of the advantage times the feature, standardised in its group: the
    direction in which the step moves the policy.
    """
    lengths, right = found.length.reshape(-1, size), found.right.reshape(-1, size)
    values = np.array([np.nan if one is None else one for one in judged.rewards], dtype=float).reshape(-1, size)
    known = values[~np.isnan(values)]
    filled = np.where(np.isnan(values), np.inf, values)
    highest = np.where(np.isnan(values), -np.inf, values).max(axis=1)
    pulled = given.reshape(-1, size)
    return {
        **response_figures(found),
        "length_spread": float(lengths.std(axis=1, ddof=1).mean()),
        "truth_spread": float((right.min(axis=1) != right.max(axis=1)).mean()),
        "reward_spread": float((filled.min(axis=1) < highest).mean()),
        "missing": float(np.isnan(values).mean()),
        "unscored": judged.unscored,
        "reward": float(known.mean()) if known.size else None,
        "weight": 1.0 if judged.weights is None else math.fsum(judged.weights) / len(judged.weights),
        "length_pull": float((pulled * _standardised(lengths)).mean()),
        "truth_pull": float((pulled * _standardised(right)).mean()),
    }


def _standardised(values: NDArray[Any]) -> NDArray[Any]:
    """Return each group's values with mean 0 and standard deviation 1; 0 in a group of equal values."""
    centred = values - values.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    found: NDArray[Any] = centred / np.where(spread > 0, spread, 1)
    return found
