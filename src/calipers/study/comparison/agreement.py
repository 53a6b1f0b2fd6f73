"""How far the judges of a comparison agree: on the order within groups, on scores, and on single criteria.

Not responsible for agreement with gold (``profiles``), or for how one judge agrees with itself (``profiles.repeats``).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calipers.calibration import measures
from calipers.calibration.arrays import Array
from calipers.study.comparison.answers import CellAnswers
from calipers.study.profiles.figures import Figure, untold

_NO_GROUP = "no group in which both judges order two answers"
_EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """The agreement of two cells of a comparison, ``first`` and ``second``, over answers that both scored.

    ``tau_b`` and ``pearson`` are correlations of their mean scores within groups, as means over groups in which at
    least one of them orders the answers (0 in a group that the other ties). ``equal`` is the share of answers with
    equal scores, and ``apart`` the mean absolute difference of scores (0-1).
    """

    first: str
    second: str
    tau_b: Figure
    pearson: Figure
    answers: int
    equal: float | None
    apart: float | None


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """How the cells of a comparison disagree on a criterion.

    ``disagreement`` is the share of pairs of cells with different verdicts about an answer (of scores, their mean
    absolute difference), over ``answers`` answers that two or more cells judged. ``alpha`` is Krippendorff's.
    """

    criterion: str
    answers: int
    disagreement: float
    alpha: float | None
    means: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Moved:
    """An answer that the cells of a comparison score most differently: ``scores`` by the cells' names."""

    group_id: str
    id: str
    scores: Mapping[str, float]
    spread: float


def pair_agreement(names: Sequence[str], scores: Array) -> list[PairAgreement]:
    """Return the agreement of every two cells of a comparison; ``scores`` has the shape (cells, groups, members)."""
    return [
        _pair(names[one], names[other], scores[one], scores[other])
        for one, other in itertools.combinations(range(len(names)), 2)
    ]


def _pair(first: str, second: str, one: Array, other: Array) -> PairAgreement:
    known = ~np.isnan(one + other)
    apart = np.abs(one - other)[known]
    return PairAgreement(
        first,
        second,
        _mean(_symmetric(measures.tau_b(one, other), measures.tau_b(other, one))),
        _mean(_symmetric(measures.fidelity(one, other), measures.fidelity(other, one))),
        len(apart),
        float((apart <= _EDGE).mean()) if len(apart) else None,
        float(apart.mean()) if len(apart) else None,
    )


def _symmetric(one: Array, other: Array) -> Array:
    return np.where(np.isnan(one), other, one)


def _mean(by_group: Array) -> Figure:
    mean = measures.mean_over_groups(by_group)
    if mean is None:
        return untold(_NO_GROUP)
    groups = int((~np.isnan(by_group)).sum())
    low, high = measures.bootstrap_interval(by_group) or (None, None)
    return Figure(mean, low, high, groups, groups)


def krippendorff_alpha(values: Array) -> float | None:
    """Return Krippendorff's alpha of a comparison's ``values`` (raters, units), NaN missing, by interval differences.

    It is 1 - D_o / D_e, where D_o is the mean squared difference of two values of a unit and D_e that of any two values
    (Krippendorff, *Content Analysis*, 2004, ch. 11); for values of 0 and 1 it is also the nominal alpha. None if no
    unit has two values, or if all values are equal.
    """
    counts = (~np.isnan(values)).sum(axis=0)
    used = values[:, counts > 1]
    pairable = used[~np.isnan(used)]
    if len(pairable) < 2 or np.ptp(pairable) <= _EDGE:
        return None
    size = counts[counts > 1]
    centred = used - np.nanmean(used, axis=0)
    within = (np.nansum(centred**2, axis=0) * size / (size - 1)).sum()
    n = len(pairable)
    expected = ((pairable - pairable.mean()) ** 2).sum() * n / (n - 1)
    return float(1 - within / expected)


def criteria_agreement(cells: Sequence[CellAnswers]) -> list[CriterionAgreement]:
    """Return how a comparison's cells disagree on each criterion, the most disputed first."""
    units: dict[str, dict[tuple[str, str], int]] = {}
    for criterion, group, member in dict.fromkeys(place for cell in cells for place in cell.verdicts):
        own = units.setdefault(criterion, {})
        own[group, member] = len(own)
    found = []
    for criterion, places in units.items():
        values = np.full((len(cells), len(places)), np.nan)
        for row, cell in enumerate(cells):
            for (group, member), column in places.items():
                values[row, column] = cell.verdicts.get((criterion, group, member), np.nan)
        shared = values[:, (~np.isnan(values)).sum(axis=0) > 1]
        if shared.size:
            means = {
                cell.name: float(np.nanmean(row))
                for cell, row in zip(cells, values, strict=True)
                if not np.isnan(row).all()
            }
            alpha = krippendorff_alpha(shared)
            found.append(CriterionAgreement(criterion, shared.shape[1], _disagreement(shared), alpha, means))
    return sorted(found, key=lambda one: (-one.disagreement, one.criterion))


def _disagreement(values: Array) -> float:
    """Return the mean absolute difference of two cells' values (cells, units), over all such pairs."""
    pairs = [np.abs(one - other) for one, other in itertools.combinations(values, 2)]
    return float(np.nanmean(np.concatenate(pairs)))


def most_moved(
    names: Sequence[str], scores: Array, places: Mapping[tuple[int, int], tuple[str, str]], *, most: int
) -> list[Moved]:
    """Return the answers that a comparison's cells score most differently, at most ``most``, largest spread first.

    ``places`` maps a row and a column of ``scores`` (cells, groups, members) to the ids of group and trajectory.
    """
    found = []
    for (row, column), (group, member) in places.items():
        own = scores[:, row, column]
        known = {name: float(value) for name, value in zip(names, own, strict=True) if not np.isnan(value)}
        if len(known) > 1 and (spread := max(known.values()) - min(known.values())) > _EDGE:
            found.append(Moved(group, member, known, spread))
    return sorted(found, key=lambda one: (-one.spread, one.group_id, one.id))[:most]
