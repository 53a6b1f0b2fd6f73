"""A benchmark's score, and its scores by tag: HealthBench's axes and themes.

A tag of criteria (``axis:accuracy``) scores each example by its criteria with that tag alone; a tag of examples
(``theme:hedging``) selects examples.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calipers.rubric.formulas import Met, healthbench
from calipers.types import Rubric

OVERALL: Final = "overall"
_TAKEN: Final = re.compile(rf"{OVERALL}(?: \(tag\))*")


@dataclass(frozen=True, slots=True)
class GradedExample:
    """A response to one example of a benchmark: its rubric, the verdicts by criterion id, and the example's tags."""

    rubric: Rubric
    verdicts: Mapping[str, Met]
    tags: tuple[str, ...] = ()


def tag_scores(examples: Iterable[GradedExample]) -> dict[str, DatasetScore]:
    """Return the score of all examples, ``overall``, and then of each tag, in alphabetical order.

    Each is the mean of HealthBench scores, clipped to [0, 1] as a mean. An example whose criteria with a tag have no
    positive points has no score for it, and does not count. One with a criterion that has no verdict is ungraded in
    every score that needs this criterion. An example counts once for a tag: by its criteria, if they have it too. A
    tag called ``overall`` has the score ``overall (tag)``. Source: openai/simple-evals, ``healthbench_eval``:
    ``calculate_score`` and ``grade_sample``.
    """
    values: dict[str, list[float | None]] = defaultdict(list)
    for example in examples:
        overall = healthbench(example.rubric, example.verdicts)
        values[OVERALL].append(overall)
        own_scores = {_name(tag): overall for tag in example.tags}
        for tag in dict.fromkeys(tag for criterion in example.rubric.criteria for tag in criterion.tags):
            own = tuple(criterion for criterion in example.rubric.criteria if tag in criterion.tags)
            if any(criterion.points > 0 for criterion in own):
                part = replace(example.rubric, criteria=own, all_negative="refuse")
                own_scores[_name(tag)] = healthbench(part, example.verdicts)
        for tag, value in own_scores.items():
            values[tag].append(value)
    tags = sorted(set(values) - {OVERALL})
    return {name: dataset_score(values[name]) for name in [*([OVERALL] if OVERALL in values else []), *tags]}


def _name(tag: str) -> str:
    """Return the name of a tag's score, which is never that of all examples."""
    return f"{tag} (tag)" if _TAKEN.fullmatch(tag) else tag


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
