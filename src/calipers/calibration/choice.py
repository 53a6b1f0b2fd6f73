"""Choose how to query a judge: the best agreement with gold for its price.

The rule: within a limit, the way with the best agreement with gold; without a limit, the cheapest way that reaches 98.5
% of the best. A panel is only considered if it beats every single judge of no higher price with confidence. The choice
is made on one part of the groups and measured on the other part. Not responsible for the text of the recommendation
(``recommend``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calipers.backends.names import is_stand_in
from calipers.calibration import measures
from calipers.calibration.arrays import Array, Flags
from calipers.calibration.comparable import common_groups
from calipers.calibration.costs import Measure, shared_measure
from calipers.calibration.curves import Interval
from calipers.calibration.ways import Way

SHARE_OF_BEST = 0.985
"""The share of the best way's fidelity that a cheaper way must reach."""

_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """The recommended ``way`` to query judges, chosen by its price in ``measure``.

    ``fidelity`` and its ``interval`` are of groups that had no part in the choice: each fifth of the groups is measured
    with the way that was chosen on the other four fifths. They are None below ten groups. ``frontier`` holds, by rising
    price, the ways that no cheaper way equals, with panels only if they beat single judges with confidence. ``rivals``
    are the other ways of no higher price. ``common_fidelity`` is the way's fidelity on the ``common_groups`` on which
    all ways were compared; ``shared`` is False if these were too few, so that each way was measured on its own groups.
    ``aside`` are ways that were not compared, because they have too few groups.
    """

    way: Way
    measure: Measure
    fidelity: float | None
    interval: Interval | None
    frontier: tuple[Way, ...]
    rivals: tuple[Way, ...]
    shared: bool
    common_groups: int = 0
    common_fidelity: float | None = None
    aside: tuple[Way, ...] = ()


def choose_way(ways: Sequence[Way], limit: Mapping[Measure, float] | None = None) -> Choice | None:
    """Return calibration's choice among ``ways`` to query judges.

    None if no way is within ``limit`` or none could be measured.

    ``limit`` is the highest cost of a group; ways of unknown cost are outside the limit. Ways with a judge that is not
    for training are excluded.
    """
    allowed = [
        way
        for way in ways
        if all(_within(way.cost.of(kind), most) for kind, most in (limit or {}).items())
        and not any(map(is_stand_in, way.judges))
    ]
    if not allowed:
        return None
    measure = next(iter(limit)) if limit else shared_measure(way.cost for way in allowed)
    # Sorting is stable: of ways with equal price and fidelity, the first way wins.
    by_price = sorted(allowed, key=lambda way: way.cost.of(measure) or 0.0)
    every = np.array([way.fidelity for way in by_price])
    common = common_groups(every)
    ordered = [way for way, compared in zip(by_price, common.rows, strict=True) if compared]
    table = every[np.ix_(common.rows, common.groups)]
    prices = np.array([way.cost.of(measure) or 0.0 for way in ordered])
    several = np.array([len(way.judges) > 1 for way in ordered])
    share = 1.0 if limit else SHARE_OF_BEST
    chosen = _pick(table, prices, several, share)
    held_out = _held_out(table, prices, several, share)
    return Choice(
        ordered[chosen],
        measure,
        measures.mean_over_groups(held_out),
        measures.bootstrap_interval(held_out),
        tuple(ordered[place] for place in _frontier(_considered(table, prices, several), prices)),
        tuple(way for way, price in zip(ordered, prices, strict=True) if price <= prices[chosen]),
        common.shared,
        int(common.groups.sum()) if common.shared else 0,
        measures.mean_over_groups(table[chosen]) if common.shared else None,
        tuple(way for way, compared in zip(by_price, common.rows, strict=True) if not compared),
    )


def _within(price: float | None, most: float) -> bool:
    return price is not None and price <= most * (1 + 1e-9)


def _mean_fidelities(table: Array) -> Array:
    known = ~np.isnan(table)
    count = known.sum(axis=1)
    return np.where(count > 0, np.where(known, table, 0.0).sum(axis=1) / np.maximum(count, 1), -np.inf)


def _pick(table: Array, prices: Array, several: Flags, share: float) -> int:
    """Return the index of the chosen way; ``prices`` are sorted."""
    levels = _considered(table, prices, several)
    best = levels.max()
    cheapest = prices[levels >= (share * best if best > 0 else best)].min()
    return int(np.where(prices <= cheapest * (1 + 1e-9), levels, -np.inf).argmax())


def _considered(table: Array, prices: Array, several: Flags) -> Array:
    """Return each way's mean fidelity; -inf for a panel unless it beats single judges with confidence."""
    levels = _mean_fidelities(table)
    sure = [
        bool(not one or _beats_single_judges(place, table, prices, several, levels))
        for place, one in enumerate(several)
    ]
    return np.where(sure, levels, -np.inf)


def _beats_single_judges(place: int, table: Array, prices: Array, several: Flags, levels: Array) -> bool:
    """Return whether a panel's gain over the best single judge of no higher price is above 0 with confidence."""
    rivals = np.flatnonzero(~several & (prices <= prices[place] * (1 + 1e-9)))
    if not len(rivals):
        return True
    best = rivals[int(levels[rivals].argmax())]
    gain = measures.bootstrap_interval(table[place] - table[best])
    return gain is not None and gain[0] > 0


def _held_out(table: Array, prices: Array, several: Flags, share: float) -> Array:
    """Cross-validate: return each group's fidelity under the way of judging that was chosen on the other folds.

    All are NaN if there are fewer than two groups per fold.
    """
    count = table.shape[1]
    found = np.full(count, np.nan)
    if count < 2 * _FOLDS:
        return found
    fold = np.random.default_rng(0).permutation(count) % _FOLDS
    for part in range(_FOLDS):
        out = fold == part
        found[out] = table[_pick(table[:, ~out], prices, several, share), out]
    return found


def _frontier(levels: Array, prices: Array) -> list[int]:
    """Return indices, by rising price, of the ways that are better than all ways of no higher price."""
    found: list[int] = []
    for place, level in enumerate(levels):
        if level == -np.inf or (found and level <= levels[found[-1]]):
            continue
        if found and prices[place] <= prices[found[-1]] * (1 + 1e-9):
            found.pop()
        found.append(place)
    return found
