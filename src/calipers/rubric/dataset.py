"""Scores of many responses to the one figure of a benchmark.

Here, and only here, a mean is clipped: HealthBench clips the mean over examples and never an example.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DatasetScore:
    """``mean`` is in [0, 1], ``stderr`` its bootstrap standard deviation; both None where nothing was graded.

    ``graded`` examples count; ``ungraded`` ones are left out, and told, and never counted as 0.
    """

    mean: float | None
    stderr: float | None
    graded: int
    ungraded: int


def dataset_score(scores: Sequence[float | None], *, bootstraps: int = 1000, seed: int = 0) -> DatasetScore:
    """The mean of per-example scores, clipped to [0, 1], and the deviation of that over resampled data sets.

    Source: openai/simple-evals, ``_compute_clipped_stats`` (mean clipped; standard deviation, with n in the denominator,
    of the clipped means of 1000 resamples with replacement). Resampling is seeded, and so repeatable.
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
