"""All figures of a comparison of judges, from its answers.

Not responsible for single measures (``preferences``, ``agreement``, ``drift``, ``profiles``), or for the result file
(``results``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.costs import Cost
from calipers.calibration.records import Key, Record
from calipers.calibration.series import Frame, build_series, values_by_member
from calipers.errors import InputError
from calipers.study.comparison.agreement import (
    CriterionAgreement,
    Moved,
    PairAgreement,
    criteria_agreement,
    krippendorff_alpha,
    most_moved,
    pair_agreement,
)
from calipers.study.comparison.answers import CellAnswers, Evidence
from calipers.study.comparison.drift import Drift, MeanScores, predicted_drift
from calipers.study.comparison.preferences import Preferences, TextFeatures, preferences
from calipers.study.profiles.answers import tabulate
from calipers.study.profiles.fitting import measure_profile
from calipers.study.profiles.profile import Profile

_QUANTILES = (0, 25, 50, 75, 100)
_MOST_MOVED = 20


@dataclass(frozen=True, slots=True)
class Distribution:
    """The scores (0-1) that a judge of a comparison gave, one call at a time.

    ``quantiles`` are the lowest, the quartiles and the highest. Figures are None without scores.
    """

    scores: int
    mean: float | None = None
    sd: float | None = None
    quantiles: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CellFigures:
    """The figures of one cell of a comparison.

    ``profile`` holds repeatability, position bias, ties, failures and agreement with gold (None: nothing was answered).
    ``failed`` says why answers are missing.
    """

    name: str
    key: Key
    model: str
    groups: int
    distribution: Distribution
    profile: Profile | None
    preferences: Preferences
    drift: Drift | None
    cost: Cost
    rewritten_cost: Cost
    failed: str | None


@dataclass(frozen=True, slots=True)
class ComparisonFigures:
    """All figures of a comparison. ``alpha`` is Krippendorff's over all cells' mean scores of answers."""

    cells: tuple[CellFigures, ...]
    pairs: tuple[PairAgreement, ...]
    alpha: float | None
    criteria: tuple[CriterionAgreement, ...]
    moved: tuple[Moved, ...]
    reproduced: tuple[int, int] | None
    differing: tuple[str, ...]


def figures_of(evidence: Evidence) -> ComparisonFigures:
    """Return all figures of a comparison."""
    frame = evidence.frame
    names = [one.name for one in evidence.cells]
    problems = [_problem(one, frame) for one in evidence.cells]
    every = [
        (np.full(frame.gold.shape, np.nan), np.empty(0)) if problem else _scores(one, frame)
        for one, problem in zip(evidence.cells, problems, strict=True)
    ]
    table = np.stack([mean for mean, _ in every]) if every else np.empty((0, *frame.gold.shape))
    measured = TextFeatures(frame, evidence.texts)
    cells = tuple(
        _cell(cell, measured, problem, mean, single)
        for cell, problem, (mean, single) in zip(evidence.cells, problems, every, strict=True)
    )
    answered = [place for place, one in enumerate(evidence.cells) if not np.isnan(table[place]).all()]
    chosen, used = [names[place] for place in answered], table[answered]
    places = {
        (row, column): (group.group_id, member.id)
        for row, group in enumerate(frame.groups)
        for column, member in enumerate(group.trajectories)
    }
    return ComparisonFigures(
        cells,
        tuple(pair_agreement(chosen, used)),
        krippendorff_alpha(used.reshape(len(used), -1)) if len(used) > 1 else None,
        tuple(criteria_agreement(evidence.cells)),
        tuple(most_moved(chosen, used, places, most=_MOST_MOVED)),
        evidence.reproduced,
        evidence.differing,
    )


def _problem(cell: CellAnswers, frame: Frame) -> str | None:
    """Return why a cell's answers have no figures; None if they have."""
    if not any(one.scores or one.winner or one.ranking for one in cell.records):
        return f"nothing was answered: {cell.unscored}" if cell.unscored else "nothing was answered"
    try:
        tabulate(cell.records, frame)
    except InputError as error:
        return str(error)
    return None


def _scores(cell: CellAnswers, frame: Frame) -> tuple[Array, Array]:
    """Return a cell's mean score of each answer (groups, members), and every score of a single call; all are 0 to 1."""
    mean = np.full(frame.gold.shape, np.nan)
    (own,), _ = build_series(map(_on_unit_scale, cell.records), frame)
    mean[list(own.rows)] = own.scores(0, own.most)
    return mean, own.calls[~np.isnan(own.calls)]


def _on_unit_scale(record: Record) -> Record:
    if record.scores is None:
        return record
    return replace(record, scores=values_by_member(record, rescale=True), scale=(0.0, 1.0))


def _cell(cell: CellAnswers, measured: TextFeatures, problem: str | None, mean: Array, single: Array) -> CellFigures:
    found = preferences(cell, measured)
    profile = drift = None
    if problem is None:
        profile = measure_profile(cell.records, measured.frame, cell.records[0].key)
        calls = len(single) / max(int((~np.isnan(mean)).sum()), 1)
        drift = predicted_drift(profile, found, MeanScores(mean, measured.quality, measured.originals, calls))
    return CellFigures(
        cell.name,
        cell.key,
        cell.model,
        int((~np.isnan(mean)).any(axis=1).sum()),
        _distribution(single),
        profile,
        found,
        drift,
        cell.cost,
        cell.rewritten_cost,
        cell.failed or problem,
    )


def _distribution(scores: Array) -> Distribution:
    if not len(scores):
        return Distribution(0)
    sd = float(scores.std(ddof=1)) if len(scores) > 1 else None
    quantiles = tuple(float(one) for one in np.percentile(scores, _QUANTILES))
    return Distribution(len(scores), float(scores.mean()), sd, quantiles)
