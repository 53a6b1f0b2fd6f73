"""Turns the rubric scores of many responses into a benchmark's single number.

A mean is clipped only here: HealthBench clips the mean over all examples, never the score of an example.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DatasetScore:
    """A benchmark's score: ``mean`` is in [0, 1], ``stderr`` its bootstrap standard deviation; None without examples.

    ``graded`` and ``ungraded`` count examples. Ungraded examples are ignored, and never counted as 0.
    """

    mean: float | None
    stderr: float | None
    graded: int
    ungraded: int


def dataset_score(scores: Sequence[float | None], *, bootstraps: int = 1000, seed: int = 0) -> DatasetScore:
    """Return the mean of the examples' rubric scores, clipped to [0, 1], and its standard deviation.

    The standard deviation is over resampled data sets. Source: openai/simple-evals, ``_compute_clipped_stats`` (mean
    clipped; standard deviation, with denominator n, of the clipped means of 1000 resamples with replacement).
    Resampling is seeded.
    """
    known = [score for score in scores if score is not None]
    if not known:
        return DatasetScore(None, None, 0, len(scores))
    import numpy as np  # noqa: PLC0415 - only whole data sets need it; importing calipers stays light

    values = np.array(known, dtype=float)
    generator = np.random.default_rng(seed)
    means = [_clipped(float(values[generator.integers(0, len(values), len(values))].mean())) for _ in range(bootstraps)]
    return DatasetScore(
        _clipped(math.fsum(known) / len(known)), float(np.std(means)), len(known), len(scores) - len(known)
    )


def _clipped(value: float) -> float:
    return min(max(value, 0.0), 1.0)
