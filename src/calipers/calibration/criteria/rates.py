"""How often criteria are met, corrected for a judge's errors; and what several judges' verdicts say together.

Not responsible for agreement with labels, verdict by verdict (``agreement``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calipers.aggregators.dawid_skene import dawid_skene
from calipers.calibration.criteria.agreement import Agreement, Pair, agreement
from calipers.calibration.criteria.rows import Labelled


@dataclass(frozen=True, slots=True)
class Rates:
    """How often a judge says "met", and how often that is so, in 0-1.

    ``said`` is the share of its verdicts that are "met", ``labelled`` that of the labels. ``sensitivity`` is the share
    of "met" among labels that are met, and ``specificity`` that of "not met" among the others. ``corrected`` is
    ``said`` without the judge's errors, as Rogan and Gladen estimate it, and ``interval`` its 95 % interval; None if
    the judge's verdicts do not go with the labels.
    """

    said: float
    labelled: float
    sensitivity: float
    specificity: float
    corrected: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class PanelOfCriteria:
    """All judges' verdicts together, on the ``rows`` with a verdict of each: by ``majority``, and by ``dawid_skene``.

    ``error_correlation`` is the mean correlation between two judges' errors, and ``effective_votes`` the number of
    judges with unrelated errors that would be as good. Ties of a majority are "not met".
    """

    judges: tuple[str, ...]
    rows: int
    majority: Agreement
    dawid_skene: Agreement
    error_correlation: float | None
    effective_votes: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the object ``panel`` of the criteria's report in calibration."""
        return asdict(self)


def rogan_gladen(
    said: float, sensitivity: float, specificity: float, *, verdicts: int, met: int, not_met: int
) -> tuple[float, tuple[float, float]] | None:
    """Return how often criteria are met, in 0-1, given how often a calibrated judge says so, with a 95 % interval.

    ``said`` is its share of "met" in so many ``verdicts``, about labelled criteria or others. ``sensitivity`` and
    ``specificity`` come from ``met`` and ``not_met`` labelled criteria. Source: W. J. Rogan, B. Gladen, *American
    Journal of Epidemiology* 107 (1978), with their variance. None if sensitivity and specificity sum to 1 or less: the
    verdicts then say nothing.
    """
    informed = sensitivity + specificity - 1
    if informed <= 0 or not (verdicts and met and not_met):
        return None
    rate = min(max((said + specificity - 1) / informed, 0.0), 1.0)
    variance = (
        said * (1 - said) / verdicts
        + rate**2 * sensitivity * (1 - sensitivity) / met
        + (1 - rate) ** 2 * specificity * (1 - specificity) / not_met
    )
    half = 1.96 * math.sqrt(variance) / informed
    return rate, (max(rate - half, 0.0), min(rate + half, 1.0))


def rates(decided: Sequence[tuple[Labelled, bool]]) -> Rates | None:
    """Return a judge's rates from its verdicts on labelled rows, for calibration.

    None if labels of one kind are missing.
    """
    pairs = [(met, label) for row, met in decided for label in row.labels]
    met, not_met = (sum(label is kind for _, label in pairs) for kind in (True, False))
    if not met or not not_met:
        return None
    sensitivity = sum(said and label for said, label in pairs) / met
    specificity = sum(not said and not label for said, label in pairs) / not_met
    said = sum(one for _, one in decided) / len(decided)
    found = rogan_gladen(said, sensitivity, specificity, verdicts=len(decided), met=met, not_met=not_met)
    corrected, interval = (None, None) if found is None else found
    return Rates(said, met / len(pairs), sensitivity, specificity, corrected, interval)


def panel_of_criteria(said: Mapping[str, Sequence[tuple[Labelled, bool]]]) -> PanelOfCriteria | None:
    """Return what the verdicts of several judges say together in calibration.

    None below two judges, or without common rows.
    """
    by_judge = {judge: {row.line: (row, met) for row, met in reversed(found)} for judge, found in said.items() if found}
    if len(by_judge) < 2:
        return None
    lines = sorted(set.intersection(*(set(found) for found in by_judge.values())))
    if not lines:
        return None
    table = np.array([[float(found[line][1]) for found in by_judge.values()] for line in lines])
    labelled = [next(iter(by_judge.values()))[line][0] for line in lines]
    related = _error_correlation(table, labelled)
    judges = len(by_judge)
    return PanelOfCriteria(
        tuple(by_judge),
        len(lines),
        agreement(_pairs(labelled, table.mean(axis=1) > 0.5)),
        agreement(_pairs(labelled, dawid_skene(table).met > 0.5)),
        related,
        None if related is None else judges / (1 + (judges - 1) * max(related, 0.0)),
    )


def _pairs(rows: Sequence[Labelled], met: Any) -> list[Pair]:
    return [(row.unit, bool(one), label) for row, one in zip(rows, met, strict=True) for label in row.labels]


def _error_correlation(table: Any, rows: Sequence[Labelled]) -> float | None:
    """Return the mean correlation of two judges' errors; None if one makes none.

    An error is what a verdict has beyond its least-squares prediction from the share of labels that are met.
    """
    truth = np.array([sum(row.labels) / len(row.labels) for row in rows])
    known = np.stack([np.ones(len(truth)), truth], axis=1)
    errors = table - known @ np.linalg.lstsq(known, table, rcond=None)[0]
    sizes = np.sqrt((errors**2).sum(axis=0))
    if sizes.min() <= 1e-9:
        return None
    between = (errors / sizes).T @ (errors / sizes)
    return float(between[~np.eye(len(between), dtype=bool)].mean())
