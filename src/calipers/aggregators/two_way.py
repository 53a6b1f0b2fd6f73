"""Scores from ratings by additive two-way least squares: rating = candidate + presentation + noise.

The two-way layout without interaction (Scheffé, *The Analysis of Variance*, 1959, ch. 4). A presentation is one answer;
its effect is how generous that answer was as a whole, which says nothing about the candidates. Where every answer rates
every candidate, the estimate is the plain mean. Not responsible for panels or comparisons, nor for learning a judge's
noise (``noise``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calipers.aggregators.noise import Noise
from calipers.types import Judgment, Rating, Scores

DIGITS = 6
"""Scores are rounded to this many decimals, so that equal evidence gives bit-equal scores (and advantage 0)."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Candidate effects and what their errors follow from.

    ``shares`` times the variance of one rating is a value's squared standard error; ``squares`` is the residual sum of
    squares on ``freedom`` degrees of freedom.
    """

    values: tuple[float | None, ...]
    shares: tuple[float | None, ...]
    squares: float = 0.0
    freedom: int = 0

    def scores(self, variance: float | None) -> Scores:
        """Values with the standard errors that follow from the ``variance`` of one rating; None where it is unknown."""
        if variance is None:
            return Scores(self.values, (None,) * len(self.values))
        errors = (None if one is None else round(math.sqrt(variance * one), DIGITS) for one in self.shares)
        return Scores(self.values, tuple(errors))


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Least-squares candidate effects and their standard errors. ``noise`` is what is known of each slot's noise.

    Values stay in the units of the ratings, on the mean level of the answers that rated most candidates. Candidates
    that nothing connects to the largest rated set stay None: their offset is unknown.

    Standard errors follow from the judge's noise and what this group's repeats add to it; ratings of several slots are
    taken as one judge's, with the mean of their variances. Where a slot's noise is unknown, they follow from this
    group's residuals alone; where those leave no degree of freedom (a single answer, say), from the ``Rating.spread``
    of log-probabilities, as the error of a mean of independent ratings. Else they are None.
    """

    noise: Mapping[int, Noise] = field(default_factory=dict)

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """One score and error for each of ``n`` candidates."""
        found = fit(judgments, n)
        scores = found.scores(self._variance(judgments, found))
        if not any(type(one) is Rating and one.spread is not None for one in judgments):
            return scores
        return _with_spreads(scores, [one for one in judgments if isinstance(one, Rating)])

    def _variance(self, judgments: Sequence[Judgment], found: Fit) -> float | None:
        """The variance of one rating; None where nothing is known of it."""
        if self.noise:
            slots = {judgment.slot for judgment in judgments if isinstance(judgment, Rating)}
            if slots and slots <= self.noise.keys():
                known = [self.noise[slot].variance_of(found.squares, found.freedom) for slot in sorted(slots)]
                return sum(known) / len(known)
        return found.squares / found.freedom if found.freedom > 0 else None


two_way = TwoWay()
"""Of a judge about whose noise nothing is known."""


def _with_spreads(scores: Scores, ratings: Sequence[Rating]) -> Scores:
    """Scores with the errors they lack, as the ratings' spreads say; None where a rating came without one."""
    spreads: dict[int, list[float]] = {}
    for one in ratings:
        spreads.setdefault(one.item, []).append(math.nan if one.spread is None else one.spread)
    stderrs = list(scores.stderrs)
    for item, value in enumerate(scores.values):
        if value is not None and stderrs[item] is None:
            error = math.sqrt(math.fsum(one**2 for one in spreads[item])) / len(spreads[item])
            stderrs[item] = None if math.isnan(error) else round(error, DIGITS)
    return Scores(scores.values, tuple(stderrs))


def fit(judgments: Sequence[Judgment], n: int) -> Fit:
    """The two-way layout's estimates for ``n`` candidates, before anything is assumed about the noise."""
    ratings = [judgment for judgment in judgments if isinstance(judgment, Rating)]
    if not ratings:
        return Fit((None,) * n, (None,) * n)
    table: dict[int, dict[int, float]] = {}
    for rating in ratings:
        table.setdefault(rating.presentation, {})[rating.item] = rating.value
    items = next(iter(table.values())).keys()
    if all(row.keys() == items for row in table.values()):
        return _crossed(list(table.values()), n)
    return _least_squares(_largest_component(table), n)


def _crossed(rows: Sequence[dict[int, float]], n: int) -> Fit:
    """Every answer rated the same candidates: means, without linear algebra (this is the hot path)."""
    count = len(rows)
    values: list[float | None] = [None] * n
    shares: list[float | None] = [None] * n
    # With a single answer, as nearly always, the means are its ratings.
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
        values[item] = round(mean, DIGITS)
        shares[item] = 1 / count
    return Fit(tuple(values), tuple(shares), residual, freedom)


def _largest_component(table: dict[int, dict[int, float]]) -> dict[int, dict[int, float]]:
    """Keep the answers that are linked, through shared candidates, to the most candidates."""
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


def _least_squares(table: dict[int, dict[int, float]], n: int) -> Fit:
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
    # Only differences are identified; the level is that of the (first) answers that rated most candidates.
    level = [0.0] * len(items) + [1.0 if row.keys() == widest else 0.0 for row in table.values()]
    matrix, vector = np.array(design), np.array(target)
    constrained = np.vstack([matrix, level])
    inverse = np.linalg.pinv(constrained.T @ constrained)
    solution = inverse @ (constrained.T @ np.append(vector, 0.0))
    freedom = len(target) - (len(items) + len(table) - 1)
    values: list[float | None] = [None] * n
    shares: list[float | None] = [None] * n
    for item, index in column.items():
        values[item] = round(float(solution[index]), DIGITS)
        shares[item] = max(float(inverse[index, index]), 0.0)
    squares = float(np.sum((vector - matrix @ solution) ** 2))
    return Fit(tuple(values), tuple(shares), squares, max(freedom, 0))
