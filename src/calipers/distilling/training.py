"""Fits a local judge's model, and measures it on prompts that had no part in the fit.

Not responsible for reading groups (``sources``) or for what is said about the figures (``card``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from calipers.backends.local.domain import Domain, familiarity, learn_domain
from calipers.backends.local.features import FEATURES, Array, measure_group
from calipers.backends.local.model import Model, no_trees
from calipers.calibration.folds import folds
from calipers.distilling.boosting import fit_trees
from calipers.distilling.groups import TrainingGroup
from calipers.distilling.linear import fit_linear
from calipers.distilling.pairs import LearnFrom, Pairs, Places, make_pairs, with_extra
from calipers.errors import InputError
from calipers.types import RenderedGroup

LEAST_GROUPS: Final = 10
Scorer: TypeAlias = Callable[[RenderedGroup], Array]
"""From a rendered group to a local judge's sum for each candidate."""
_NO_DOMAIN: Final = Domain(frozenset(), frozenset(), 0.0, 0.0, frozenset(), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """What models say about training groups whose prompts they were not fitted on.

    ``scorers`` are those of the folds: from a rendered group to the sums of its candidates. ``fold`` is that of each
    group, and ``raw`` each group's sums before scaling. ``known`` is the share of each task's words that the other
    folds have.
    """

    scorers: tuple[Scorer, ...]
    fold: Places
    raw: tuple[Array, ...]
    known: tuple[float, ...]

    def sums(self, group: int, view: RenderedGroup) -> Array:
        """Return the sums of ``view`` by the model that was fitted without the prompt of a training group."""
        return self.scorers[int(self.fold[group])](view)


@dataclass(frozen=True, slots=True)
class Scaling:
    """How sums become scores: the ``slope`` that fits the teacher's scores, and the ``stderr`` that is left."""

    slope: float
    stderr: float


def fold_of(groups: Sequence[TrainingGroup]) -> Places:
    """Return the fold (0 to 4) of each training group; those of a prompt share it. Raises InputError for too few."""
    numbers: dict[str, int] = {}
    sources = [numbers.setdefault(one.source, len(numbers)) for one in groups]
    found = folds(sources)
    if found is None:
        raise InputError(
            f"{len(groups)} groups of {len(numbers)} prompts have scores that differ, and a local judge needs at least "
            f"{LEAST_GROUPS} groups of 5 prompts; some hundreds are better"
        )
    return found


def fit_model(groups: Sequence[TrainingGroup], learn_from: LearnFrom, extra: Sequence[TrainingGroup] = ()) -> Model:
    """Return a local judge's model of ``groups`` without scale or domain; ``extra`` groups are learned from as well.

    The weights and the trees are each fitted to all pairs, and count equally: on pairs, their differences have the same
    spread.
    """
    pairs = make_pairs(groups, learn_from)
    if extra:
        pairs = with_extra(pairs, make_pairs(extra, learn_from))
    if not len(pairs.first):
        raise InputError("no two candidates of a group differ in what is to be learned (see --learn-from)")
    plain = replace(empty_model(), weights=fit_linear(pairs))
    trees = replace(plain, weights=np.zeros_like(plain.weights), trees=fit_trees(pairs))
    weights = plain.weights / (_difference(plain, pairs) or 1.0)
    return replace(plain, weights=weights, trees=trees.trees.times(1 / (_difference(trees, pairs) or 1.0)))


def empty_model() -> Model:
    """Return a local judge's model that has learned nothing yet, of no group."""
    return Model("local", 1, ("nobody",), np.zeros(2 * len(FEATURES)), no_trees(), 1.0, 1.0, _NO_DOMAIN)


def _difference(model: Model, pairs: Pairs) -> float:
    """Return the standard deviation of a model's differences on pairs."""
    raw = model.raw(pairs.rows)
    return float(np.std(raw[pairs.first] - raw[pairs.second]))


def hold_out(
    groups: Sequence[TrainingGroup], learn_from: LearnFrom, adversarial: Sequence[TrainingGroup] = ()
) -> HeldOut:
    """Return what five models say about training groups, each about the prompts of the fold it was fitted without.

    ``adversarial`` are groups made for training only; those of a fold's prompts are left out with it.
    """
    fold = fold_of(groups)
    of_source = {one.source: int(number) for one, number in zip(groups, fold, strict=True)}
    scorers: list[Scorer] = []
    raw: list[Array] = [np.zeros(0)] * len(groups)
    known = [1.0] * len(groups)
    for number in range(int(fold.max()) + 1):
        inside = [one for one, own in zip(groups, fold, strict=True) if own != number]
        extra = [one for one in adversarial if of_source.get(one.source) != number]
        model = fit_model(inside, learn_from, extra)
        terms = frozenset().union(*(one.measured.task_terms for one in inside))
        for place in np.flatnonzero(fold == number).tolist():
            raw[place] = model.raw(groups[place].measured.relative)
            known[place] = familiarity(groups[place].measured.task_terms, terms)
        scorers.append(partial(_sums, model))
    return HeldOut(tuple(scorers), fold, tuple(raw), tuple(known))


def _sums(model: Model, view: RenderedGroup) -> Array:
    return model.raw(measure_group(view).relative)


def fit_scaling(groups: Sequence[TrainingGroup], raw: Sequence[Array]) -> Scaling:
    """Return how a local judge's sums become scores: least squares to the teacher's, both relative to their group.

    A slope below 0 becomes 0: then all candidates of a group get the same score.
    """
    sums, scores = _centred(groups, raw)
    if not len(sums):
        return Scaling(0.0, 0.5)
    slope = max(0.0, float(sums @ scores) / max(float(sums @ sums), 1e-12))
    freedom = sum(max(int((~np.isnan(one.teacher)).sum()) - 1, 0) for one in groups)
    return Scaling(slope, float(np.sqrt(((scores - slope * sums) ** 2).sum() / max(freedom, 1))))


def residuals(group: TrainingGroup, raw: Array, scaling: Scaling) -> Array:
    """Return a local judge's errors against the teacher in one group, in standard errors."""
    sums, scores = _centred([group], [raw])
    size = np.sqrt(max(1 - 1 / max(len(scores), 1), 1e-9))
    return np.asarray((scores - scaling.slope * sums) / (max(scaling.stderr, 1e-9) * size))


def _centred(groups: Sequence[TrainingGroup], raw: Sequence[Array]) -> tuple[Array, Array]:
    """Return sums and teacher's scores less their means in each group, in one row each; unscored candidates omitted."""
    sums, scores = [np.zeros(0)], [np.zeros(0)]
    for group, own in zip(groups, raw, strict=True):
        known = ~np.isnan(group.teacher)
        if known.sum() > 1:
            sums.append(own[known] - own[known].mean())
            scores.append(group.teacher[known] - group.teacher[known].mean())
    return np.concatenate(sums), np.concatenate(scores)


def finished(model: Model, groups: Sequence[TrainingGroup], held_out: HeldOut, scaling: Scaling) -> Model:
    """Return a local judge's model with its scale and its domain."""
    domain = learn_domain([one.measured for one in groups], held_out.known)
    return replace(model, slope=scaling.slope, stderr=scaling.stderr, domain=domain)
