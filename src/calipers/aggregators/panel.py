"""Combines the scores of a panel's judges: a weighted mean on a common scale, or the scores of a single judge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calipers.aggregators.two_way import DIGITS, two_way
from calipers.interfaces import Aggregator
from calipers.types import Judgment, Scores, Verdict

RESTS_ON_ONE: Final = 0.75
"""A panel rests on one member that has more than this share of the weights."""
_EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class Panel:
    """Combines judgments of several judges (slots). ``weights`` belong to slots 0, 1, ... and need not sum to 1.

    Each slot's scores come from ``within`` and are standardised within the group. A slot that failed, or did not score
    a candidate, is omitted from that candidate's mean and never counts as a number. A candidate that fewer than
    ``quorum`` slots scored has no score. The result has the average mean and standard deviation of the judges' scores.
    ``error_correlation`` (from 0 to below 1) is the mean correlation of two judges' errors, as far as gold shows it.
    """

    weights: tuple[float, ...]
    within: Aggregator = two_way
    quorum: int = 1
    error_correlation: float = 0.0

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """Return the weighted mean of the judges' scores for each of ``n`` candidates, with standard errors.

        Errors follow from how much the judges differ, and from their error correlation, which makes them differ less
        than they err. They are None if fewer than two judges scored the group. If only one judge scored it, its scores
        and errors are returned.
        """
        by_judge = {
            slot: self.within(of_judge, n)
            for slot, of_judge in _judgments_by_slot(judgments)
            if slot < len(self.weights) and self.weights[slot] > 0
        }
        if len(by_judge) == 1 and self.quorum == 1:
            return next(iter(by_judge.values()))
        standardised = {slot: standard_scores(scores.values) for slot, scores in by_judge.items()}
        rows = {slot: row for slot, row in standardised.items() if sum(score is not None for score in row) > 1}
        scores = self._weighted_means(rows, n)
        return _on_mean_scale(scores, [(self.weights[slot], by_judge[slot].values) for slot in rows])

    def _weighted_means(self, rows: Mapping[int, tuple[float | None, ...]], n: int) -> Scores:
        """Return weighted means and their errors.

        Judges whose errors have variance v and correlation r differ with variance v (1 - r), and their mean errs with
        variance v (q + r (1 - q)), where q is the sum of squared weights.
        """
        values: list[float | None] = [None] * n
        shares: list[float | None] = [None] * n
        squares, freedom, related = 0.0, -len(rows) + 1, self.error_correlation
        for item in range(n):
            scored = [(self.weights[slot], value) for slot, row in rows.items() if (value := row[item]) is not None]
            if len(scored) < max(self.quorum, 1):
                continue
            total = math.fsum(weight for weight, _ in scored)
            mean = math.fsum(weight * score for weight, score in scored) / total
            squares += math.fsum(weight / total * (score - mean) ** 2 for weight, score in scored) * len(scored)
            freedom += len(scored) - 1
            values[item] = round(mean, DIGITS) + 0.0
            shares[item] = math.fsum((weight / total) ** 2 for weight, _ in scored)
        if freedom <= 0 or len(rows) < 2:
            return Scores(tuple(values), (None,) * n)
        apart = squares / freedom / (1 - related)
        errors = [None if q is None else round(math.sqrt(apart * (q + related * (1 - q))), DIGITS) for q in shares]
        return Scores(tuple(values), tuple(errors), "repeats", freedom)


@dataclass(frozen=True, slots=True)
class Fallback:
    """Uses the judgments of a single judge of a panel: the judge that scored the most candidates.

    If several judges scored the same number, the judge with the most judgments is used. Fallback is for judges that are
    asked after one another: the scores of two judges are never mixed within a group.
    """

    within: Aggregator = two_way

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """Return the scores and standard errors of the chosen judge; None for each candidate without any judgment."""
        tables = [(self.within(of_judge, n), len(of_judge)) for _, of_judge in _judgments_by_slot(judgments)]
        return max(
            tables or [(self.within((), n), 0)],
            key=lambda table: (sum(value is not None for value in table[0].values), table[1]),
        )[0]


def _judgments_by_slot(judgments: Sequence[Judgment]) -> list[tuple[int, list[Judgment]]]:
    """Return the judgments of each slot, sorted by slot."""
    slots: dict[int, list[Judgment]] = {}
    for judgment in judgments:
        if not isinstance(judgment, Verdict):
            slots.setdefault(judgment.slot, []).append(judgment)
    return sorted(slots.items())


def _on_mean_scale(scores: Scores, rows: Sequence[tuple[float, Sequence[float | None]]]) -> Scores:
    """Convert z-scores to scores, with the weighted averages of the judges' means and standard deviations.

    This is a linear change, so that GRPO's advantages stay the same.
    """
    total = math.fsum(weight for weight, _ in rows)
    if not total:
        return scores
    level = spread = 0.0
    for weight, row in rows:
        known = [value for value in row if value is not None]
        mean = math.fsum(known) / len(known)
        level += weight / total * mean
        spread += weight / total * math.sqrt(math.fsum((value - mean) ** 2 for value in known) / len(known))
    lowest = min(value for _, row in rows for value in row if value is not None)
    highest = max(value for _, row in rows for value in row if value is not None)
    # One judge's standard deviation may move another judge's outlier off the scale. Then all scores are shrunk by the
    # same factor, so that none are tied.
    furthest = [(value, highest - level if value > 0 else level - lowest) for value in scores.values if value]
    spread = min([spread, *(max(room, 0.0) / abs(score) for score, room in furthest)])
    return replace(
        scores,
        values=tuple(None if value is None else round(level + spread * value, DIGITS) + 0.0 for value in scores.values),
        stderrs=tuple(None if stderr is None else round(spread * stderr, DIGITS) for stderr in scores.stderrs),
    )


def standard_scores(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Standardise one judge's scores, to aggregate them with other judges': subtract the mean, divide by the spread.

    The standard deviation is that of a population. All are 0 if the scores are equal. None stays None. A single score
    cannot be standardised and becomes None.
    """
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return (None,) * len(values)
    mean = math.fsum(known) / len(known)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / len(known))
    return tuple(None if value is None else (value - mean) / spread if spread > _EDGE else 0.0 for value in values)
