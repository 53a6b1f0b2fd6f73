"""Scores of many responses to a benchmark's single number.

Only here is a mean clipped: HealthBench clips the mean over examples, never an example.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DatasetScore:
    """``mean`` is in [0, 1], ``stderr`` its bootstrap standard deviation; both None if no example was graded.

    ``graded`` and ``ungraded`` count examples; ungraded ones are ignored, never counted as 0.
    """

    mean: float | None
    stderr: float | None
    graded: int
    ungraded: int


def dataset_score(scores: Sequence[float | None], *, bootstraps: int = 1000, seed: int = 0) -> DatasetScore:
    """The mean of per-example scores, clipped to [0, 1], and the deviation of that over resampled data sets.

    Source: openai/simple-evals, ``_compute_clipped_stats`` (mean clipped; standard deviation, with denominator n,
    of the clipped means of 1000 resamples with replacement). Resampling is seeded.
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
