"""Turns ratings into scores by additive two-way least squares: rating = candidate + presentation + noise.

The two-way layout without interaction (Scheffé, *The Analysis of Variance*, 1959, ch. 4). A presentation is one answer.
Its effect is how generous that answer was as a whole, which contains no information about the candidates. If every
answer rates every candidate, the estimate is the plain mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calipers.aggregators.noise import Noise
from calipers.types import ErrorBasis, Judgment, Rating, Scores

DIGITS = 6
"""Scores are rounded to this many decimals, so that equal evidence gives bit-equal scores (and advantage 0).

Adding 0.0 makes a 0 of either sign the same: which one a rounded 1e-17 has depends on the processor.
"""


@dataclass(frozen=True, slots=True)
class Fit:
    """The candidate effects of a two-way layout, and the figures from which their standard errors follow.

    ``shares`` times the variance of one rating is the squared standard error of a value. ``squares`` is the residual
    sum of squares on ``freedom`` degrees of freedom.
    """

    values: tuple[float | None, ...]
    shares: tuple[float | None, ...]
    squares: float = 0.0
    freedom: int = 0

    def scores(
        self, variance: float | None, *, basis: ErrorBasis | None = None, freedom: float | None = None
    ) -> Scores:
        """Return the scores into which ratings were aggregated, with standard errors.

        The errors follow from the ``variance`` of one rating (None: unknown), which rests on ``basis`` with ``freedom``
        degrees of freedom.
        """
        if variance is None:
            return Scores(self.values, (None,) * len(self.values))
        errors = (None if share is None else round(math.sqrt(variance * share), DIGITS) for share in self.shares)
        return Scores(self.values, tuple(errors), basis, freedom)


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Turns ratings into least-squares scores with standard errors. ``noise`` is the known noise of each slot's judge.

    Scores have the units of the ratings. Their mean is that of the judge's answers that rated the most candidates. A
    candidate that no answer connects to the largest connected set stays None, because its offset is unknown.

    Standard errors follow from the judge's noise and the repeats in this group. Ratings of several slots count as those
    of one judge, with the mean of their variances. If a slot's noise is unknown, errors follow from the residuals of
    this group alone. If these have no degree of freedom (a single answer, say), errors follow from the
    ``Rating.spread`` that log-probabilities give, as the error of a mean of independent ratings. Otherwise they are
    None. A judge whose answers are all the same shows no noise, so the mean of the spreads that it states counts.
    """

    noise: Mapping[int, Noise] = field(default_factory=dict)

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """Return one score and standard error for each of ``n`` candidates."""
        fit = fit_two_way(judgments, n)
        scores = self._scores(judgments, fit)
        for judgment in judgments:
            if type(judgment) is Rating and judgment.spread is not None:
                return _with_errors_from_spreads(scores, [rating for rating in judgments if isinstance(rating, Rating)])
        return scores

    def _scores(self, judgments: Sequence[Judgment], found: Fit) -> Scores:
        """Return the scores with errors from the judges' known noise, or else from this group's residuals."""
        if self.noise:
            slots = {judgment.slot for judgment in judgments if isinstance(judgment, Rating)}
            if slots and slots <= self.noise.keys():
                noise = [self.noise[slot] for slot in sorted(slots)]
                known = [prior.variance_of(found.squares, found.freedom) for prior in noise]
                freedom = min(prior.strength for prior in noise) + found.freedom
                return found.scores(sum(known) / len(known), basis="learned", freedom=round(freedom, DIGITS))
        if found.freedom > 0:
            return found.scores(found.squares / found.freedom, basis="repeats", freedom=found.freedom)
        return found.scores(None)


two_way = TwoWay()
"""The aggregator for judges whose noise is unknown."""


def _with_errors_from_spreads(scores: Scores, ratings: Sequence[Rating]) -> Scores:
    """Fill in standard errors of scores that are missing or 0 from the ratings' spreads; None if a rating has none.

    Errors of 0 come from answers that are the same every time: repeats of such a judge are not independent.
    """
    spreads: dict[int, list[float]] = {}
    for rating in ratings:
        spreads.setdefault(rating.item, []).append(math.nan if rating.spread is None else rating.spread)
    stderrs = list(scores.stderrs)
    for item, value in enumerate(scores.values):
        if value is not None and not stderrs[item]:
            row, repeats = spreads[item], stderrs[item] == 0
            error = math.fsum(row) / len(row) if repeats else math.sqrt(math.fsum(size**2 for size in row)) / len(row)
            stderrs[item] = stderrs[item] if math.isnan(error) else round(error, DIGITS)
    if scores.basis is not None and any(stderrs) and not any(scores.stderrs):
        return Scores(scores.values, tuple(stderrs), "assumed")
    return Scores(scores.values, tuple(stderrs), scores.basis or "assumed", scores.freedom)


def fit_two_way(judgments: Sequence[Judgment], n: int) -> Fit:
    """Aggregate ratings into a Fit of ``n`` candidates by the two-way layout, from which scores follow.

    Assumes nothing about noise.
    """
    table = rows_of_ratings(judgments)
    rows = list(table.values())
    if not rows:
        return Fit((None,) * n, (None,) * n)
    for row in rows:
        if row.keys() != rows[0].keys():
            return _fit_unbalanced(largest_component(table), n)
    return _fit_balanced(rows, n)


def rows_of_ratings(judgments: Sequence[Judgment]) -> dict[int, dict[int, float]]:
    """Return the ratings among ``judgments`` to be aggregated into scores: for each answer, those of its candidates."""
    table: dict[int, dict[int, float]] = {}
    for rating in judgments:
        if isinstance(rating, Rating):
            table.setdefault(rating.presentation, {})[rating.item] = rating.value
    return table


def _fit_balanced(rows: Sequence[dict[int, float]], n: int) -> Fit:
    """Return the estimates if every answer rated the same candidates: means, without linear algebra, for speed."""
    count = len(rows)
    values: list[float | None] = [None] * n
    shares: list[float | None] = [None] * n
    # Most groups have a single answer, whose ratings are the means.
    means = rows[0] if count == 1 else {item: math.fsum(row[item] for row in rows) / count for item in rows[0]}
    freedom = (len(means) - 1) * (count - 1)
    residual = 0.0
    if freedom > 0:
        grand = math.fsum(means.values()) / len(means)
        effects = [math.fsum(row.values()) / len(row) - grand for row in rows]
        residual = math.fsum(
            (row[item] - means[item] - effect) ** 2 for row, effect in zip(rows, effects, strict=True) for item in means
        )
    for item, mean in means.items():
        values[item] = round(mean, DIGITS) + 0.0
        shares[item] = 1 / count
    return Fit(tuple(values), tuple(shares), residual, freedom)


def largest_component(table: Mapping[int, dict[int, float]]) -> dict[int, dict[int, float]]:
    """Return the answers that are linked, through shared candidates, to the most candidates, to aggregate their scores.

    Of equally large sets, returns the one with the first answer.
    """
    remaining = dict(table)
    components = []
    while remaining:
        first = next(iter(remaining))
        chosen = {first: remaining.pop(first)}
        reached = set(chosen[first])
        while linked := [number for number, row in remaining.items() if reached & row.keys()]:
            for number in linked:
                chosen[number] = remaining.pop(number)
                reached |= chosen[number].keys()
        components.append((len(reached), -first, chosen))
    return max(components, key=lambda component: component[:2])[2]


def _fit_unbalanced(table: dict[int, dict[int, float]], n: int) -> Fit:
    import numpy as np  # noqa: PLC0415 - unbalanced answers are rare; importing calipers stays light

    items = sorted({item for row in table.values() for item in row})
    column = {item: index for index, item in enumerate(items)}
    widest = max(table.values(), key=len).keys()
    design, target = [], []
    for position, row in enumerate(table.values()):
        for item, value in row.items():
            line = [0.0] * (len(items) + len(table))
            line[column[item]] = line[len(items) + position] = 1.0
            design.append(line)
            target.append(value)
    # Ratings determine differences only. The overall level comes from the answers that rated the largest number of
    # candidates; if several sets of candidates are that large, from those about the first set.
    level = [0.0] * len(items) + [1.0 if row.keys() == widest else 0.0 for row in table.values()]
    matrix, vector = np.array(design), np.array(target)
    constrained = np.vstack([matrix, level])
    inverse = np.linalg.pinv(constrained.T @ constrained)
    solution = inverse @ (constrained.T @ np.append(vector, 0.0))
    freedom = len(target) - (len(items) + len(table) - 1)
    values: list[float | None] = [None] * n
    shares: list[float | None] = [None] * n
    for item, index in column.items():
        values[item] = round(float(solution[index]), DIGITS) + 0.0
        shares[item] = max(float(inverse[index, index]), 0.0)
    squares = float(np.sum((vector - matrix @ solution) ** 2))
    return Fit(tuple(values), tuple(shares), squares, max(freedom, 0))
