"""Scores from comparisons: the Bradley-Terry model with Davidson's ties, graded margins and a prior.

Bradley & Terry, "Rank analysis of incomplete block designs", *Biometrika* 39 (1952); ties as in Davidson, *JASA* 65
(1970); a known advantage of being shown first as in Davidson & Beaver, *Biometrics* 33 (1977). Fitted by Newton's
method on the penalised log-likelihood, which is concave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from calipers.aggregators.two_way import DIGITS, largest_component
from calipers.types import Comparison, Judgment, Scores

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_STEPS = 50
_CONVERGED = 1e-9


@dataclass(frozen=True, slots=True)
class BradleyTerry:
    """Turns comparisons into strengths (log-odds with mean zero) with their standard errors.

    ``prior`` is the standard deviation of the normal prior on a strength (log-odds); it keeps the strength of an
    unbeaten candidate finite. ``first`` is the log-odds advantage of being shown first with this judge, 0 if unknown;
    it cancels if every pair is shown in both orders. A margin m counts as |m| of a win and 1 - |m| of a tie.
    """

    prior: float = 2.0
    first: float = 0.0

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """Return the strengths of ``n`` candidates as scores. Contradicting comparisons are averaged.

        Candidates that no chain of comparisons links to the largest linked set stay None, because their offset is
        unknown. Standard errors are those of the model (each comparison independent), and None if nothing was compared.
        """
        comparisons = [
            judgment for judgment in judgments if isinstance(judgment, Comparison) and judgment.first != judgment.second
        ]
        pairs = sorted({tuple(sorted((comparison.first, comparison.second))) for comparison in comparisons})
        rows = {number: dict.fromkeys(pair, 0.0) for number, pair in enumerate(pairs)}
        linked = sorted({item for row in largest_component(rows).values() for item in row}) if rows else []
        values: list[float | None] = [None] * n
        stderrs: list[float | None] = [None] * n
        if linked:
            column = {item: place for place, item in enumerate(linked)}
            kept = [
                (column[comparison.first], column[comparison.second], comparison.margin)
                for comparison in comparisons
                if comparison.first in column
            ]
            strengths, errors = _fit(kept, len(linked), self)
            for item, place in column.items():
                values[item] = round(strengths[place], DIGITS) + 0.0
                stderrs[item] = round(errors[place], DIGITS)
        return Scores(tuple(values), tuple(stderrs), "assumed" if linked else None)


def _fit(comparisons: Sequence[tuple[int, int, float]], n: int, model: BradleyTerry) -> tuple[list[float], list[float]]:
    """Return the strengths and standard errors of maximal penalised likelihood for the comparisons.

    If there were ties, the logarithm of Davidson's tie parameter is fitted as well.
    """
    # Half-points of the row candidate against the column candidate, and their comparisons; the row is shown first.
    wins, meetings = np.zeros((n, n)), np.zeros((n, n))
    ties = 0.0
    for first, second, margin in comparisons:
        wins[first, second] += (1 + margin) / 2
        meetings[first, second] += 1
        ties += 1 - abs(margin)
    points = wins.sum(axis=1) + (meetings - wins).sum(axis=0)
    at = np.zeros(n + 1)
    value, slope, curve = _likelihood(at, meetings, points, ties, model)
    for _ in range(_STEPS):
        step = np.linalg.solve(curve, slope)
        while True:
            trial = at + step
            there = _likelihood(trial, meetings, points, ties, model)
            if there[0] >= value - _CONVERGED or np.abs(step).max() < _CONVERGED:
                break
            step = step / 2
        at, (value, slope, curve) = trial, there
        if np.abs(step).max() < _CONVERGED:
            break
    covariance = np.linalg.inv(curve)[:n, :n]
    centred = covariance - covariance.mean(axis=0) - covariance.mean(axis=1, keepdims=True) + covariance.mean()
    strengths = at[:n] - at[:n].mean()
    return strengths.tolist(), np.sqrt(np.maximum(np.diag(centred), 0.0)).tolist()


def _likelihood(at: Array, both: Array, points: Array, ties: float, model: BradleyTerry) -> tuple[float, Array, Array]:
    """Return the penalised log-likelihood, its slope and negative second derivative, in n strengths and log tie rate.

    Without ties the tie parameter stays zero, which is plain Bradley-Terry. A constant that depends on the comparisons
    alone is omitted.
    """
    n = len(points)
    strength, tied = at[:n], ties > 0
    gap = strength[:, None] - strength[None, :] + model.first
    weight = np.exp(-np.abs(gap) / 2)  # relative to the stronger side, so that nothing overflows
    level = math.exp(min(at[n], 50.0)) * weight if tied else np.zeros_like(gap)
    total = 1 + weight**2 + level
    win = np.where(gap >= 0, 1, weight**2) / total
    tie = level / total
    score = win + tie / 2  # expected half-points of the candidate shown first
    expected = (both * score).sum(axis=1) + (both * (1 - score)).sum(axis=0)
    precision = 1 / model.prior**2
    value = (
        float(strength @ points)
        - float((both * (np.log(total) + np.maximum(gap, 0) + strength[None, :])).sum())
        + (ties * at[n] if tied else 0.0)
        - precision * float(at @ at) / 2
    )
    slope = np.append(points - expected, ties - float((both * tie).sum()) if tied else 0.0) - precision * at
    spread = both * (win + tie / 4 - score**2)  # variance of half-points
    spread = spread + spread.T
    curve = np.zeros((n + 1, n + 1))
    curve[:n, :n] = np.diag(spread.sum(axis=1)) - spread
    if tied:
        cross = both * tie * (0.5 - score)
        curve[:n, n] = curve[n, :n] = cross.sum(axis=1) - cross.sum(axis=0)
        curve[n, n] = float((both * tie * (1 - tie)).sum())
    return value, slope, curve + precision * np.eye(n + 1)
