"""All panels that recorded answers allow, and a search for the good ones among them.

A panel has up to one unit of each judge, four at most: the judge with one protocol, prompt variant and temperature.
Protocol, prompt variant, orders and samples are the same for all, as in a run. Whether a panel is worth its price is
decided in ``choice``.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from calipers.aggregators.gold_weights import gold_weights
from calipers.calibration import measures
from calipers.calibration.measures import Array, Flags, mean_of_known
from calipers.calibration.records import Cost, Key
from calipers.calibration.series import Frame, Series

_COUNTS: Final = (1, 2, 4, 8)
"""Numbers of calls of each member that are tried."""
_LARGEST: Final = 4
"""The most members of a panel."""
_BEAM: Final = 8
"""Panels of each size that are extended by one more member, and whose weights are learned."""
_IDLE: Final = 0.01
"""A member of a panel with less weight is left out: it would be paid for nothing."""
_EDGE: Final = 1e-9

Affordable: TypeAlias = Callable[[Cost], bool]


@dataclass(frozen=True, slots=True)
class Unit:
    """A judge asked in one way; ``calls`` has the shape (groups of the frame, calls, members), NaN for no score.

    The criteria of a judge that was asked about several are averaged. ``price`` is that of one call about a group.
    """

    key: Key
    calls: Array
    price: Cost


@dataclass(frozen=True, slots=True)
class Plan:
    """A panel: the places of its ``units``, how many calls each makes, and their weights, which sum to 1."""

    units: tuple[int, ...]
    count: int
    weights: tuple[float, ...]


def units_of(series: Sequence[Series], frame: Frame) -> list[Unit]:
    """Return the units of the series, sorted as the series are."""
    parts: dict[Key, list[Series]] = defaultdict(list)
    for one in series:
        parts[dataclasses.replace(one.key, criterion=None)].append(one)
    return [
        Unit(key, averaged_criteria(alike, frame), Cost.total(one.presentation for one in alike))
        for key, alike in parts.items()
    ]


def averaged_criteria(parts: Sequence[Series], frame: Frame) -> Array:
    """Return a judge's calls (groups of the frame, calls, members), averaged over the criteria that have the call."""
    most = max(one.most for one in parts)
    stacked = np.full((len(parts), len(frame.groups), most, frame.gold.shape[1]), np.nan)
    for number, one in enumerate(parts):
        stacked[number, list(one.rows), : one.most] = one.calls
    return mean_of_known(stacked, axis=0)


class PanelSpace:
    """The panels of ``units`` that are ``affordable``, compared with gold on the frame's ``groups``.

    ``tried`` is the number of panels that the last search compared.
    """

    def __init__(self, units: Sequence[Unit], frame: Frame, groups: Flags, affordable: Affordable) -> None:
        """Prepare the search; ``groups`` are those that all ways are compared on."""
        self.units, self.tried = units, 0
        self._gold, self._affordable = frame.gold, affordable
        self._blocks = [_Block.of(units, alike, count, frame.gold, groups) for alike, count in _blocks(units)]

    def plans(self, train: Flags) -> list[Plan]:
        """Return the best panels of each size for the frame's groups in ``train``, with weights learned from them.

        All pairs are compared, with equal weights. The best panels of each size are then extended by every other unit.
        """
        self.tried = 0
        plans = (plan for block in self._blocks for plan in self._beam(block, train))
        return list({(plan.units, plan.count): plan for plan in plans}.values())

    def cost(self, plan: Plan) -> Cost:
        """Return the cost of a panel's calls about a group."""
        return self._price(plan.units, plan.count)

    def fidelity(self, plan: Plan) -> Array:
        """Return a panel's fidelity in each group of the frame that is compared, NaN in the others.

        A member that a unit did not score counts as one with the unit's mean score.
        """
        (block,) = (one for one in self._blocks if one.count == plan.count and set(plan.units) <= set(one.units))
        levels = np.full(len(block.groups), np.nan)
        levels[block.groups] = block.fidelity([block.units.index(place) for place in plan.units], plan.weights)
        return levels

    def error_correlation(self, plan: Plan) -> float | None:
        """Return the mean correlation of two members' errors; None if a member makes none."""
        return error_correlation([mean_of_known(self.units[place].calls, axis=1) for place in plan.units], self._gold)

    def _price(self, units: Sequence[int], count: int) -> Cost:
        return Cost.total(self.units[place].price for place in units).times(count)

    def _beam(self, block: _Block, train: Flags) -> Iterator[Plan]:
        some = block.where(train)
        beam: list[tuple[int, ...]] = [(place,) for place in range(len(block.units))]
        for _ in range(2, min(_LARGEST, len(block.units)) + 1):
            levels: dict[tuple[int, ...], float] = {}
            for held in beam:
                allowed = [one for one in range(len(block.units)) if self._may_join(block, held, one)]
                for place, level in zip(allowed, some.levels_with(held, allowed), strict=True):
                    levels[tuple(sorted((*held, place)))] = float(level)
            self.tried += len(levels)
            beam = sorted(levels, key=lambda one: (-levels[one], one))[:_BEAM]
            for held in beam:
                weights = zip((block.units[place] for place in held), some.weights(held), strict=True)
                kept = [(unit, share) for unit, share in weights if share > _IDLE]
                if len(kept) > 1:
                    total = sum(share for _, share in kept)
                    units, shares = zip(*kept, strict=True)
                    yield Plan(units, block.count, tuple(share / total for share in shares))

    def _may_join(self, block: _Block, held: Sequence[int], place: int) -> bool:
        units = [block.units[one] for one in (*held, place)]
        judges = {self.units[one].key.judge for one in units}
        return len(judges) == len(units) and self._affordable(self._price(units, block.count))


def _blocks(units: Sequence[Unit]) -> Iterator[tuple[list[int], int]]:
    """Yield the units that can be panel members together, with each number of calls that all of them have."""
    alike: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for place, one in enumerate(units):
        alike[one.key.protocol, one.key.prompt_variant].append(place)
    for places in alike.values():
        for count in _COUNTS:
            deep = [place for place in places if units[place].calls.shape[1] >= count]
            if len({units[place].key.judge for place in deep}) > 1:
                yield deep, count


@dataclass(frozen=True, slots=True)
class _Block:
    """Units that can be panel members together: products of their standard scores, and of these with gold.

    A panel's scores are a weighted sum of standard scores, so these products suffice for the fidelity of any panel.
    ``products`` has the shape (units, units, groups, windows), ``with_gold`` (units, groups, windows); gold has
    variance 1 in each group. ``freedom`` is the number of members with gold less 1. Groups without spread in gold are
    absent.
    """

    units: tuple[int, ...]
    count: int
    groups: Flags
    products: Array
    with_gold: Array
    freedom: Array

    @classmethod
    def of(cls, units: Sequence[Unit], places: Sequence[int], count: int, gold: Array, groups: Flags) -> _Block:
        """Compute the products for units at ``places``, with ``count`` calls each, over the ``groups`` of a frame."""
        used = groups & measures.measurable_groups(gold, gold)
        known = ~np.isnan(gold[used])

        def standard(values: Array) -> Array:
            return np.asarray(np.nan_to_num(standard_scores(np.where(known, values, np.nan))))

        most = max(units[place].calls.shape[1] for place in places)
        starts = range(most if count < most else 1)
        scores = np.array(
            [[standard(window_mean(units[place].calls[used], start, count)) for start in starts] for place in places]
        )
        return cls(
            tuple(places),
            count,
            used,
            np.einsum("usgm,vsgm->uvgs", scores, scores, optimize=True),
            np.einsum("usgm,gm->ugs", scores, standard(gold[used]), optimize=True),
            known.sum(axis=1) - 1.0,
        )

    def where(self, train: Flags) -> _Block:
        """Return the part of the block in the frame's groups ``train``."""
        kept = train[self.groups]
        parts = self.products[:, :, kept], self.with_gold[:, kept], self.freedom[kept]
        return _Block(self.units, self.count, self.groups & train, *parts)

    def levels_with(self, held: Sequence[int], others: Sequence[int]) -> Array:
        """Return the mean fidelity of the panel of the units ``held`` and each of ``others``, with equal weights."""
        own = list(held)
        size = self.products[np.ix_(own, own)].sum(axis=(0, 1))
        cross = self.products[own].sum(axis=0)
        levels = np.zeros(len(others))
        for number, place in enumerate(others):
            variance = size + 2 * cross[place] + self.products[place, place]
            product = self.with_gold[own].sum(axis=0) + self.with_gold[place]
            levels[number] = _correlations(product, variance, self.freedom).mean() if product.size else 0.0
        return levels

    def fidelity(self, held: Sequence[int], weights: Sequence[float]) -> Array:
        """Return the fidelity in each group of a panel of the units ``held``, the mean over windows."""
        own, shares = list(held), np.array(weights)
        variance = np.einsum("u,v,uvgs->gs", shares, shares, self.products[np.ix_(own, own)])
        product = np.einsum("u,ugs->gs", shares, self.with_gold[own])
        return np.asarray(_correlations(product, variance, self.freedom).mean(axis=1))

    def weights(self, held: Sequence[int]) -> tuple[float, ...]:
        """Return the weights of a panel of the units ``held``, learned from gold in all groups of the block."""
        own = list(held)
        scores, products = self.products[np.ix_(own, own)].mean(axis=3), self.with_gold[own].mean(axis=2)
        members = float((self.freedom + 1).sum())
        return gold_weights(scores.sum(axis=2), products.sum(axis=1), members, len(self.freedom))


def _correlations(product: Array, variance: Array, freedom: Array) -> Array:
    """Return fidelities (groups, windows) from a panel's products with gold and with itself; 0 if all are tied."""
    tied = variance <= _EDGE  # judges that contradict each other exactly leave rounding errors, also below 0
    size = np.sqrt(np.where(tied, 1.0, variance) * (freedom + 1)[:, None])
    return np.where(tied, 0.0, product / size)


def window_mean(calls: Array, start: int, count: int) -> Array:
    """Return mean scores of ``count`` successive calls, cyclically within each group's own calls."""
    depth = np.maximum((~np.isnan(calls)).any(axis=2).sum(axis=1), 1)
    places = (start + np.arange(count)[None, :]) % depth[:, None]
    used = np.arange(count)[None, :] < depth[:, None]
    picked = np.take_along_axis(calls, places[:, :, None], axis=1)
    return mean_of_known(np.where(used[:, :, None], picked, np.nan), axis=1)


def standard_scores(scores: Array) -> Array:
    """Return scores minus their group's mean, divided by its standard deviation; 0 if all are equal."""
    known = ~np.isnan(scores)
    off = measures.centred_values(scores, known)
    spread = np.sqrt((off**2).sum(axis=-1, keepdims=True) / np.maximum(known.sum(axis=-1, keepdims=True), 1))
    return np.where(known, np.where(spread > _EDGE, off / np.where(spread > _EDGE, spread, 1.0), 0.0), np.nan)


def error_correlation(scores: Sequence[Array], gold: Array) -> float | None:
    """Return the mean correlation between the errors of two judges; None if one makes no error.

    A judge's error is what its score has beyond its least-squares prediction from gold, within groups.
    """
    known = ~np.isnan(gold) & np.all([~np.isnan(one) for one in scores], axis=0)
    known &= measures.measurable_groups(np.where(known, gold, np.nan), gold)[:, None]
    truth = measures.centred_values(gold, known)
    errors = []
    for one in scores:
        off = measures.centred_values(one, known)
        errors.append(off - truth * ((off * truth).sum() / max((truth**2).sum(), _EDGE)))
    sizes = [float((one**2).sum()) for one in errors]
    if min(sizes) <= _EDGE:
        return None
    pairs = [
        float((errors[i] * errors[j]).sum()) / float(np.sqrt(sizes[i] * sizes[j]))
        for i in range(len(errors))
        for j in range(i)
    ]
    return sum(pairs) / len(pairs)


def effective_votes(members: int, correlation: float) -> float:
    """Return a panel's size divided by its design effect, 1 + (members - 1) correlation (Kish 1965).

    It is at most the size.
    """
    return members / (1 + (members - 1) * max(correlation, 0.0))
