"""On which groups judges may be held against one another: those that all of them scored.

A judge that keeps silent about the hard groups looks better on the rest. Not responsible for what is compared there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calipers.calibration.arrays import Array, Flags

ENOUGH = 30
"""Groups below which an interval is too wide to choose by."""


@dataclass(frozen=True, slots=True)
class Common:
    """``rows`` of a table are compared on its columns ``groups``; both are flags.

    ``shared`` is False where too few groups are common to all that matter: then each row counts as it is.
    """

    rows: Flags
    groups: Flags
    shared: bool


def common_groups(table: Array) -> Common:
    """What of ``table`` (rows, groups), NaN where unknown, can be compared.

    Enough are ``ENOUGH`` groups, or half of what some row has. Where all rows have fewer in common, those that know less
    than half as many groups as some other are left out.
    """
    known = ~np.isnan(table)
    counts = known.sum(axis=1)
    most = int(counts.max(initial=0))
    every = np.ones(len(table), dtype=bool)
    need = max(min(ENOUGH, math.ceil(most / 2)), 1)
    for rows in (every, 2 * counts >= most):
        groups = np.asarray(known[rows].all(axis=0))
        if rows.any() and int(groups.sum()) >= need:
            return Common(np.asarray(rows), groups, shared=True)
    return Common(every, np.asarray(known.any(axis=0)), shared=False)
