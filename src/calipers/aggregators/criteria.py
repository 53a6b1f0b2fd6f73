"""Turns verdicts on criteria into a score for each candidate, by the grading's formula and policy for missing verdicts.

Each grading (one sample or order of one judge) gives a score. The scores of a judge's gradings are averaged, then those
of the judges of a panel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self, TypeAlias

from calipers.aggregators.two_way import two_way
from calipers.rubric import Grading
from calipers.rubric.formulas import Met, graded, score_from_rules
from calipers.types import Judgment, Rating, RenderedGroup, Rubric, Scores, Verdict

_DIGITS = 9
"""Scores are rounded to this many decimals, so that equal sums are bit-equal whatever the order of summation."""

Rows: TypeAlias = list[list[float]]
"""For each candidate, the scores from its gradings."""
Gradings: TypeAlias = Mapping[int, Mapping[int, Mapping[str, Met]]]
"""Verdicts by grading, candidate and criterion."""


@dataclass(frozen=True, slots=True)
class CriteriaScores:
    """The scores of a group whose candidates are graded by ``rubrics``; ``of`` takes the rubrics from the group.

    A grading in which a verdict is unknown has a score only if ``grading.on_missing`` allows it. A verdict of None
    never replaces another, so a follow-up question fills gaps. Verdicts of rules (``checked``) are part of every
    grading, and a score that follows from rules alone is exact.

    With several ``judges``, a ``panel`` "all" averages scores by ``weights``. If some judges graded only some
    candidates, ``two_way`` removes the judges' levels first, so that no candidate gains from a lenient judge. In
    "cycle", the judges share a grading. In "fallback", only the judge that graded the most candidates counts. A
    candidate that fewer than ``quorum`` judges graded has no score.
    """

    grading: Grading = field(default_factory=Grading)
    rubrics: tuple[Rubric | None, ...] = ()
    judges: int = 1
    panel: Literal["all", "cycle", "fallback"] = "all"
    quorum: int = 1
    weights: tuple[float, ...] | None = None
    checked: tuple[Mapping[str, Verdict], ...] = ()

    def of(self, view: RenderedGroup) -> Self:
        """Return the same aggregator for the rubrics and rule verdicts of the candidates of ``view``."""
        return replace(self, rubrics=view.rubrics, checked=view.rule_verdicts)

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """Return one score and standard error per candidate; None if no grading has a score.

        The standard error is that of the mean over gradings, by one judge or by several; None for a single grading.
        """
        exact = [self._score_from_rules(item) for item in range(n)]
        scores = self._scores_of_judges(judgments, n)
        values = tuple(judged if known is None else known for known, judged in zip(exact, scores.values, strict=True))
        stderrs = tuple(judged if known is None else 0.0 for known, judged in zip(exact, scores.stderrs, strict=True))
        basis = scores.basis or (None if None in exact else "assumed")  # rules are taken to be exact
        return Scores(values, stderrs, basis, scores.freedom)

    def _scores_of_judges(self, judgments: Sequence[Judgment], n: int) -> Scores:
        by_slot: dict[int, list[Judgment]] = {}
        for judgment in judgments:
            by_slot.setdefault(0 if self.panel == "cycle" else judgment.slot, []).append(judgment)
        by_slot = dict(sorted(by_slot.items())) or {0: []}
        rows = {slot: self._scores_of_gradings(gradings, n) for slot, gradings in by_slot.items()}
        if self.panel == "fallback":
            slot = max(rows, key=lambda judge: sum(map(bool, rows[judge])))
            rows = {slot: rows[slot]}
        if len(rows) == 1 and self.quorum == 1:
            (row,) = rows.values()
            return _repeated(tuple(map(_mean, row)), row)
        return self._combine_judges({slot: tuple(map(_mean, row)) for slot, row in rows.items()}, n)

    def _scores_of_gradings(self, judgments: Sequence[Judgment], n: int) -> Rows:
        """Return, for each candidate, the scores of one judge's gradings."""
        verdicts: dict[int, dict[int, dict[str, Met]]] = {}
        for judgment in judgments:
            match judgment:
                case Verdict(item=int() as item, criterion=str() as criterion):
                    # In "cycle", the answers of all judges are part of the same grading.
                    grading = judgment.presentation // (self.judges if self.panel == "cycle" else 1)
                    of_item = verdicts.setdefault(grading, {}).setdefault(item, {})
                    if of_item.get(criterion) is None:
                        of_item[criterion] = judgment.met
        return [self._values(item, verdicts) for item in range(n)]

    def _values(self, item: int, found: Gradings) -> list[float]:
        rubric = self._rubric(item)
        if rubric is None or self._score_from_rules(item) is not None:
            return []
        ruled: dict[str, Met] = {name: verdict.met for name, verdict in self._rule_verdicts(item).items()}
        verdicts = [{**ruled, **found[grading].get(item, {})} for grading in sorted(found)]
        if not verdicts and ruled:
            verdicts = [ruled]
        values = [graded(rubric, met, self.grading) for met in verdicts]
        return [value for value in values if value is not None]

    def _rubric(self, item: int) -> Rubric | None:
        return self.rubrics[item] if item < len(self.rubrics) else None

    def _rule_verdicts(self, item: int) -> Mapping[str, Verdict]:
        return self.checked[item] if item < len(self.checked) else {}

    def _score_from_rules(self, item: int) -> float | None:
        """Return the score of a candidate if the verdicts of rules alone decide it, otherwise None."""
        rubric = self._rubric(item)
        value = None if rubric is None else score_from_rules(rubric, self._rule_verdicts(item), self.grading)
        return None if value is None else round(value, _DIGITS)

    def _combine_judges(self, rows: Mapping[int, Sequence[float | None]], n: int) -> Scores:
        """Combine the scores of several judges for each candidate that at least ``quorum`` of them graded."""
        weight = dict(enumerate(self.weights or (1.0,) * self.judges))
        rows = {slot: row for slot, row in rows.items() if weight.get(slot, 0.0) > 0}
        graded_by = [[slot for slot, row in rows.items() if row[item] is not None] for item in range(n)]
        counted = [slots if len(slots) >= self.quorum else [] for slots in graded_by]
        if len({tuple(slots) for slots in counted if slots}) > 1:
            ratings = [
                Rating(item, value, slot)
                for slot, row in rows.items()
                for item, value in enumerate(row)
                if value is not None and counted[item]
            ]
            return two_way(ratings, n)
        values = [[(weight[slot], value) for slot in counted[item] if (value := rows[slot][item]) is not None]
                  for item in range(n)]  # fmt: skip
        return _repeated(tuple(map(_weighted, values)), [[value for _, value in pairs] for pairs in values])


def _repeated(values: tuple[float | None, ...], rows: Rows) -> Scores:
    """Return scores whose errors follow from the differences between each candidate's gradings (``rows``)."""
    freedom = sum(len(row) - 1 for row in rows if row)
    return Scores(values, tuple(map(_stderr, rows)), "repeats" if freedom else None, freedom or None)


def _weighted(pairs: Sequence[tuple[float, float]]) -> float | None:
    total = math.fsum(weight for weight, _ in pairs)
    return round(math.fsum(weight * value for weight, value in pairs) / total, _DIGITS) if pairs else None


def _mean(values: Sequence[float]) -> float | None:
    return round(math.fsum(values) / len(values), _DIGITS) if values else None


def _stderr(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return round(math.sqrt(variance / len(values)), _DIGITS)
