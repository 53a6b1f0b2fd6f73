"""How sure a judge is of a group from its scores, and whether its sureness can still be trusted.

In a cascade the scores of a cheap judge count where it is sure, else the next judge is asked. ``Rule`` decides this for
a group; ``Watch`` compares a judge with the last one on the groups drawn for it. Pure. Not responsible for asking
(``planners.cascade``), nor for the thresholds that a run begins with (``calibration.cascade``).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from calipers.aggregators.betting import Evidence
from calipers.types import Scores

ConfidenceMeasure: TypeAlias = Literal["lead", "spread"]
Step: TypeAlias = Literal["sure", "unsure", "unusable", "check"]

LEVEL: Final = 0.01
"""The probability that the last judge ever gets all groups although a judge errs no more than it may."""
_STEP: Final = 0.2
_LEAST_SCALE: Final = 0.05
_EDGE: Final = 1e-9


def confidence(scores: Scores, measure: ConfidenceMeasure) -> float | None:
    """Return how sure a judge is of a group, in units of its scores; None if a candidate has no score.

    ``"lead"`` is the best score less the next, ``"spread"`` the standard deviation (of a population).
    """
    known = [value for value in scores.values if value is not None]
    if len(known) < 2 or len(known) < len(scores.values):
        return None
    if measure == "lead":
        next_best, best = sorted(known)[-2:]
        return round(best - next_best, 9)
    mean = math.fsum(known) / len(known)
    return round(math.sqrt(math.fsum((value - mean) ** 2 for value in known) / len(known)), 9)


def disagreement(scores: Scores, last: Scores) -> float | None:
    """Return how far two judges' scores of a group differ: (1 - r) / 2 with Pearson's r, from 0 to 1; 0.5 is chance.

    r is 0 where either judge scores all alike. None if fewer than two candidates have both scores.
    """
    pairs = [(one, other) for one, other in zip(scores.values, last.values, strict=True) if None not in (one, other)]
    known = [(one, other) for one, other in pairs if one is not None and other is not None]
    if len(known) < 2:
        return None
    first, second = (_centred(row) for row in zip(*known, strict=True))
    size = math.sqrt(math.fsum(one * one for one in first) * math.fsum(one * one for one in second))
    across = math.fsum(one * other for one, other in zip(first, second, strict=True))
    return round((1 - max(-1.0, min(1.0, across / size if size > _EDGE else 0.0))) / 2, 9)


def _centred(values: Sequence[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that says what follows from the scores of a judge in a cascade.

    ``bases`` are the thresholds of confidence that the run began with, by slot. ``share`` (0-1) of the groups whose
    confidence reaches them are drawn for a check by the last judge.
    """

    bases: tuple[float, ...]
    measure: ConfidenceMeasure = "lead"
    share: float = 0.1

    def next_step(self, scores: Scores, slot: int, threshold: float, draw: str) -> Step:
        """Return whether the scores of the judge in ``slot`` count ("sure"), or why another judge is asked.

        ``threshold`` is the one that holds now. Whether the group is checked follows from the text ``draw`` alone.
        """
        sure = confidence(scores, self.measure)
        if sure is None:
            return "unusable"
        if sure < self.bases[slot]:
            return "unsure"
        if random.Random(draw).random() < self.share:  # noqa: S311 - reproducible, not secret
            return "check"
        return "unsure" if sure < threshold else "sure"


@dataclass(frozen=True, slots=True)
class Watch:
    """What the checks of a run show about one judge of a cascade, and the threshold that follows for its scores.

    ``base`` is the threshold that the run began with, ``limit`` the mean disagreement with the last judge that is
    allowed among the groups whose confidence reaches ``base``. Once the evidence that it is exceeded reaches 1 /
    ``LEVEL``, the judge is ``breached`` and stays so. Before that, ``threshold`` rises after checks with more
    disagreement, and falls again to ``base`` while there is less (the update of Gibbs & Candès, "Adaptive conformal
    inference under distribution shift", 2021): the mean disagreement that reaches rewards tends to ``limit`` at most.
    """

    base: float
    limit: float
    threshold: float
    evidence: Evidence
    breached: bool = False

    @classmethod
    def begin(cls, base: float, limit: float) -> Watch:
        """Return the watch over a judge whose scores have not been checked yet."""
        return cls(base, limit, base, Evidence(limit))

    def after(self, error: float, *, trusted: bool) -> Watch:
        """Return the watch after a check in which the judge's scores differed from the last judge's by ``error``.

        ``trusted`` means that the scores would have counted without the check: the confidence reached the threshold.
        """
        step = _STEP * max(self.base, _LEAST_SCALE)
        evidence = self.evidence.after(error)
        return replace(
            self,
            threshold=round(max(self.base, self.threshold + step * (error * trusted - self.limit)), 6),
            evidence=evidence,
            breached=self.breached or evidence.value >= 1 / LEVEL,
        )
