"""Choose how to query judges: the best agreement with gold for its price.

The rule: within a limit, the way with the best agreement with gold; without a limit, the cheapest way that reaches 98.5
% of the best. A panel is only considered if it beats the best single judge of no higher price by more than one standard
error. The figures of the choice are nested cross-validation (Stone 1974): the whole search, including panels and their
weights, is repeated without each fifth of the prompts, and what it chooses is measured on that fifth.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from calipers.backends.names import is_stand_in
from calipers.calibration import measures
from calipers.calibration.comparable import FOLDS, Common, common_groups, folds, prompts
from calipers.calibration.measures import Array, Counts, Flags, Interval
from calipers.calibration.records import Cost, Measure, shared_measure
from calipers.calibration.series import Frame, Series
from calipers.calibration.ways import PanelSpace, Way

SHARE_OF_BEST: Final = 0.985
"""The share of the best way's fidelity that a cheaper way must reach."""
_ROUNDING: Final = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Choice:
    """The recommended ``way`` to query judges, chosen by its price in ``measure`` among ``tried`` ways.

    ``fidelity`` and its ``interval`` are of groups that had no part in the choice: each fifth of the prompts is
    measured with the way that was chosen on the other four fifths. They are None below ten groups or five prompts.
    ``frontier`` holds, by rising price, the ways that no cheaper way equals, with panels only if they beat single
    judges by more than one standard error. ``frontier_held_out`` has, for each, the fidelity and interval of what is
    chosen within its price, on groups that had no part in the choice. ``common`` are the groups on which all ways were
    compared. ``aside`` are ways that were not compared, because they have too few groups. ``panels`` are the best
    panels of the search.
    """

    way: Way
    measure: Measure
    fidelity: float | None
    interval: Interval | None
    frontier: tuple[Way, ...]
    frontier_held_out: tuple[tuple[float | None, Interval | None], ...]
    common: Common = field(repr=False, compare=False)
    aside: tuple[Way, ...]
    tried: int
    panels: tuple[Way, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the object ``search`` of the JSON report."""
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
            "common_groups": int(self.common.groups.sum()) if self.common.shared else 0,
            "frontier": frontier,
        }


class Contest:
    """The search for a way to query judges, which can be repeated on any part of the groups."""

    def __init__(
        self,
        ways: Sequence[Way],
        limit: Mapping[Measure, float] | None = None,
        series: Sequence[Series] = (),
        frame: Frame | None = None,
    ) -> None:
        """Prepare the search among ``ways`` within ``limit``, and panels of ``series`` on the groups of ``frame``."""
        self.limit = dict(limit or {})
        allowed = [way for way in ways if self._is_affordable(way.cost) and not any(map(is_stand_in, way.judges))]
        self.measure: Measure = next(iter(self.limit)) if self.limit else shared_measure(way.cost for way in allowed)
        # Sorting is stable: of ways with equal price and fidelity, the first way wins.
        ordered = sorted(allowed, key=self._price)
        self.common = common_groups(np.array([way.fidelity for way in ordered] or np.empty((0, 0))))
        self.alone = [way for way, compared in zip(ordered, self.common.rows, strict=True) if compared]
        self.aside = [way for way, compared in zip(ordered, self.common.rows, strict=True) if not compared]
        self.share = 1.0 if self.limit else SHARE_OF_BEST
        self.space = None if frame is None or not self.alone else self._panel_space(series, frame)

    @property
    def tried(self) -> int:
        """The number of ways that the last search compared."""
        return len(self.alone) + (0 if self.space is None else self.space.tried)

    def offer(self, train: Flags) -> list[Way]:
        """Return what can be chosen if only the groups ``train`` are known, by rising price."""
        panels = [] if self.space is None else self.space.panels(train)
        return sorted([*self.alone, *panels], key=self._price)

    def levels(self, ways: Sequence[Way], train: Flags) -> tuple[Array, Array]:
        """Return the mean fidelity of each way of an offer on the groups ``train``, and its price.

        It is -inf for a panel that does not clearly beat single judges.
        """
        prices = np.array([self._price(way) for way in ways])
        return _considered(ways, np.array([way.fidelity for way in ways])[:, train], prices), prices

    def choose(self, train: Flags, prices: Sequence[float] = ()) -> list[Way]:
        """Return the way that is chosen on the groups ``train``, and then the best one up to each of ``prices``."""
        ways = self.offer(train)
        levels, costs = self.levels(ways, train)
        within = [np.where(costs <= most * _ROUNDING, levels, -np.inf) for most in prices]
        picks = [_pick(levels, costs, self.share), *(_pick(some, costs, 1.0) for some in within)]
        return [ways[place] for place in picks]

    def held_out(self, sources: Counts, prices: Sequence[float]) -> list[Array]:
        """Cross-validate: return each group's fidelity under the ways that ``choose`` takes on the other folds.

        ``sources`` number the groups' prompts. All are NaN if the groups cannot be divided into folds.
        """
        groups = self.common.groups
        measured: list[Array] = [np.full(len(groups), np.nan) for _ in range(1 + len(prices))]
        at = np.full(len(groups), -1)
        fold = folds(sources[groups])
        if fold is None:
            return measured
        at[groups] = fold
        for part in range(FOLDS):
            out = at == part
            for levels, way in zip(measured, self.choose(groups & ~out, prices), strict=True):
                levels[out] = way.fidelity[out]
        return measured

    def _price(self, way: Way) -> float:
        return way.cost.of(self.measure) or 0.0

    def _is_affordable(self, cost: Cost) -> bool:
        prices = ((cost.of(kind), most) for kind, most in self.limit.items())
        return all(price is not None and price <= most * _ROUNDING for price, most in prices)

    def _panel_space(self, series: Sequence[Series], frame: Frame) -> PanelSpace | None:
        """Return the panels of the judges that scored all groups on which ways are compared."""
        wanted = self.common.groups
        some = [one for one in series if not is_stand_in(one.key.judge)]
        scored = [one.on_frame(np.asarray((~np.isnan(one.calls)).any(axis=(1, 2)), float), frame) == 1 for one in some]
        if not self.common.shared:  # only the groups that all judges scored can show what they are worth together
            wanted = np.asarray(np.all(scored, axis=0) & wanted)
        members = [one for one, known in zip(some, scored, strict=True) if known[wanted].all()]
        if len({member.key.judge for member in members}) < 2 or not wanted.any():
            return None
        return PanelSpace(members, frame, wanted, self._is_affordable)


def choose_way(
    ways: Sequence[Way],
    limit: Mapping[Measure, float] | None = None,
    series: Sequence[Series] = (),
    frame: Frame | None = None,
) -> Choice | None:
    """Return the choice among ``ways`` to query single judges, and panels of ``series`` on the groups of ``frame``.

    None if no way is within ``limit``, the highest cost of a group, or none could be measured. Ways of unknown cost are
    outside the limit, and ways with a judge that is not for training are excluded.
    """
    contest = Contest(ways, limit, series, frame)
    if not contest.alone:
        return None
    common = contest.common
    ordered = contest.offer(common.groups)
    tried = contest.tried
    if contest.space is not None:
        related = contest.space.error_correlation
        ordered = [
            dataclasses.replace(way, error_correlation=related(way.keys)) if way.weights else way for way in ordered
        ]
    levels, prices = contest.levels(ordered, common.groups)
    frontier = _frontier(levels, prices)
    sources = np.arange(len(common.groups)) if frame is None else prompts(frame)
    measured = contest.held_out(sources, [prices[place] for place in frontier])
    held_out = [(measures.mean_over_groups(one), measures.bootstrap_interval(one)) for one in measured]
    return Choice(
        ordered[_pick(levels, prices, contest.share)],
        contest.measure,
        *held_out[0],
        tuple(ordered[place] for place in frontier),
        tuple(held_out[1:]),
        common,
        tuple(contest.aside),
        tried,
        tuple(way for way in ordered if way.weights),
    )


def _pick(levels: Array, prices: Array, share: float) -> int:
    """Return the index of the chosen way by the ways' ``levels``; ``prices`` are sorted."""
    best = levels.max()
    cheapest = prices[levels >= (share * best if best > 0 else best)].min()
    return int(np.where(prices <= cheapest * _ROUNDING, levels, -np.inf).argmax())


def _considered(ways: Sequence[Way], table: Array, prices: Array) -> Array:
    """Return each way's mean fidelity in ``table`` (ways, groups); -inf for a panel that is not worth its price.

    Its gain over the best single judge of no higher price must be more than its standard error: the rule of one
    standard error (Breiman et al., *Classification and Regression Trees*, 1984), of ways that hardly differ, the
    simpler one.
    """
    means = measures.mean_of_known(table, axis=1)
    levels = np.where(np.isnan(means), -np.inf, means)
    alone = np.array([len(way.keys) == 1 for way in ways])
    considered = levels.copy()
    for place in np.flatnonzero(~alone):
        rivals = np.flatnonzero(alone & (prices <= prices[place] * _ROUNDING))
        if not len(rivals):
            continue
        gain = table[place] - table[rivals[int(levels[rivals].argmax())]]
        known = gain[~np.isnan(gain)]
        if len(known) < 2 or known.mean() <= known.std(ddof=1) / math.sqrt(len(known)):
            considered[place] = -np.inf
    return considered


def _frontier(levels: Array, prices: Array) -> list[int]:
    """Return indices, by rising price, of the ways that are better than all ways of no higher price."""
    best: list[int] = []
    for place, level in enumerate(levels):
        if level == -np.inf or (best and level <= levels[best[-1]]):
            continue
        if best and prices[place] <= prices[best[-1]] * _ROUNDING:
            best.pop()
        best.append(place)
    return best
