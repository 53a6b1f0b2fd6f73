"""What groups with all gold equal show of a judge: nothing of its agreement, and its preferences with nothing beside.

Where answers are equally good, a score that goes with length, markdown or position goes with nothing else that gold
knows. Not responsible for preferences in other groups (``judges``), where better answers may also be longer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calipers.calibration import measures
from calipers.calibration.arrays import Array, Flags, mean_of_known
from calipers.calibration.curves import Interval


@dataclass(frozen=True, slots=True)
class Preference:
    """The mean correlation within groups of a judge's scores with something, over ``groups``; a 95 % interval."""

    correlation: float
    interval: Interval | None
    groups: int


@dataclass(frozen=True, slots=True)
class EqualGold:
    """A judge's preferences in the ``groups`` in which all gold is equal; None where nothing differs or is known.

    ``length`` is that of the answer in characters, ``markdown`` its share of markdown, and ``position`` the position in
    the list, from 0: a positive correlation favours later positions.
    """

    groups: int
    length: Preference | None
    markdown: Preference | None
    position: Preference | None


def equally_good(gold: Array) -> Flags:
    """Return flags of the groups of a calibration in which two members or more have gold, all of it the same."""
    high = np.where(np.isnan(gold), -np.inf, gold).max(axis=1)
    low = np.where(np.isnan(gold), np.inf, gold).min(axis=1)
    return np.asarray(((~np.isnan(gold)).sum(axis=1) >= 2) & (high - low <= 1e-9))


def equal_gold_figures(
    gold: Array, scores: Array, calls: Array, shown: Array | None, *, lengths: Array, marks: Array
) -> EqualGold | None:
    """Return a judge's preferences where gold is equal, for calibration; None if there is no such group.

    All arrays have the shape (groups, members), apart from ``calls`` and the positions ``shown`` in them, with the
    shape (groups, calls, members). Members without gold are omitted.
    """
    rows = equally_good(gold)
    if not rows.any():
        return None
    known = ~np.isnan(gold[rows])
    by_call = None
    if shown is not None:
        heard = np.where(known[:, None, :], calls[rows], np.nan)
        by_call = mean_of_known(measures.fidelity(heard, np.broadcast_to(shown[rows], heard.shape)), axis=1)
    kept = np.where(known, scores[rows], np.nan)
    return EqualGold(
        int(rows.sum()),
        _preference(measures.fidelity(kept, lengths[rows])),
        _preference(measures.fidelity(kept, marks[rows])),
        None if by_call is None else _preference(by_call),
    )


def _preference(by_group: Array) -> Preference | None:
    level = measures.mean_over_groups(by_group)
    if level is None:
        return None
    return Preference(level, measures.bootstrap_interval(by_group), int((~np.isnan(by_group)).sum()))
