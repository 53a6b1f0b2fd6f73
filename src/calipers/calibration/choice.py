"""Choose how to query a judge: the best agreement with gold for its price.

The rule: within a limit, the way with the best agreement with gold; without a limit, the cheapest way that reaches 98.5
% of the best. A panel is only considered if it beats the best single judge of no higher price by more than one standard
error. The figures of the choice are nested cross-validation (Stone 1974): the whole search, including panels and their
weights, is repeated without each fifth of the prompts, and what it chooses is measured on that fifth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calipers.backends.names import is_stand_in
from calipers.calibration import measures
from calipers.calibration.arrays import Array, Flags
from calipers.calibration.comparable import Common, common_groups
from calipers.calibration.costs import Cost, Measure, shared_measure
from calipers.calibration.curves import Interval
from calipers.calibration.folds import FOLDS, Folds, folds
from calipers.calibration.panel_space import PanelSpace, Unit
from calipers.calibration.series import Frame
from calipers.calibration.ways import Way, panel_way

SHARE_OF_BEST = 0.985
"""The share of the best way's fidelity that a cheaper way must reach."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The recommended ``way`` to query judges, chosen by its price in ``measure`` among ``tried`` ways.

    ``fidelity`` and its ``interval`` are of groups that had no part in the choice: each fifth of the prompts is
    measured with the way that was chosen on the other four fifths. They are None below ten groups or five prompts.
    ``frontier`` holds, by rising price, the ways that no cheaper way equals, with panels only if they beat single
    judges by more than one standard error. ``frontier_held_out`` has, for each, the fidelity and interval of what is
    chosen within its price, on groups that had no part in the choice. ``rivals`` are the other ways of no higher price.
    ``common_fidelity`` is the way's fidelity on the ``common_groups`` on which all ways were compared; ``shared`` is
    False if these were too few, so that each way was measured on its own groups. ``aside`` are ways that were not
    compared, because they have too few groups. ``panels`` are the best panels of the search.
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
    tried: int = 0
    frontier_held_out: tuple[tuple[float | None, Interval | None], ...] = ()
    panels: tuple[Way, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the object ``search`` of the calibration's JSON report."""
        frontier = [
            {"name": way.name, **way.to_dict(), "held_out_fidelity": level, "held_out_interval": interval}
            for way, (level, interval) in zip(self.frontier, self.frontier_held_out, strict=True)
        ]
        return {
            "name": self.way.name,
            "way": self.way.to_dict(),
            "measure": self.measure,
            "ways_tried": self.tried,
            "held_out_fidelity": self.fidelity,
            "held_out_interval": self.interval,
            "common_groups": self.common_groups,
            "frontier": frontier,
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """What panels are made of: ``units`` of the ``frame``, and the number of each group's prompt (``sources``)."""

    units: Sequence[Unit]
    frame: Frame
    sources: Folds


@dataclass(frozen=True, slots=True)
class _Offer:
    """Ways that are compared, by rising ``prices``; ``table`` has their fidelity in each group, ``several`` panels."""

    table: Array
    prices: Array
    several: Flags

    def pick(self, train: Flags, share: float, most: float = np.inf) -> Array:
        """Return the fidelity in all groups of the way that is chosen on the groups in ``train``, up to a price."""
        affordable = self.prices <= most * (1 + 1e-9)
        table, prices, several = self.table[affordable], self.prices[affordable], self.several[affordable]
        return np.asarray(table[_pick(table[:, train], prices, several, share)])


class Contest:
    """The search for a way to query judges, which can be repeated on any part of the groups."""

    def __init__(
        self, ways: Sequence[Way], limit: Mapping[Measure, float] | None = None, judged: Judged | None = None
    ) -> None:
        """Prepare the search among ``ways`` within ``limit`` and, if ``judged`` is given, panels."""
        self.limit = dict(limit or {})
        allowed = [way for way in ways if self._is_affordable(way.cost) and not any(map(is_stand_in, way.judges))]
        self.measure: Measure = next(iter(self.limit)) if self.limit else shared_measure(way.cost for way in allowed)
        # Sorting is stable: of ways with equal price and fidelity, the first way wins.
        self.ways = sorted(allowed, key=lambda way: self.price(way.cost))
        every = np.array([way.fidelity for way in self.ways] or np.empty((0, 0)))
        self.common: Common = common_groups(every)
        self.alone = [way for way, compared in zip(self.ways, self.common.rows, strict=True) if compared]
        self.aside = [way for way, compared in zip(self.ways, self.common.rows, strict=True) if not compared]
        self.share = 1.0 if self.limit else SHARE_OF_BEST
        self.space = None if judged is None or not self.alone else self._panel_space(judged)

    def price(self, cost: Cost) -> float:
        """Return a cost in the measure by which ways are compared; 0 if it is unknown for all ways."""
        return cost.of(self.measure) or 0.0

    def tried(self) -> int:
        """Return the number of ways that the last search compared."""
        return len(self.alone) + (0 if self.space is None else self.space.tried)

    def panels(self, train: Flags) -> list[Way]:
        """Return the best panels that a search on the groups ``train`` finds."""
        if self.space is None:
            return []
        return [panel_way(self.space, plan) for plan in self.space.plans(train)]

    def offer(self, train: Flags) -> _Offer:
        """Return what can be chosen if only the groups ``train`` are known: single judges, and panels found there."""
        rows = [(self.price(way.cost), False, way.fidelity) for way in self.alone]
        if self.space is not None:
            rows += [
                (self.price(self.space.cost(plan)), True, self.space.quick_fidelity(plan))
                for plan in self.space.plans(train)
            ]
        rows.sort(key=lambda row: row[0])
        prices, several, table = zip(*rows, strict=True)
        return _Offer(np.array(table), np.array(prices), np.array(several))

    def _is_affordable(self, cost: Cost) -> bool:
        return all(_within(cost.of(kind), most) for kind, most in self.limit.items())

    def _panel_space(self, judged: Judged) -> PanelSpace | None:
        """Return the panels of the units that scored all groups on which ways are compared."""
        wanted = self.common.groups
        heard = np.array([(~np.isnan(one.calls)).any(axis=(1, 2)) for one in judged.units])
        if not self.common.shared:  # only the groups that all units scored can show what they are worth together
            wanted = np.asarray(heard.all(axis=0) & wanted)
        units = [
            one
            for one, scored in zip(judged.units, heard, strict=True)
            if scored[wanted].all() and not is_stand_in(one.key.judge)
        ]
        if len({one.key.judge for one in units}) < 2 or not wanted.any():
            return None
        return PanelSpace(units, judged.frame, wanted, self._is_affordable)


def choose_way(
    ways: Sequence[Way], limit: Mapping[Measure, float] | None = None, judged: Judged | None = None
) -> Choice | None:
    """Return calibration's choice among ``ways`` to query judges, and the panels of the units ``judged``.

    None if no way is within ``limit`` or none could be measured.

    ``limit`` is the highest cost of a group; ways of unknown cost are outside the limit. Ways with a judge that is not
    for training are excluded.
    """
    contest = Contest(ways, limit, judged)
    if not contest.alone:
        return None
    common = contest.common
    found = contest.panels(common.groups)
    ordered = sorted([*contest.alone, *found], key=lambda way: contest.price(way.cost))
    table = np.array([way.fidelity for way in ordered])[:, common.groups]
    prices = np.array([contest.price(way.cost) for way in ordered])
    several = np.array([len(way.judges) > 1 for way in ordered])
    chosen = _pick(table, prices, several, contest.share)
    frontier = _frontier(_considered(table, prices, several), prices)
    tried = contest.tried()
    sources = np.arange(len(common.groups)) if judged is None else judged.sources
    held_out, by_price = _held_out(contest, sources, [prices[place] for place in frontier])
    return Choice(
        ordered[chosen],
        contest.measure,
        measures.mean_over_groups(held_out),
        measures.bootstrap_interval(held_out),
        tuple(ordered[place] for place in frontier),
        tuple(way for way, price in zip(ordered, prices, strict=True) if price <= prices[chosen]),
        common.shared,
        int(common.groups.sum()) if common.shared else 0,
        measures.mean_over_groups(table[chosen]) if common.shared else None,
        tuple(contest.aside),
        tried,
        tuple((measures.mean_over_groups(one), measures.bootstrap_interval(one)) for one in by_price),
        tuple(found),
    )


def _held_out(contest: Contest, sources: Folds, prices: Sequence[float]) -> tuple[Array, list[Array]]:
    """Cross-validate: return each group's fidelity under the way that was chosen on the other folds.

    Also return the same for ways up to each of ``prices``. All are NaN if the groups cannot be divided into folds.
    """
    groups = contest.common.groups
    found: Array = np.full(len(groups), np.nan)
    by_price: list[Array] = [np.full(len(groups), np.nan) for _ in prices]
    fold = folds(sources[groups])
    if fold is None:
        return found, by_price
    at = np.full(len(groups), -1)
    at[groups] = fold
    for part in range(FOLDS):
        out, train = at == part, groups & (at != part)
        offer = contest.offer(train)
        found[out] = offer.pick(train, contest.share)[out]
        for most, one in zip(prices, by_price, strict=True):
            one[out] = offer.pick(train, 1.0, most)[out]
    return found, by_price


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
    """Return each way's mean fidelity; -inf for a panel unless it beats single judges clearly."""
    levels = _mean_fidelities(table)
    clear = [
        bool(not one or _beats_single_judges(place, table, prices, several, levels))
        for place, one in enumerate(several)
    ]
    return np.where(clear, levels, -np.inf)


def _beats_single_judges(place: int, table: Array, prices: Array, several: Flags, levels: Array) -> bool:
    """Return whether a panel's gain over the best single judge of no higher price is more than its standard error.

    This is the rule of one standard error (Breiman et al., *Classification and Regression Trees*, 1984): of ways that
    hardly differ, the simpler one.
    """
    rivals = np.flatnonzero(~several & (prices <= prices[place] * (1 + 1e-9)))
    if not len(rivals):
        return True
    gain = table[place] - table[rivals[int(levels[rivals].argmax())]]
    known = gain[~np.isnan(gain)]
    return len(known) > 1 and bool(known.mean() > known.std(ddof=1) / math.sqrt(len(known)))


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
