"""Fits a local judge's weights to pairs of candidates, and holds out prompts to measure them on.

A pair has the probability that the teacher would prefer the first: a margin within the scores' standard errors is a
weak preference, not a wrong label (2601.14032: margins beat labels).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from calipers.backends.local.features import Array, measure_group
from calipers.backends.local.judge import familiarity
from calipers.calibration.comparable import folds
from calipers.distilling.groups import SPREAD, TrainingGroup, within_spread
from calipers.errors import InputError
from calipers.types import RenderedGroup
from calipers.types.encoding import counted

Places: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

_LEAST_GROUPS: Final = 10
_DOUBT: Final = 1.5
"""What a teacher's margin is uncertain by besides its standard errors, in spreads of its scores within a group."""
_LOGISTIC: Final = 1.702
"""The logistic curve with this slope is the normal distribution function, to 0.01."""
_MOST_PAIRS: Final = 40_000
_PENALTY: Final = 20.0
"""Of a weight of 1 per standard deviation of a feature's differences. Chosen on recorded sets, like the features."""
_STEPS: Final = 30
_CONSTANT: Final = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """What weights say about training groups whose prompts they were not fitted on.

    ``weights`` are those of the folds. ``fold`` is that of each group, and ``raw`` each group's sums before scaling.
    ``known`` is the share of each task's words that the other folds have.
    """

    weights: tuple[Array, ...]
    fold: Places
    raw: tuple[Array, ...]
    known: tuple[float, ...]

    def sums(self, group: int, view: RenderedGroup) -> Array:
        """Return the sums of ``view`` by the weights that were fitted without the prompt of a training group."""
        return np.asarray(measure_group(view).relative @ self.weights[int(self.fold[group])])


@dataclass(frozen=True, slots=True)
class Scaling:
    """How sums become scores: the ``slope`` that fits the teacher's scores, and the ``stderr`` that is left."""

    slope: float
    stderr: float


def fit_weights(groups: Sequence[TrainingGroup]) -> Array:
    """Return a local judge's weight for each relative feature, from all pairs of training groups.

    Penalised logistic regression on the pairs' differences, by Newton's method. The pairs of a group together count as
    much as it has candidates, less one, times the precision of its scores. Of more than 40,000 pairs, a sample with a
    fixed seed is used.
    """
    doubt = (_DOUBT * within_spread(groups)) ** 2 or 1.0
    pairs: list[tuple[int, int, float, float]] = []
    start = 0
    for group in groups:
        pairs += _pairs_of(group, start, doubt)
        start += len(group.teacher)
    if len(pairs) > _MOST_PAIRS:
        chosen = np.random.default_rng(0).choice(len(pairs), _MOST_PAIRS, replace=False)
        pairs = [pairs[place] for place in sorted(chosen)]
    first, second, targets, counts = (np.array(column) for column in zip(*pairs, strict=True))
    features = np.vstack([group.measured.relative for group in groups])
    rows = features[first] - features[second]
    scale = rows.std(axis=0) + _CONSTANT
    rows = rows / scale
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        gradient = rows.T @ (counts * (likely - targets)) + _PENALTY * weights
        curvature = (rows * (counts * likely * (1 - likely))[:, None]).T @ rows
        step = np.linalg.solve(curvature + _PENALTY * np.eye(len(weights)), gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    return np.asarray(weights / scale)


def _pairs_of(group: TrainingGroup, start: int, doubt: float) -> Iterator[tuple[int, int, float, float]]:
    """Yield the places of two candidates, the probability that the first is preferred, and what the pair counts."""
    scores, variance = group.teacher, np.nan_to_num(group.stderr) ** 2
    known = [place for place in range(len(scores)) if not np.isnan(scores[place])]
    for better, worse in combinations(known, 2):
        margin, unsure = scores[better] - scores[worse], variance[better] + variance[worse]
        if abs(margin) > SPREAD:
            target = 1 / (1 + np.exp(-_LOGISTIC * margin / np.sqrt(unsure + doubt)))
            weight = doubt / (doubt + unsure) / (len(known) - 1)
            yield start + better, start + worse, float(target), float(weight)


def hold_out(groups: Sequence[TrainingGroup]) -> HeldOut:
    """Return what five fits say about training groups, each about the prompts of the fold it was fitted without.

    Raises InputError for too few groups or prompts.
    """
    numbers: dict[str, int] = {}
    sources = [numbers.setdefault(group.source, len(numbers)) for group in groups]
    fold = folds(sources)
    if fold is None:
        raise InputError(
            f"scores differ in {counted(len(groups), 'group')} of {counted(len(numbers), 'prompt')}, and a local judge "
            f"needs at least {_LEAST_GROUPS} groups of 5 prompts; some hundreds are better"
        )
    weights: list[Array] = []
    raw: list[Array] = [np.zeros(0)] * len(groups)
    known = [1.0] * len(groups)
    for number in range(int(fold.max()) + 1):
        inside = [group for group, group_fold in zip(groups, fold, strict=True) if group_fold != number]
        weights.append(fit_weights(inside))
        terms = frozenset[int]().union(*(member.measured.task_terms for member in inside))
        for place in np.flatnonzero(fold == number).tolist():
            raw[place] = groups[place].measured.relative @ weights[-1]
            known[place] = familiarity(groups[place].measured.task_terms, terms)
    return HeldOut(tuple(weights), fold, tuple(raw), tuple(known))


def fit_scaling(groups: Sequence[TrainingGroup], raw: Sequence[Array]) -> Scaling:
    """Return how a local judge's sums become scores: least squares to the teacher's, both relative to their group.

    A slope below 0 becomes 0: then all candidates of a group get the same score.
    """
    sums, scores = _centred(groups, raw)
    if not len(sums):
        return Scaling(0.0, 0.5)
    slope = max(0.0, float(sums @ scores) / max(float(sums @ sums), 1e-12))
    freedom = sum(max(int((~np.isnan(group.teacher)).sum()) - 1, 0) for group in groups)
    return Scaling(slope, float(np.sqrt(((scores - slope * sums) ** 2).sum() / max(freedom, 1))))


def residuals(group: TrainingGroup, raw: Array, scaling: Scaling) -> Array:
    """Return a local judge's errors against the teacher in one group, in standard errors."""
    sums, scores = _centred([group], [raw])
    size = np.sqrt(max(1 - 1 / max(len(scores), 1), 1e-9))
    return np.asarray((scores - scaling.slope * sums) / (max(scaling.stderr, 1e-9) * size))


def _centred(groups: Sequence[TrainingGroup], raw: Sequence[Array]) -> tuple[Array, Array]:
    """Return sums and teacher's scores less their means in each group, in one row each; unscored candidates omitted."""
    sums, scores = [np.zeros(0)], [np.zeros(0)]
    for group, values in zip(groups, raw, strict=True):
        known = ~np.isnan(group.teacher)
        if known.sum() > 1:
            sums.append(values[known] - values[known].mean())
            scores.append(group.teacher[known] - group.teacher[known].mean())
    return np.concatenate(sums), np.concatenate(scores)
