"""Scores from rankings: Plackett-Luce with a prior, over whole or partial rankings.

Luce, *Individual Choice Behavior* (1959); Plackett, "The analysis of permutations", *Applied Statistics* 24 (1975): a
ranking is a row of choices of the best among those left. Fitted by Newton's method on the penalised log-likelihood,
which is concave. A candidate a ranking leaves out is missing from it, not last. Not responsible for reading rankings.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from calipers.aggregators.bradley_terry import largest_linked
from calipers.aggregators.two_way import DIGITS
from calipers.types import Judgment, Ranking, Scores

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_STEPS = 50
_SETTLED = 1e-9


@dataclass(frozen=True, slots=True)
class PlackettLuce:
    """Aggregates Rankings to log-utilities, zero on average, with their standard errors.

    ``prior`` is the standard deviation of the normal prior on a log-utility; it keeps one always ranked first finite.
    """

    prior: float = 2.0

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """Log-utilities of ``n`` candidates; contradictions are averaged.

        Candidates that no chain of rankings links to the largest linked set stay None, and a ranking of one says
        nothing. Standard errors are those of the model (each choice independent).
        """
        rankings = [one.items for one in judgments if isinstance(one, Ranking)]
        linked = largest_linked([pair for items in rankings for pair in itertools.pairwise(items)], n)
        values: list[float | None] = [None] * n
        stderrs: list[float | None] = [None] * n
        if linked:
            column = {item: place for place, item in enumerate(linked)}
            kept = [[column[item] for item in items] for items in rankings if len(items) > 1 and items[0] in column]
            utilities, errors = _fit(kept, len(linked), self.prior)
            for item, place in column.items():
                values[item] = round(utilities[place], DIGITS) + 0.0
                stderrs[item] = round(errors[place], DIGITS)
        return Scores(tuple(values), tuple(stderrs))


plackett_luce = PlackettLuce()
"""With the usual prior; for the registry."""


def _fit(rankings: Sequence[list[int]], n: int, prior: float) -> tuple[list[float], list[float]]:
    import numpy as np  # noqa: PLC0415 - importing calipers stays light

    at = np.zeros(n)
    value, slope, curve = _likelihood(at, rankings, prior)
    for _ in range(_STEPS):
        step = np.linalg.solve(curve, slope)
        while True:
            trial = at + step
            there = _likelihood(trial, rankings, prior)
            if there[0] >= value - _SETTLED or np.abs(step).max() < _SETTLED:
                break
            step = step / 2
        at, (value, slope, curve) = trial, there
        if np.abs(step).max() < _SETTLED:
            break
    covariance = np.linalg.inv(curve)
    centred = covariance - covariance.mean(axis=0) - covariance.mean(axis=1, keepdims=True) + covariance.mean()
    return (at - at.mean()).tolist(), np.sqrt(np.maximum(np.diag(centred), 0.0)).tolist()


def _likelihood(at: Array, rankings: Sequence[list[int]], prior: float) -> tuple[float, Array, Array]:
    """The penalised log-likelihood, its slope and its negative second derivative."""
    import numpy as np  # noqa: PLC0415 - likewise

    precision = 1 / prior**2
    value = -precision * float(at @ at) / 2
    slope = -precision * at
    curve = precision * np.eye(len(at))
    for items in rankings:
        utilities = at[items]
        weights = np.exp(utilities - utilities.max())
        left = np.cumsum(weights[::-1])[::-1]  # what is still to choose from at each choice
        chances = np.triu(weights[None, :] / left[:, None])[:-1]  # a choice a row, a candidate a column
        value += float((utilities - utilities.max())[:-1].sum() - np.log(left[:-1]).sum())
        slope[items] += np.append(np.ones(len(items) - 1), 0.0) - chances.sum(axis=0)
        curve[np.ix_(items, items)] += np.diag(chances.sum(axis=0)) - chances.T @ chances
    return value, slope, curve
