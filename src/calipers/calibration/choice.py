"""Choose how to query judges: the best agreement with gold for its price.

Ways are compared in pairs, on the groups that both were asked about, and members without a score count. Panels need no
lead over single judges: their weights are shrunk to equal ones as far as gold does not show that judges differ. The
rule: within a limit, the best way; without a limit, the cheapest way whose fidelity, less one standard error of its
difference from the best, is 98.5 % of the best. A dearer way is on the frontier, and may be called the best, only if it
is better by a standard error of the difference.
The figures of the choice are nested cross-validation (Stone 1974): the whole search, including panels and their
weights, is repeated without each fifth of the prompts, and what it chooses is measured on that fifth.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from calipers.backends.names import is_stand_in
from calipers.calibration import measures
from calipers.calibration.comparable import FOLDS, enough_groups, folds, prompts
from calipers.calibration.measures import Array, Counts, Flags, Interval
from calipers.calibration.records import Cost, Measure, shared_measure
from calipers.calibration.series import Frame, Series
from calipers.calibration.ways import PanelSpace, Way, silent_groups

SHARE_OF_BEST: Final = 0.985
"""The share of the best way's fidelity that a cheaper way must reach."""
_ROUNDING: Final = 1 + 1e-9
_EDGE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Choice:
    """The recommended ``way`` to query judges, chosen by its price in ``measure`` among ``tried`` ways.

    ``fidelity`` and its ``interval`` are of groups that had no part in the choice: each fifth of the prompts is
    measured with the way that was chosen on the other four fifths. They are None below ten groups or five prompts.
    ``frontier`` holds, by rising price, the ways that are better than every cheaper way, and ``way``.
    ``frontier_held_out`` has, for each, the fidelity and interval of what is chosen within its price, on groups that
    had no part in the choice. ``common_groups`` is the number of groups that all compared ways have. ``aside`` are ways
    that were not compared, because they have too few groups. ``panels`` are the best panels of the search. With
    ``way``, about ``silent_groups`` of its groups get no score.
    """

    way: Way
    measure: Measure
    fidelity: float | None
    interval: Interval | None
    frontier: tuple[Way, ...]
    frontier_held_out: tuple[tuple[float | None, Interval | None], ...]
    common_groups: int
    aside: tuple[Way, ...]
    tried: int
    panels: tuple[Way, ...] = field(repr=False)
    silent_groups: float = 0.0

    @property
    def chance_interval(self) -> Interval | None:
        """The interval that says whether the way is better than chance: of groups held out, if there are enough."""
        return self.interval or measures.bootstrap_interval(self.way.fidelity, self.tried)

    @property
    def is_usable(self) -> bool:
        """Whether the way may be trained on: gold shows that it is better than chance."""
        return self.chance_interval is not None and self.chance_interval[0] > 0

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
            "common_groups": self.common_groups,
            "silent_groups": self.silent_groups,
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
        known = np.array([~np.isnan(way.fidelity) for way in ordered] or np.empty((0, 0), dtype=bool))
        compared = known.sum(axis=1) >= enough_groups(known.sum(axis=1))
        self.groups = np.asarray(known[compared].any(axis=0))
        self.common_groups = int(known[compared].all(axis=0).sum()) if compared.any() else 0
        self.alone = [way for way, is_compared in zip(ordered, compared, strict=True) if is_compared]
        self.aside = [way for way, is_compared in zip(ordered, compared, strict=True) if not is_compared]
        self.share = 1.0 if self.limit else SHARE_OF_BEST
        members = [judge for judge in series if judge.tells_apart and not is_stand_in(judge.key.judge)]
        self.space = None if frame is None or not self.alone else PanelSpace(members, frame, self._is_affordable)

    @property
    def tried(self) -> int:
        """The number of ways that the last search compared."""
        return len(self.alone) + (0 if self.space is None else self.space.tried)

    def offer(self, train: Flags) -> list[Way]:
        """Return what can be chosen if only the groups ``train`` are known, by rising price."""
        panels = [] if self.space is None else self.space.panels(train)
        return sorted([*self.alone, *panels], key=self._price)

    def levels(self, ways: Sequence[Way], train: Flags) -> tuple[Array, Array]:
        """Return the level of each way of an offer on the groups ``train`` (-inf if it has none), and its price."""
        table = np.array([way.fidelity for way in ways])[:, train]
        means, known = measures.mean_of_known(table, axis=1), (~np.isnan(table)).sum(axis=1)
        levels = levels_beside(table, int(np.lexsort((-means, -known))[0]), 0.0)
        if self.share < 1:  # cheaper ways must be known to reach the share of the best
            levels = levels_beside(table, int(levels.argmax()), 1.0)
        return levels, np.array([self._price(way) for way in ways])

    def choose(self, train: Flags, prices: Sequence[float] = ()) -> list[Way]:
        """Return the way that is chosen on the groups ``train``, and then the best one up to each of ``prices``."""
        ways = self.offer(train)
        levels, costs = self.levels(ways, train)
        within = [np.where(costs <= most * _ROUNDING, levels, -np.inf) for most in prices]
        picks = [_pick(levels, costs, self.share), *(_pick(levels_within, costs, 1.0) for levels_within in within)]
        return [ways[place] for place in picks]

    def held_out(self, sources: Counts, prices: Sequence[float]) -> list[Array]:
        """Cross-validate: return each group's fidelity under the ways that ``choose`` takes on the other folds.

        ``sources`` number the groups' prompts. All are NaN if the groups cannot be divided into folds.
        """
        groups = self.groups
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
    ordered = contest.offer(contest.groups)
    tried = contest.tried
    if contest.space is not None:
        related = contest.space.error_correlation
        ordered = [
            dataclasses.replace(way, error_correlation=related(way.keys)) if way.weights else way for way in ordered
        ]
    levels, prices = contest.levels(ordered, contest.groups)
    pick = _pick(levels, prices, contest.share)
    frontier = sorted({pick, *_frontier(ordered, levels, prices)})
    sources = np.arange(len(contest.groups)) if frame is None else prompts(frame)
    measured = contest.held_out(sources, [prices[place] for place in frontier])
    held_out = [(measures.mean_over_groups(level), measures.bootstrap_interval(level)) for level in measured]
    return Choice(
        ordered[pick],
        contest.measure,
        *held_out[0],
        tuple(ordered[place] for place in frontier),
        tuple(held_out[1:]),
        contest.common_groups,
        tuple(contest.aside),
        tried,
        tuple(way for way in ordered if way.weights),
        0.0 if frame is None else silent_groups(ordered[pick], series, frame),
    )


def _pick(levels: Array, prices: Array, share: float) -> int:
    """Return the index of the chosen way by the ways' ``levels``; ``prices`` are sorted."""
    best = levels.max()
    cheapest = prices[levels >= (share * best if best > 0 else best) - _EDGE].min()
    return int(np.where(prices <= cheapest * _ROUNDING, levels.round(9), -np.inf).argmax())


def levels_beside(table: Array, place: int, errors: float) -> Array:
    """Return how good each way of ``table`` (ways, groups) surely is, compared with the way at ``place``; -inf unknown.

    It is that way's mean plus the mean gain over it on the groups that both have, less so many standard errors. A way
    without two such groups has its own mean.
    """
    means = measures.mean_of_known(table, axis=1)
    gains = table - table[place]
    known = np.maximum((~np.isnan(gains)).sum(axis=1), 1)
    gain = measures.mean_of_known(gains, axis=1)
    spread = np.sqrt(measures.mean_of_known((gains - gain[:, None]) ** 2, axis=1) / np.maximum(known - 1, 1))
    levels = np.where(known > 1, means[place] + gain - errors * spread, means)
    return np.nan_to_num(levels, nan=-np.inf)


def _frontier(ways: Sequence[Way], levels: Array, prices: Array) -> list[int]:
    """Return indices, by rising price, of the best way at each price that is better than the best cheaper one.

    Better means by more than a standard error of the paired difference.
    """
    best: list[int] = []
    for place, level in enumerate(levels):
        same_price = bool(best) and prices[place] <= prices[best[-1]] * _ROUNDING
        cheaper = best[:-1] if same_price else best
        if level > (levels[best[-1]] if same_price else -np.inf) and (
            not cheaper or _is_surely_better(ways[place], ways[cheaper[-1]])
        ):
            best = [*cheaper, place]
    return best


def _is_surely_better(way: Way, other: Way) -> bool:
    known, sure = levels_beside(np.array([other.fidelity, way.fidelity]), 0, 1.0)
    return bool(sure > known + _EDGE)
