"""Combines yes-or-no verdicts of several judges, each with its own rates of error (Dawid & Skene 1979).

Source: A. P. Dawid, A. M. Skene, *Applied Statistics* 28 (1979): expectation maximisation over the true answers, how
often they are met, and each judge's sensitivity and specificity. The judges' errors are taken as unrelated: judges that
make the same mistakes look right together, and only labels can show it. Not responsible for scores (``panel``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from calipers.aggregators.panel_weights import Array

_STEPS: Final = 200
_SETTLED: Final = 1e-6
_RIGHT, _WRONG = 2.0, 1.0
"""Verdicts that each judge is taken to have given before, right and wrong, of each kind (a Beta prior). They keep the
rates of few verdicts off 0 and 1, and say that a judge is right more often than not, without which all answers might as
well be reversed.
"""


@dataclass(frozen=True, slots=True)
class Consensus:
    """What judges' verdicts say together: ``met`` is each item's probability of being met (NaN without a verdict).

    ``rate`` is the share of items that are met. ``sensitivity`` is each judge's share of "met" among met items, and
    ``specificity`` its share of "not met" among the others.
    """

    met: Array
    rate: float
    sensitivity: tuple[float, ...]
    specificity: tuple[float, ...]


def dawid_skene(verdicts: Array) -> Consensus:
    """Estimate what is met from ``verdicts`` (items, judges): 1 met, 0 not met, NaN none; for scores from criteria."""
    known = ~np.isnan(verdicts)
    yes, no = np.where(known, verdicts, 0.0), np.where(known, 1.0 - np.nan_to_num(verdicts), 0.0)
    heard = known.any(axis=1)
    met = (yes.sum(axis=1) + 0.5) / (known.sum(axis=1) + 1.0)  # starts from the share of votes
    rate, sensitivity, specificity = _rates(met[heard], yes[heard], no[heard])
    for _ in range(_STEPS):
        before = met
        odds = np.log(rate) - np.log1p(-rate)
        odds = odds + yes @ (np.log(sensitivity) - np.log1p(-specificity))
        odds = odds + no @ (np.log1p(-sensitivity) - np.log(specificity))
        met = 1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0)))
        rate, sensitivity, specificity = _rates(met[heard], yes[heard], no[heard])
        if np.abs(met - before).max(initial=0.0) < _SETTLED:
            break
    return Consensus(np.where(heard, met, np.nan), rate, tuple(map(float, sensitivity)), tuple(map(float, specificity)))


def _rates(met: Array, yes: Array, no: Array) -> tuple[float, Array, Array]:
    """Return the share of items that are met, and each judge's sensitivity and specificity, given what is met."""
    sensitivity = (met @ yes + _RIGHT) / (met @ (yes + no) + _RIGHT + _WRONG)
    specificity = ((1 - met) @ no + _RIGHT) / ((1 - met) @ (yes + no) + _RIGHT + _WRONG)
    return float((met.sum() + 1) / (len(met) + 2)), sensitivity, specificity
