"""Choose how to query judges: the best agreement with gold for its price.

The rule: within a limit, the way with the best agreement with gold; without a limit, the cheapest way that reaches 98.5
% of the best. A panel is only considered if it beats the best single judge of no higher price by more than one standard
error. The figures of the choice are nested cross-validation (Stone 1974): the whole search, including panels and their
weights, is repeated without each fifth of the prompts, and what it chooses is measured on that fifth. Only measured
ways are considered: nothing is extrapolated to more calls.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np

from calipers.backends.names import is_stand_in
from calipers.calibration import measures
from calipers.calibration.comparable import FOLDS, Common, Folds, common_groups, folds
from calipers.calibration.curves import Curve, Interval
from calipers.calibration.measures import Array, Flags
from calipers.calibration.panels import PanelSpace, Plan, Unit, effective_votes
from calipers.calibration.records import Cost, Key, Measure, Mode, shared_measure
from calipers.calibration.series import Frame, Series

SHARE_OF_BEST: Final = 0.985
"""The share of the best way's fidelity that a cheaper way must reach."""
_ROUNDING: Final = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Way:
    """A way to judge a group: ``judges`` (several are a panel with ``weights``), with settings of a run.

    ``cost`` is that of a group; ``fidelity`` has one figure for each group of the frame, NaN if unknown. ``resolve`` is
    the tolerance of the stopping rule, if it is used, and ``most`` its limit of presentations. ``members`` says how
    each judge of a panel is asked; the panel's ``temperature`` is None if its judges differ in it.
    ``error_correlation`` is the mean correlation of two members' errors, and ``effective_votes`` the number of judges
    with unrelated errors that would be as good.
    """

    judges: tuple[str, ...]
    protocol: str
    orders: int
    samples: int
    cost: Cost
    fidelity: Array = field(repr=False, compare=False)
    prompt_variant: str | None = None
    temperature: float | None = None
    criterion: str | None = None
    weights: tuple[float, ...] | None = None
    resolve: float | None = None
    most: int | None = None
    members: tuple[Key, ...] = ()
    error_correlation: float | None = None
    effective_votes: float | None = None

    @property
    def keys(self) -> tuple[Key, ...]:
        """How each judge of this way is asked, in the order of ``judges``."""
        mode = cast("Mode", self.protocol)
        alone = Key(self.judges[0], mode, self.prompt_variant, self.temperature, self.criterion)
        return self.members or (alone,)

    @property
    def name(self) -> str:
        """A name that distinguishes this way from the others of a calibration."""
        return self.called({})

    def called(self, names: Mapping[str, str]) -> str:
        """Return the name of this way, with ``names`` in place of the judges' names."""
        times = f"{self.orders} orders" if self.orders > 1 else "1 order"
        often = "" if self.samples == 1 else f" x {self.samples}"
        settled = "" if self.resolve is None else f", resolve {self.resolve:g}"
        asked = [self.protocol, *filter(None, (self.prompt_variant, self.criterion))]
        asked += [] if self.temperature is None else [f"t={self.temperature:g}"]
        shown = [names.get(key.judge, key.judge) + self._heat(key) for key in self.keys]
        return f"{' + '.join(shown)}: {', '.join(asked)}, {times}{often}{settled}"

    def _heat(self, key: Key) -> str:
        return f" (t={key.temperature:g})" if key.temperature not in (None, self.temperature) else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the object of ``ways`` in the JSON report, with its mean fidelity and interval."""
        names = [one.name for one in dataclasses.fields(self) if one.name not in {"fidelity", "members"}]
        members = zip(self.members, self.weights or (), strict=True)
        return {name: getattr(self, name) for name in names} | {
            "members": [
                {"judge": key.judge, "temperature": key.temperature, "weight": share} for key, share in members
            ],
            "advantage_fidelity": measures.mean_over_groups(self.fidelity),
            "advantage_fidelity_interval": measures.bootstrap_interval(self.fidelity),
            "groups": int((~np.isnan(self.fidelity)).sum()),
        }


def measured_ways(series: Sequence[Series], curves: Sequence[Curve], frame: Frame) -> list[Way]:
    """Return all ways to query single judges that were measured; ``curves`` belong to ``series``."""
    ways = (way for one, curve in zip(series, curves, strict=True) for way in _single_judge_ways(one, curve, frame))
    return [way for way in ways if not np.isnan(way.fidelity).all()]


def _single_judge_ways(series: Series, curve: Curve, frame: Frame) -> Iterator[Way]:
    one_call, key = series.presentation, series.key
    for count, levels in curve.by_count.items():
        asked = orders_and_samples(key.protocol, count)
        if asked is not None:
            cost = one_call.times(count)
            yield _alone(key, *asked, cost, series.on_frame(levels, frame))
    resolved = curve.resolved
    if resolved is not None and curve.stopped is not None and resolved.gain_interval and resolved.gain_interval[0] > 0:
        way = _alone(key, 1, 1, one_call.times(resolved.calls), series.on_frame(curve.stopped, frame))
        yield dataclasses.replace(way, resolve=resolved.tolerance, most=series.most)


def _alone(key: Key, orders: int, samples: int, cost: Cost, fidelity: Array) -> Way:
    way = Way((key.judge,), key.protocol, orders, samples, cost, fidelity, key.prompt_variant, key.temperature)
    return way if key.criterion is None else dataclasses.replace(way, criterion=key.criterion)


def orders_and_samples(protocol: str, count: int) -> tuple[int, int] | None:
    """Return the orders and samples with which a run makes ``count`` calls; None if none do."""
    if protocol == "listwise":
        return count, 1
    if protocol == "pairwise" and count > 1:
        return (2, count // 2) if count % 2 == 0 else None
    return 1, count


def panel_way(space: PanelSpace, plan: Plan) -> Way:
    """Return a panel of the search as a way to query judges."""
    keys = tuple(space.units[place].key for place in plan.units)
    orders, samples = orders_and_samples(keys[0].protocol, plan.count) or (1, plan.count)
    related = space.error_correlation(plan)
    return Way(
        tuple(key.judge for key in keys),
        keys[0].protocol,
        orders,
        samples,
        space.cost(plan),
        space.fidelity(plan),
        keys[0].prompt_variant,
        keys[0].temperature if len({key.temperature for key in keys}) == 1 else None,
        weights=plan.weights,
        members=keys,
        error_correlation=related,
        effective_votes=None if related is None else effective_votes(len(keys), related),
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """The recommended ``way`` to query judges, chosen by its price in ``measure`` among ``tried`` ways.

    ``fidelity`` and its ``interval`` are of groups that had no part in the choice: each fifth of the prompts is
    measured with the way that was chosen on the other four fifths. They are None below ten groups or five prompts.
    ``frontier`` holds, by rising price, the ways that no cheaper way equals, with panels only if they beat single
    judges by more than one standard error. ``frontier_held_out`` has, for each, the fidelity and interval of what is
    chosen within its price, on groups that had no part in the choice. ``common_fidelity`` is the way's fidelity on the
    ``common_groups`` on which all ways were compared; ``shared`` is False if these were too few, so that each way was
    measured on its own groups. ``aside`` are ways that were not compared, because they have too few groups. ``panels``
    are the best panels of the search.
    """

    way: Way
    measure: Measure
    fidelity: float | None
    interval: Interval | None
    frontier: tuple[Way, ...]
    shared: bool
    common_groups: int = 0
    common_fidelity: float | None = None
    aside: tuple[Way, ...] = ()
    tried: int = 0
    frontier_held_out: tuple[tuple[float | None, Interval | None], ...] = ()
    panels: tuple[Way, ...] = field(default=(), repr=False)

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
        affordable = self.prices <= most * _ROUNDING
        table, prices, several = self.table[affordable], self.prices[affordable], self.several[affordable]
        return np.asarray(table[_pick(_considered(table[:, train], prices, several), prices, share)])


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
        ordered = sorted(allowed, key=lambda way: self.price(way.cost))
        self.common: Common = common_groups(np.array([way.fidelity for way in ordered] or np.empty((0, 0))))
        self.alone = [way for way, compared in zip(ordered, self.common.rows, strict=True) if compared]
        self.aside = [way for way, compared in zip(ordered, self.common.rows, strict=True) if not compared]
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
        return [] if self.space is None else [panel_way(self.space, plan) for plan in self.space.plans(train)]

    def offer(self, train: Flags) -> _Offer:
        """Return what can be chosen if only the groups ``train`` are known: single judges, and panels found there."""
        rows = [(self.price(way.cost), False, way.fidelity) for way in self.alone]
        if (space := self.space) is not None:
            plans = space.plans(train)
            rows += [(self.price(space.cost(plan)), True, space.fidelity(plan)) for plan in plans]
        rows.sort(key=lambda row: row[0])
        prices, several, table = zip(*rows, strict=True)
        return _Offer(np.array(table), np.array(prices), np.array(several))

    def held_out(self, sources: Folds, prices: Sequence[float]) -> list[Array]:
        """Cross-validate: return each group's fidelity under the way that was chosen on the other folds.

        Then the same for the best way up to each of ``prices``. All are NaN if the groups cannot be divided into folds.
        """
        groups = self.common.groups
        measured: list[Array] = [np.full(len(groups), np.nan) for _ in range(1 + len(prices))]
        at = np.full(len(groups), -1)
        fold = folds(sources[groups])
        if fold is None:
            return measured
        at[groups] = fold
        for part in range(FOLDS):
            out, train = at == part, groups & (at != part)
            offer = self.offer(train)
            picks = [offer.pick(train, self.share), *(offer.pick(train, 1.0, most) for most in prices)]
            for levels, pick in zip(measured, picks, strict=True):
                levels[out] = pick[out]
        return measured

    def _is_affordable(self, cost: Cost) -> bool:
        prices = ((cost.of(kind), most) for kind, most in self.limit.items())
        return all(price is not None and price <= most * _ROUNDING for price, most in prices)

    def _panel_space(self, judged: Judged) -> PanelSpace | None:
        """Return the panels of the units that scored all groups on which ways are compared."""
        wanted = self.common.groups
        scored = np.array([(~np.isnan(one.calls)).any(axis=(1, 2)) for one in judged.units])
        if not self.common.shared:  # only the groups that all units scored can show what they are worth together
            wanted = np.asarray(scored.all(axis=0) & wanted)
        units = [
            one
            for one, known in zip(judged.units, scored, strict=True)
            if known[wanted].all() and not is_stand_in(one.key.judge)
        ]
        if len({one.key.judge for one in units}) < 2 or not wanted.any():
            return None
        return PanelSpace(units, judged.frame, wanted, self._is_affordable)


def choose_way(
    ways: Sequence[Way], limit: Mapping[Measure, float] | None = None, judged: Judged | None = None
) -> Choice | None:
    """Return the choice among ``ways`` to query single judges, and the panels of the units ``judged``.

    None if no way is within ``limit``, the highest cost of a group, or none could be measured. Ways of unknown cost are
    outside the limit, and ways with a judge that is not for training are excluded.
    """
    contest = Contest(ways, limit, judged)
    if not contest.alone:
        return None
    common = contest.common
    panels = contest.panels(common.groups)
    tried = contest.tried()
    ordered = sorted([*contest.alone, *panels], key=lambda way: contest.price(way.cost))
    table = np.array([way.fidelity for way in ordered])[:, common.groups]
    prices = np.array([contest.price(way.cost) for way in ordered])
    levels = _considered(table, prices, np.array([len(way.judges) > 1 for way in ordered]))
    chosen, frontier = _pick(levels, prices, contest.share), _frontier(levels, prices)
    sources = np.arange(len(common.groups)) if judged is None else judged.sources
    measured = contest.held_out(sources, [prices[place] for place in frontier])
    held_out = [(measures.mean_over_groups(one), measures.bootstrap_interval(one)) for one in measured]
    return Choice(
        ordered[chosen],
        contest.measure,
        *held_out[0],
        tuple(ordered[place] for place in frontier),
        common.shared,
        int(common.groups.sum()) if common.shared else 0,
        measures.mean_over_groups(table[chosen]) if common.shared else None,
        tuple(contest.aside),
        tried,
        tuple(held_out[1:]),
        tuple(panels),
    )


def _pick(levels: Array, prices: Array, share: float) -> int:
    """Return the index of the chosen way by the ways' ``levels``; ``prices`` are sorted."""
    best = levels.max()
    cheapest = prices[levels >= (share * best if best > 0 else best)].min()
    return int(np.where(prices <= cheapest * _ROUNDING, levels, -np.inf).argmax())


def _considered(table: Array, prices: Array, several: Flags) -> Array:
    """Return each way's mean fidelity; -inf for a panel unless it beats single judges clearly."""
    known = ~np.isnan(table)
    count = known.sum(axis=1)
    levels = np.where(count > 0, np.where(known, table, 0.0).sum(axis=1) / np.maximum(count, 1), -np.inf)
    clear = [
        not one or _beats_single_judges(place, table, prices, several, levels) for place, one in enumerate(several)
    ]
    return np.where(clear, levels, -np.inf)


def _beats_single_judges(place: int, table: Array, prices: Array, several: Flags, levels: Array) -> bool:
    """Return whether a panel's gain over the best single judge of no higher price is more than its standard error.

    This is the rule of one standard error (Breiman et al., *Classification and Regression Trees*, 1984): of ways that
    hardly differ, the simpler one.
    """
    rivals = np.flatnonzero(~several & (prices <= prices[place] * _ROUNDING))
    if not len(rivals):
        return True
    gain = table[place] - table[rivals[int(levels[rivals].argmax())]]
    known = gain[~np.isnan(gain)]
    return len(known) > 1 and bool(known.mean() > known.std(ddof=1) / math.sqrt(len(known)))


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
