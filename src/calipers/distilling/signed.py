"""Fits the embedded judge's form: a weight for each feature of content, none of which may change its sign.

Every weight is drawn towards a prior that people set, and may not pass 0. So a feature that the groups say nothing
about keeps a modest weight in the sensible direction, and no quirk of one set turns one around. Not responsible for
the judge (``backends.embedded``) or for what else is distilled (``training``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from calipers.backends.embedded.features import FEATURES
from calipers.backends.embedded.model import Model
from calipers.backends.local.features import Array, measure_group
from calipers.distilling.groups import TrainingGroup
from calipers.distilling.pairs import LearnFrom, Pairs, make_pairs, with_extra
from calipers.distilling.training import HeldOut, Scorer, fold_of
from calipers.errors import InputError
from calipers.types import RenderedGroup

PRIOR: Final = {
    "silent": -3.0,
    "cut": -1.0,
    "unfinished": -1.0,
    "refusal": -1.0,
    "hedging": -0.5,
    "coverage": 1.0,
    "repetition": -1.0,
    "scant": -0.5,
    "bloated": -0.3,
    "extra_turns": -0.2,
    "consensus": 1.5,
    "centrality": 1.5,
    "figures": 0.5,
    "call_consensus": 1.0,
    "tool_consensus": 0.5,
    "tool_errors": -1.0,
    "unresolved": -1.2,
    "false_claim": -1.5,
    "ungrounded": -0.5,
    "wrong_sums": -1.5,
    "loops": -1.0,
    "format_missed": -0.7,
    "other_language": -1.5,
    "addresses_judge": -3.0,
}
"""The weights before anything is learned, in log-odds of being preferred."""
PENALTY: Final = 5.0
"""Of a weight's squared distance from its prior, against pairs that count VOTES in all."""
VOTES: Final = 150.0
"""What all pairs together count at most: beyond as many groups, more of the same kind move the weights no further."""
_MEDIAN_SCORE: Final = 0.55
_GAIN: Final = 1.0
_STEPS: Final = 100


def fit_signed(
    groups: Sequence[TrainingGroup], learn_from: LearnFrom, extra: Sequence[TrainingGroup] = (), *, name: str = ""
) -> Model:
    """Return a judge of the embedded form, version 1, that has learned from training groups.

    The weights have the largest posterior probability within the signs of PRIOR, by Newton's method, and are rounded to
    two digits, so that machines do not differ. The median candidate of ``groups`` scores 55. Raises InputError if no
    two candidates of a group differ in what is learned.
    """
    pairs = make_pairs(groups, learn_from)
    if extra:
        pairs = with_extra(pairs, make_pairs(extra, learn_from))
    if not len(pairs.first):
        raise InputError("no two candidates of a group differ in what is to be learned (see --learn-from)")
    weights = tuple(round(float(one), 2) + 0.0 for one in _posterior(pairs))
    sums = [math.fsum(w * v for w, v in zip(weights, row, strict=True)) for one in groups for row in content(one)]
    offset = round(float(np.median(sums)) - math.log(_MEDIAN_SCORE / (1 - _MEDIAN_SCORE)) / _GAIN, 2)
    return Model(name, 1, weights, offset, _GAIN)


def content(group: TrainingGroup) -> list[tuple[float, ...]]:
    """Return the features of each candidate of a training group that the embedded form weighs."""
    return [tuple(row) for row in group.measured.values[:, : len(FEATURES)].tolist()]


def _posterior(pairs: Pairs) -> Array:
    """Return the weights of the embedded form by Newton steps; a weight at 0 moves only the way of its prior."""
    rows = pairs.differences[:, : len(FEATURES)]
    votes = pairs.weights * min(1.0, VOTES / pairs.weights.sum())
    prior = np.array([PRIOR[name] for name in FEATURES])
    weights = prior.copy()
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        gradient = rows.T @ (votes * (likely - pairs.targets)) + PENALTY * (weights - prior)
        curvature = (rows * (votes * likely * (1 - likely))[:, None]).T @ rows + PENALTY * np.eye(len(prior))
        free = (weights != 0) | (gradient * prior < 0)
        step = np.zeros_like(weights)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], -gradient[free])
        moved = weights + step
        moved[moved * prior < 0] = 0.0
        if np.abs(moved - weights).max() < 1e-10:
            break
        weights = moved
    return weights


def hold_out_signed(
    groups: Sequence[TrainingGroup], learn_from: LearnFrom, adversarial: Sequence[TrainingGroup] = ()
) -> HeldOut:
    """Return what five judges of the embedded form say about training groups, each about the prompts of the fold that
    it was fitted without: whole scores, as they answer.
    """
    fold = fold_of(groups)
    of_source = {one.source: int(number) for one, number in zip(groups, fold, strict=True)}
    scorers: list[Scorer] = []
    raw: list[Array] = [np.zeros(0)] * len(groups)
    for number in range(int(fold.max()) + 1):
        inside = [one for one, own in zip(groups, fold, strict=True) if own != number]
        model = fit_signed(inside, learn_from, [one for one in adversarial if of_source.get(one.source) != number])
        for place in np.flatnonzero(fold == number).tolist():
            raw[place] = scores_of(model, groups[place].measured.values)
        scorers.append(partial(_scores, model))
    return HeldOut(tuple(scorers), fold, tuple(raw), (1.0,) * len(groups))


def scores_of(model: Model, values: Array) -> Array:
    """Return the score, from 5 to 95, that a judge of the embedded form gives each row of features."""
    return np.array([model.score(tuple(row)) for row in values[:, : len(FEATURES)].tolist()], dtype=np.float64)


def _scores(model: Model, view: RenderedGroup) -> Array:
    return scores_of(model, measure_group(view).values)
