"""Pairs of candidates of one group, with the probability that the teacher would prefer the first: the training data.

A margin within the scores' standard errors is a weak preference, not a wrong label (2601.14032: margins beat labels).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from calipers.backends.local.features import Array
from calipers.distilling.groups import SPREAD, TrainingGroup, within_spread

LearnFrom: TypeAlias = Literal["teacher", "gold", "both"]
LEARN_FROM: Final[tuple[LearnFrom, ...]] = get_args(LearnFrom)
Places: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

_DOUBT: Final = 1.5
"""What a teacher's margin is uncertain by besides its standard errors, in spreads of its scores within a group."""
_GOLD: Final = 0.9
"""The probability that a candidate with more gold is preferred."""
_LOGISTIC: Final = 1.702
"""The logistic curve with this slope is the normal distribution function, to 0.01."""
EXTRA: Final = 0.1
"""What all pairs made for training together count, of what the teacher's count."""
MOST_PAIRS: Final = 40_000


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of a local judge's training groups.

    ``rows`` are all candidates' relative features, (candidates, columns); ``first`` and ``second`` are places in them.
    ``targets`` are the probabilities that the first is preferred, and ``weights`` what each pair counts.
    """

    rows: Array
    first: Places
    second: Places
    targets: Array
    weights: Array

    @property
    def differences(self) -> Array:
        """The features of the first candidates less those of the second, (pairs, columns)."""
        return self.rows[self.first] - self.rows[self.second]


@dataclass(frozen=True, slots=True)
class _Pair:
    first: int
    second: int
    target: float
    weight: float


def make_pairs(groups: Sequence[TrainingGroup], learn_from: LearnFrom = "both") -> Pairs:
    """Return the pairs of training groups; of more than MOST_PAIRS, a sample with a fixed seed.

    The pairs of a group together count as much as it has candidates, less one, times the precision of its scores.
    """
    doubt = (_DOUBT * within_spread(groups)) ** 2 or 1.0
    found: list[_Pair] = []
    start = 0
    for group in groups:
        if learn_from != "gold":
            found += _teacher_pairs(group, start, doubt)
        if learn_from != "teacher":
            found += _gold_pairs(group, start)
        start += len(group.teacher)
    if len(found) > MOST_PAIRS:
        chosen = np.random.default_rng(0).choice(len(found), MOST_PAIRS, replace=False)
        found = [found[place] for place in sorted(chosen)]
    rows = np.vstack([group.measured.relative for group in groups])
    return Pairs(
        rows,
        np.array([one.first for one in found], dtype=np.int64),
        np.array([one.second for one in found], dtype=np.int64),
        np.array([one.target for one in found], dtype=np.float64),
        np.array([one.weight for one in found], dtype=np.float64),
    )


def with_extra(pairs: Pairs, extra: Pairs) -> Pairs:
    """Return pairs of a local judge's training groups with ``extra`` ones, which together count EXTRA as much."""
    start = len(pairs.rows)
    factor = EXTRA * pairs.weights.sum() / max(float(extra.weights.sum()), 1e-12)
    return Pairs(
        np.vstack([pairs.rows, extra.rows]),
        np.concatenate([pairs.first, start + extra.first]),
        np.concatenate([pairs.second, start + extra.second]),
        np.concatenate([pairs.targets, extra.targets]),
        np.concatenate([pairs.weights, factor * extra.weights]),
    )


def _teacher_pairs(group: TrainingGroup, start: int, doubt: float) -> Iterator[_Pair]:
    scores, variance = group.teacher, np.nan_to_num(group.stderr) ** 2
    known = [place for place in range(len(scores)) if not np.isnan(scores[place])]
    for one, other in combinations(known, 2):
        margin, unsure = scores[one] - scores[other], variance[one] + variance[other]
        if abs(margin) > SPREAD:
            target = 1 / (1 + np.exp(-_LOGISTIC * margin / np.sqrt(unsure + doubt)))
            weight = doubt / (doubt + unsure) / (len(known) - 1)
            yield _Pair(start + one, start + other, float(target), float(weight))


def _gold_pairs(group: TrainingGroup, start: int) -> Iterator[_Pair]:
    known = [place for place in range(len(group.gold)) if not np.isnan(group.gold[place])]
    for one, other in combinations(known, 2):
        margin = group.gold[one] - group.gold[other]
        if abs(margin) > SPREAD:
            target = _GOLD if margin > 0 else 1 - _GOLD
            yield _Pair(start + one, start + other, target, 1 / (len(known) - 1))
