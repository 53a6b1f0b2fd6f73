"""All panels that recorded answers allow, and a search for the good ones among them.

A panel has up to four members, each another judge asked in one way. Protocol, prompt variant, orders and samples are
the same for all, as in a run. Whether a panel is worth its price is decided in ``choice``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from calipers.aggregators.panel_weights import gold_weights
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


@dataclass(frozen=True, slots=True)
class Plan:
    """A panel: the places of its ``members``, how many calls each makes, and their weights, which sum to 1."""

    members: tuple[int, ...]
    count: int
    weights: tuple[float, ...]


class PanelSpace:
    """The panels of ``series`` that are ``affordable``, compared with gold on the frame's ``groups``.

    ``tried`` is the number of panels that the last search compared.
    """

    def __init__(
        self, series: Sequence[Series], frame: Frame, groups: Flags, affordable: Callable[[Cost], bool]
    ) -> None:
        """Prepare the search; ``groups`` are those that all ways are compared on."""
        self.series, self.tried = series, 0
        self._gold, self._affordable = frame.gold, affordable
        self._calls = [calls_on_frame(one, frame) for one in series]
        self._blocks = list(self._all_blocks(groups & measures.measurable_groups(frame.gold, frame.gold)))

    def plans(self, train: Flags) -> list[Plan]:
        """Return the best panels of each size for the frame's groups in ``train``, with weights learned from them.

        All pairs are compared, with equal weights. The best panels of each size are then extended by every other judge.
        """
        self.tried = 0
        plans = (plan for block in self._blocks for plan in self._beam(block, train))
        return list({(plan.members, plan.count): plan for plan in plans}.values())

    def cost(self, plan: Plan) -> Cost:
        """Return the cost of a panel's calls about a group."""
        return Cost.total(self.series[place].presentation for place in plan.members).times(plan.count)

    def fidelity(self, plan: Plan) -> Array:
        """Return a panel's fidelity in each group of the frame that is compared, NaN in the others.

        A member that a judge did not score counts as one with the judge's mean score.
        """
        (block,) = (one for one in self._blocks if one.count == plan.count and set(plan.members) <= set(one.places))
        levels = np.full(len(block.groups), np.nan)
        levels[block.groups] = block.fidelity([block.places.index(place) for place in plan.members], plan.weights)
        return levels

    def error_correlation(self, keys: Sequence[Key]) -> float | None:
        """Return the mean correlation of two members' errors; None if a member makes none."""
        means = {one.key: calls for one, calls in zip(self.series, self._calls, strict=True)}
        return error_correlation([mean_of_known(means[key], axis=1) for key in keys], self._gold)

    def _all_blocks(self, groups: Flags) -> Iterator[_Block]:
        """Yield the judges that can be panel members together, with each number of calls that all of them have."""
        alike: dict[tuple[str, str | None], list[int]] = defaultdict(list)
        for place, one in enumerate(self.series):
            alike[one.key.mode, one.key.prompt_variant].append(place)
        for places in alike.values():
            for count in _COUNTS:
                deep = [place for place in places if self.series[place].most >= count]
                if len({self.series[place].key.judge for place in deep}) > 1:
                    calls = [self._calls[place][groups] for place in deep]
                    yield _Block.of(tuple(deep), calls, count, self._gold[groups], groups)

    def _beam(self, block: _Block, train: Flags) -> Iterator[Plan]:
        some = block.where(train)
        every = range(len(block.places))
        beam: list[tuple[int, ...]] = [(place,) for place in every]
        for _ in range(2, min(_LARGEST, len(every)) + 1):
            levels: dict[tuple[int, ...], float] = {}
            for held in beam:
                allowed = [one for one in every if self._may_join(block, held, one)]
                for place, level in zip(allowed, some.levels_with(held, allowed), strict=True):
                    levels[tuple(sorted((*held, place)))] = float(level)
            self.tried += len(levels)
            beam = sorted(levels, key=lambda one: (-levels[one], one))[:_BEAM]
            for held in beam:
                weights = zip((block.places[place] for place in held), some.weights(held), strict=True)
                kept = [(place, share) for place, share in weights if share > _IDLE]
                if len(kept) > 1:
                    places, shares = zip(*kept, strict=True)
                    yield Plan(places, block.count, tuple(share / sum(shares) for share in shares))

    def _may_join(self, block: _Block, held: Sequence[int], place: int) -> bool:
        places = tuple(block.places[one] for one in (*held, place))
        judges = {self.series[one].key.judge for one in places}
        return len(judges) == len(places) and self._affordable(self.cost(Plan(places, block.count, ())))


@dataclass(frozen=True, slots=True)
class _Block:
    """Judges that can be panel members together: products of their standard scores, and of these with gold.

    A panel's scores are a weighted sum of standard scores, so these products suffice for the fidelity of any panel.
    ``products`` has the shape (judges, judges, groups, windows), ``with_gold`` (judges, groups, windows); gold has
    variance 1 in each group. ``freedom`` is the number of members with gold less 1. Groups without spread in gold are
    absent.
    """

    places: tuple[int, ...]
    count: int
    groups: Flags
    products: Array
    with_gold: Array
    freedom: Array

    @classmethod
    def of(cls, places: tuple[int, ...], judges: Sequence[Array], count: int, gold: Array, groups: Flags) -> _Block:
        """Compute the products of ``judges``' calls, ``count`` of each, in the frame's ``groups`` with ``gold``."""
        known = ~np.isnan(gold)

        def standard(values: Array) -> Array:
            return np.asarray(np.nan_to_num(standard_scores(np.where(known, values, np.nan))))

        most = max(calls.shape[1] for calls in judges)
        starts = range(most if count < most else 1)
        scores = np.array([[standard(window_mean(calls, start, count)) for start in starts] for calls in judges])
        return cls(
            places,
            count,
            groups,
            np.einsum("usgm,vsgm->uvgs", scores, scores, optimize=True),
            np.einsum("usgm,gm->ugs", scores, standard(gold), optimize=True),
            known.sum(axis=1) - 1.0,
        )

    def where(self, train: Flags) -> _Block:
        """Return the part of the block in the frame's groups ``train``."""
        kept = train[self.groups]
        return replace(
            self,
            groups=self.groups & train,
            products=self.products[:, :, kept],
            with_gold=self.with_gold[:, kept],
            freedom=self.freedom[kept],
        )

    def levels_with(self, held: Sequence[int], others: Sequence[int]) -> Array:
        """Return the mean fidelity of the panel of the judges ``held`` and each of ``others``, with equal weights."""
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
        """Return the fidelity in each group of a panel of the judges ``held``, the mean over windows."""
        own, shares = list(held), np.array(weights)
        variance = np.einsum("u,v,uvgs->gs", shares, shares, self.products[np.ix_(own, own)])
        product = np.einsum("u,ugs->gs", shares, self.with_gold[own])
        return np.asarray(_correlations(product, variance, self.freedom).mean(axis=1))

    def weights(self, held: Sequence[int]) -> tuple[float, ...]:
        """Return the weights of a panel of the judges ``held``, learned from gold in all groups of the block."""
        own = list(held)
        scores, products = self.products[np.ix_(own, own)].mean(axis=3), self.with_gold[own].mean(axis=2)
        members = float((self.freedom + 1).sum())
        return gold_weights(scores.sum(axis=2), products.sum(axis=1), members, len(self.freedom))


def _correlations(product: Array, variance: Array, freedom: Array) -> Array:
    """Return fidelities (groups, windows) from a panel's products with gold and with itself; 0 if all are tied."""
    tied = variance <= _EDGE  # judges that contradict each other exactly leave rounding errors, also below 0
    size = np.sqrt(np.where(tied, 1.0, variance) * (freedom + 1)[:, None])
    return np.where(tied, 0.0, product / size)


def calls_on_frame(series: Series, frame: Frame) -> Array:
    """Return a judge's calls (groups of the frame, calls, members), NaN where there is no score."""
    calls = np.full((len(frame.groups), *series.calls.shape[1:]), np.nan)
    calls[list(series.rows)] = series.calls
    return calls


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
