"""What tying near scores (``ties=1``) costs a judge's agreement with gold, from recorded calls.

Not responsible for ties of groups that are all noise (``curves``), or for what is near (``rewards.near_ties``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calipers.calibration.arrays import Array, mean_of_known
from calipers.calibration.measures import bootstrap_interval, fidelity, mean_over_groups
from calipers.calibration.repeats import Learned
from calipers.rewards.near_ties import near_tied_clusters
from calipers.types import Scores

_CALLS = 2
"""How many calls of each group are looked at, one by one: more cost time and show little more."""


@dataclass(frozen=True, slots=True)
class NearTies:
    """The fidelity (-1 to 1) that one call of a judge loses in calibration if scores within one standard error tie.

    ``cost`` is the mean over ``groups`` groups; below 0 ties would help.
    """

    cost: float
    interval: tuple[float, float] | None
    groups: int


def near_tie_figures(calls: Array, gold: Array, learned: Learned | None, *, shared: bool) -> NearTies | None:
    """Return, in calibration, what ties within one standard error cost a judge whose noise its repeats show.

    ``calls`` are (groups, calls, members). None without repeats, without noise, or without gold.
    """
    if learned is None or learned.noise.variance <= 0:
        return None
    lost = [fidelity(one, gold) - fidelity(_tied(one, learned, shared=shared), gold) for one in _single_calls(calls)]
    by_group = mean_of_known(np.array(lost), axis=0)
    cost = mean_over_groups(by_group)
    if cost is None:
        return None
    return NearTies(cost, bootstrap_interval(by_group), int((~np.isnan(by_group)).sum()))


def _single_calls(calls: Array) -> list[Array]:
    return [calls[:, call] for call in range(min(_CALLS, calls.shape[1]))]


def _tied(scores: Array, learned: Learned, *, shared: bool) -> Array:
    """Return one call's scores (groups, members) with near ties made equal; NaN stays NaN."""
    made = scores.copy()
    for row, values in enumerate(scores):
        members = int((~np.isnan(values)).sum())
        error = math.sqrt(learned.noise.variance * (1 - 1 / members if shared and members else 1.0))
        known = tuple(None if math.isnan(value) else float(value) for value in values)
        for cluster in near_tied_clusters(Scores(known, (error,) * len(known)), within=1.0):
            made[row, cluster] = values[cluster].mean()
    return made
