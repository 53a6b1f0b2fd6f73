"""Balanced F1 of yes-or-no verdicts against labels, as HealthBench's meta-evaluation defines it. Pure.

Source: openai/simple-evals, ``healthbench_meta_eval``: every label is compared with the verdict separately; precision
is a mean over verdicts of one kind, recall over labels of one kind; the F1 of the two kinds are averaged, so that a
criterion that is nearly always met gives no easy point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Pair: TypeAlias = tuple[str, bool, bool]
"""A unit of resampling (a completion), a verdict, and a label."""

_RESAMPLES: Final = 1000
_AT_ONCE: Final = 100
"""Resamples drawn at a time, to limit memory for tens of thousands of units."""
_DEFINED: Final = 0.95
"""The share of resamples that must have a figure; with fewer, an interval would rest on a biased selection."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of verdicts with labels: shares in [0, 1] over ``labels`` comparisons; None if a kind does not
    occur.

    ``f1_met`` is 0 if its precision and recall are 0. ``balanced_f1`` is the mean of ``f1_met`` and ``f1_not_met``, and
    ``interval`` its 95 % percentile bootstrap interval over completions, from a fixed seed.
    """

    labels: int
    precision_met: float | None
    recall_met: float | None
    f1_met: float | None
    precision_not_met: float | None
    recall_not_met: float | None
    f1_not_met: float | None
    balanced_f1: float | None
    interval: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """Return the agreement as an object of the calibration's JSON report."""
        return asdict(self)


def agreement(pairs: Sequence[Pair]) -> Agreement:
    """Return, for calibration, the agreement of verdicts with labels.

    Comparisons of one unit (a completion) are resampled together.
    """
    counts = _counts(pairs)
    p1, r1, f1, p0, r0, f0, balanced = (_known(value) for value in _figures(counts.sum(axis=0)))
    return Agreement(len(pairs), p1, r1, f1, p0, r0, f0, balanced, None if balanced is None else _interval(counts))


def _counts(pairs: Sequence[Pair]) -> Array:
    """Return counts of each unit, (units, 4): met by both, by the verdict only, by the label only, by neither."""
    places: dict[str, int] = {}
    for unit, _, _ in pairs:
        places.setdefault(unit, len(places))
    counts = np.zeros((len(places), 4))
    for unit, said, label in pairs:
        counts[places[unit], 2 * (not said) + (not label)] += 1
    return counts


def _figures(counts: Array) -> list[Array]:
    """Return the figures of an Agreement from ``precision_met`` to ``balanced_f1``, for counts of shape (..., 4).

    A figure is NaN where Agreement has None.
    """
    both, verdict, label, neither = (counts[..., place] for place in range(4))
    figures: list[Array] = []
    for hit, said_alone, labelled_alone in ((both, verdict, label), (neither, label, verdict)):
        precision, recall = _share(hit, hit + said_alone), _share(hit, hit + labelled_alone)
        # F1 is 2pr / (p + r), and 0 where both are 0; this is the same, computed from counts.
        f1 = np.where(np.isnan(precision + recall), np.nan, _share(2 * hit, 2 * hit + said_alone + labelled_alone))
        figures += [precision, recall, f1]
    return [*figures, (figures[2] + figures[5]) / 2]


def _share(part: Array, whole: Array) -> Array:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def _known(value: Array) -> float | None:
    return None if np.isnan(value) else float(value)


def _interval(counts: Array) -> tuple[float, float] | None:
    units = len(counts)
    if units < 2:
        return None
    generator = np.random.default_rng(units)
    even = np.full(units, 1 / units)
    drawn = [
        _figures(generator.multinomial(units, even, size=_AT_ONCE) @ counts)[-1] for _ in range(_RESAMPLES // _AT_ONCE)
    ]
    values = np.concatenate(drawn)
    known = values[~np.isnan(values)]
    if len(known) < _DEFINED * len(values):
        return None
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)
