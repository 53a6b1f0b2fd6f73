"""A benchmark's score, and its scores by tag: HealthBench's axes and themes.

A tag of criteria (``axis:accuracy``) scores each example by its criteria with that tag alone; a tag of examples
(``theme:hedging``) selects examples.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calipers.rubric.formulas import Met, healthbench
from calipers.types import Rubric

OVERALL: Final = "overall"


@dataclass(frozen=True, slots=True)
class GradedExample:
    """A response to one example of a benchmark: its rubric, the verdicts by criterion id, and the example's tags."""

    rubric: Rubric
    verdicts: Mapping[str, Met]
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetScore:
    """A benchmark's score: ``mean`` is in [0, 1], ``stderr`` its bootstrap standard deviation; None without examples.

    ``graded`` and ``ungraded`` count examples. Ungraded examples are ignored, and never counted as 0.
    """

    mean: float | None
    stderr: float | None
    graded: int
    ungraded: int


def tag_scores(examples: Iterable[GradedExample]) -> dict[str, DatasetScore]:
    """Return the score of all examples, ``overall``, and then of each tag, in alphabetical order.

    Each is the mean of HealthBench scores, clipped to [0, 1] as a mean. An example whose criteria with a tag have no
    positive points has no score for it, and does not count. One with a criterion that has no verdict is ungraded in
    every score that needs this criterion. An example counts once for a tag: by its criteria, if they have it too.
    Source: openai/simple-evals, ``healthbench_eval``: ``calculate_score`` and ``grade_sample``.
    """
    everything: list[float | None] = []
    by_tag: dict[str, list[float | None]] = defaultdict(list)
    for example in examples:
        overall = healthbench(example.rubric, example.verdicts)
        everything.append(overall)
        scores: dict[str, float | None] = dict.fromkeys(example.tags, overall)
        for tag in {tag for criterion in example.rubric.criteria for tag in criterion.tags}:
            tagged = tuple(criterion for criterion in example.rubric.criteria if tag in criterion.tags)
            if any(criterion.points > 0 for criterion in tagged):
                part = replace(example.rubric, criteria=tagged, all_negative="refuse")
                scores[tag] = healthbench(part, example.verdicts)
        for tag, value in scores.items():
            by_tag[tag].append(value)
    # A tag may be called overall as well.
    named = {f"{OVERALL} (tag)" if tag == OVERALL else tag: by_tag[tag] for tag in sorted(by_tag)}
    return {name: dataset_score(values) for name, values in ({OVERALL: everything} | named).items() if values}


def dataset_score(scores: Sequence[float | None], *, seed: int = 0) -> DatasetScore:
    """Return the mean of the examples' rubric scores, clipped to [0, 1], and its standard deviation.

    The standard deviation is over resampled data sets. Source: openai/simple-evals, ``_compute_clipped_stats`` (mean
    clipped; standard deviation, with denominator n, of the clipped means of 1000 resamples with replacement).
    Resampling is seeded.
    """
    known = [score for score in scores if score is not None]
    if not known:
        return DatasetScore(None, None, 0, len(scores))
    import numpy as np  # noqa: PLC0415 - only whole data sets need it; importing calipers stays light

    values, generator = np.array(known, dtype=float), np.random.default_rng(seed)
    means = [float(values[generator.integers(0, len(values), len(values))].mean()) for _ in range(1000)]
    mean = min(max(math.fsum(known) / len(known), 0.0), 1.0)
    return DatasetScore(mean, float(np.std(np.clip(means, 0.0, 1.0))), len(known), len(scores) - len(known))
