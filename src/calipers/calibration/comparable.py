"""Find the groups on which judges can be compared: those that all judges scored.

A judge that does not score the hard groups looks better on the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calipers.calibration.arrays import Array, Flags

MIN_GROUPS = 30
"""The fewest groups for a choice: with fewer groups, intervals are too wide."""


@dataclass(frozen=True, slots=True)
class Common:
    """The ``rows`` of a table are compared on its columns ``groups``; both are flags.

    ``shared`` is False if too few groups are common: then each row is measured on its own groups.
    """

    rows: Flags
    groups: Flags
    shared: bool


def common_groups(table: Array) -> Common:
    """Return the part of ``table`` (rows, groups; NaN where unknown) that calibration can compare.

    All rows must share at least ``MIN_GROUPS`` groups, or half as many groups as the largest row has. If they share
    fewer, rows with less than half as many groups as the largest row are omitted.
    """
    known = ~np.isnan(table)
    counts = known.sum(axis=1)
    most = int(counts.max(initial=0))
    every = np.ones(len(table), dtype=bool)
    need = max(min(MIN_GROUPS, math.ceil(most / 2)), 1)
    for rows in (every, 2 * counts >= most):
        groups = np.asarray(known[rows].all(axis=0))
        if rows.any() and int(groups.sum()) >= need:
            return Common(np.asarray(rows), groups, shared=True)
    return Common(every, np.asarray(known.any(axis=0)), shared=False)
