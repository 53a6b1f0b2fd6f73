"""The ways to query judges that recorded answers allow: single judges, and a search for good panels of them.

A panel has up to four members, each another judge asked in one way. Protocol, prompt variant, orders and samples are
the same for all, as in a run. Whether a panel is worth its price is decided in ``choice``. Only measured ways are
considered: nothing is extrapolated to more calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from calipers.aggregators.panel_weights import centred_values, gold_weights, standard_scores
from calipers.calibration import measures
from calipers.calibration.comparable import enough_groups
from calipers.calibration.measures import Array, Counts, Flags, mean_of_known
from calipers.calibration.records import Cost, Key
from calipers.calibration.series import Frame, Series, window

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
class Way:
    """A way to judge a group: judges by their ``keys`` (several are a panel with ``weights``), with settings of a run.

    ``cost`` is that of a group; ``fidelity`` has one figure for each group of the frame, NaN if a judge was not asked
    about it. Members without a score have the mean of the others in it, so a group without scores has 0.
    ``error_correlation`` is the mean correlation of two members' errors.
    """

    keys: tuple[Key, ...]
    orders: int
    samples: int
    cost: Cost
    fidelity: Array = field(repr=False, compare=False)
    weights: tuple[float, ...] | None = None
    error_correlation: float | None = None

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges' names."""
        return tuple(key.judge for key in self.keys)

    @property
    def calls(self) -> int:
        """The number of calls of each judge about a group."""
        return self.orders * self.samples

    @property
    def protocol(self) -> str:
        """How all judges are asked."""
        return self.keys[0].mode

    @property
    def prompt_variant(self) -> str | None:
        """The prompt variant with which all judges are asked."""
        return self.keys[0].prompt_variant

    @property
    def temperature(self) -> float | None:
        """The temperature at which all judges are asked; None if it is unknown, or they differ in it."""
        return self.keys[0].temperature if len({key.temperature for key in self.keys}) == 1 else None

    @property
    def name(self) -> str:
        """A name that distinguishes this way from the others of a calibration."""
        return self.called({})

    def called(self, names: Mapping[str, str]) -> str:
        """Return the name of this way, with ``names`` in place of the judges' names."""
        heat = self.temperature
        asked = [self.protocol, self.prompt_variant, None if heat is None else f"t={heat:g}"]
        asked += [f"{self.orders} order{'s' * (self.orders > 1)}" + (f" x {self.samples}" if self.samples > 1 else "")]
        apart = heat is None
        shown = [
            names.get(key.judge, key.judge)
            + (f" (t={key.temperature:g})" if apart and key.temperature is not None else "")
            for key in self.keys
        ]
        return f"{' + '.join(shown)}: {', '.join(filter(None, asked))}"

    def to_dict(self) -> dict[str, Any]:
        """Return the object of ``ways`` in the JSON report, with its mean fidelity and interval."""
        members = zip(self.keys, self.weights or (), strict=False)
        names = "judges protocol orders samples cost prompt_variant temperature weights error_correlation"
        return {name: getattr(self, name) for name in names.split()} | {
            "members": [
                {"judge": key.judge, "temperature": key.temperature, "weight": share} for key, share in members
            ],
            "advantage_fidelity": measures.mean_over_groups(self.fidelity),
            "advantage_fidelity_interval": measures.bootstrap_interval(self.fidelity),
            "groups": int((~np.isnan(self.fidelity)).sum()),
        }


def measured_ways(
    series: Sequence[Series], curves: Sequence[Mapping[int, tuple[Array, Array]]], frame: Frame
) -> list[Way]:
    """Return all ways to query single judges that were measured; ``curves`` are the fidelity curves of ``series``."""
    return [
        Way((judge.key,), *asked, judge.presentation.times(count), judge.on_frame(whole, frame))
        for judge, curve in zip(series, curves, strict=True)
        for count, (known, whole) in curve.items()
        if (asked := orders_and_samples(judge.key.mode, count)) and not np.isnan(known).all()
    ]


def orders_and_samples(protocol: str, count: int) -> tuple[int, int] | None:
    """Return the orders and samples with which a run makes ``count`` calls; None if none do."""
    if protocol == "listwise":
        return count, 1
    if protocol == "pairwise" and count > 1:
        return (2, count // 2) if count % 2 == 0 else None
    return 1, count


class PanelSpace:
    """The panels of ``series`` that are ``affordable``, each compared with gold where all its judges were asked.

    ``tried`` is the number of panels that the last search compared.
    """

    def __init__(self, series: Sequence[Series], frame: Frame, affordable: Callable[[Cost], bool]) -> None:
        """Prepare the search."""
        self.tried = 0
        self._series = {judge.key: judge for judge in series}
        self._frame, self._affordable = frame, affordable
        self._blocks = list(self._all_blocks(measures.measurable_groups(frame.gold, frame.gold)))

    def panels(self, train: Flags) -> list[Way]:
        """Return the best panels of each size for the frame's groups in ``train``, with weights learned from them.

        All pairs are compared, with equal weights. The best panels of each size are then extended by every other judge.
        """
        self.tried = 0
        ways = (way for block in self._blocks for way in self._beam(block, train))
        return list({(way.keys, way.calls): way for way in ways}.values())

    def fidelity(self, keys: Sequence[Key], count: int, weights: Sequence[float]) -> Array:
        """Return a panel's fidelity from ``count`` calls of each member, in each group that is compared, else NaN.

        A member that a judge did not score counts as one with the judge's mean score.
        """
        (block,) = (block for block in self._blocks if block.count == count and set(keys) <= set(block.keys))
        levels = np.full(len(block.groups), np.nan)
        levels[block.groups] = block.fidelity([block.keys.index(key) for key in keys], weights)
        return levels

    def error_correlation(self, keys: Sequence[Key]) -> float | None:
        """Return the mean correlation between the errors of two judges; None if one makes no error.

        It is 0 within 1.96 standard errors of 0: unrelated errors correlate so by chance. A judge's error is what its
        score has beyond its least-squares prediction from gold, within groups.
        """
        gold, judges = self._frame.gold, [self._series[key] for key in keys]
        scores = [judge.on_frame(mean_of_known(judge.calls, axis=1), self._frame) for judge in judges]
        known = ~np.isnan(gold) & np.all([~np.isnan(score) for score in scores], axis=0)
        known &= measures.measurable_groups(np.where(known, gold, np.nan), gold)[:, None]
        truth = centred_values(gold, known)
        errors = []
        for score in scores:
            off = centred_values(score, known)
            errors.append(off - truth * ((off * truth).sum() / max((truth**2).sum(), _EDGE)))
        products = np.einsum("ugm,vgm->uv", np.array(errors), np.array(errors))
        squares = products.diagonal()
        if squares.min() <= _EDGE:
            return None
        pairs = (products / np.sqrt(np.outer(squares, squares)))[np.tril_indices(len(keys), -1)]
        freedom = max(int(known.sum() - known.any(axis=1).sum()) - 1, 1)
        mean = float(pairs.mean())
        return mean if abs(mean) > 1.96 / np.sqrt(freedom * len(pairs)) else 0.0

    def _all_blocks(self, measurable: Flags) -> Iterator[_Block]:
        """Yield the judges that can be panel members together, with each number of calls that all of them have.

        They share enough groups: the judge with the most groups, and every further judge that leaves enough. The others
        are members of other panels.
        """
        alike: dict[tuple[str, str | None], list[Key]] = defaultdict(list)
        for key in self._series:
            alike[key.mode, key.prompt_variant].append(key)
        for keys in alike.values():
            asked = {key: measurable & np.isin(np.arange(len(measurable)), self._series[key].rows) for key in keys}
            left = sorted(keys, key=lambda key: -int(asked[key].sum()))
            while left:
                members, groups = [], asked[left[0]]
                need = enough_groups(np.array([groups.sum()]))
                for key in left:
                    if key == left[0] or int((groups & asked[key]).sum()) >= need:
                        members.append(key)
                        groups = groups & asked[key]
                left = [key for key in left if key not in members]
                for count in _COUNTS:
                    deep = [self._series[key] for key in members if self._series[key].most >= count]
                    if len({judge.key.judge for judge in deep}) > 1:
                        yield _Block.of(deep, count, groups, self._frame)

    def _beam(self, block: _Block, train: Flags) -> Iterator[Way]:
        part = block.where(train)
        every = range(len(block.keys))
        beam: list[tuple[int, ...]] = [(place,) for place in every]
        for _ in range(2, min(_LARGEST, len(every)) + 1):
            levels: dict[tuple[int, ...], float] = {}
            for held in beam:
                allowed = [candidate for candidate in every if self._may_join(block, held, candidate)]
                for place, level in zip(allowed, part.levels_with(held, allowed), strict=True):
                    levels[tuple(sorted((*held, place)))] = float(level)
            self.tried += len(levels)
            beam = sorted(levels, key=lambda panel: (-levels[panel], panel))[:_BEAM]
            for held in beam:
                weights = zip((block.keys[place] for place in held), part.weights(held), strict=True)
                kept = [(key, share) for key, share in weights if share > _IDLE]
                if len(kept) > 1:
                    keys, shares = zip(*kept, strict=True)
                    yield self._panel(keys, block.count, tuple(share / sum(shares) for share in shares))

    def _may_join(self, block: _Block, held: Sequence[int], place: int) -> bool:
        keys = [block.keys[member] for member in (*held, place)]
        return len({key.judge for key in keys}) == len(keys) and self._affordable(self._cost(keys, block.count))

    def _cost(self, keys: Sequence[Key], count: int) -> Cost:
        return Cost.total(self._series[key].presentation for key in keys).times(count)

    def _panel(self, keys: tuple[Key, ...], count: int, weights: tuple[float, ...]) -> Way:
        asked = orders_and_samples(keys[0].mode, count) or (1, count)
        return Way(keys, *asked, self._cost(keys, count), self.fidelity(keys, count, weights), weights)


@dataclass(frozen=True, slots=True)
class _Block:
    """Judges that can be panel members together: products of their standard scores, and of these with gold.

    A panel's scores are a weighted sum of standard scores, so these products suffice for the fidelity of any panel.
    ``products`` has the shape (judges, judges, groups, windows), ``with_gold`` (judges, groups, windows); gold has
    variance 1 in each group. ``freedom`` is the number of members with gold less 1. Groups without spread in gold are
    absent.
    """

    keys: tuple[Key, ...]
    count: int
    groups: Flags
    products: Array
    with_gold: Array
    freedom: Array

    @classmethod
    def of(cls, judges: Sequence[Series], count: int, groups: Flags, frame: Frame) -> _Block:
        """Compute the products of ``count`` calls of ``judges`` in the ``groups`` of the frame."""
        gold = frame.gold[groups]
        known = ~np.isnan(gold)

        def standard(values: Array) -> Array:
            return np.asarray(np.nan_to_num(standard_scores(np.where(known, values, np.nan))))

        most = max(judge.most for judge in judges)
        starts = range(most if count < most else 1)
        every = [judge.calls_in(groups, frame) for judge in judges]
        scores = np.array([[standard(window_mean(*calls, start, count)) for start in starts] for calls in every])
        return cls(
            tuple(judge.key for judge in judges),
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
        members = list(held)
        size = self.products[np.ix_(members, members)].sum(axis=(0, 1))
        cross = self.products[members].sum(axis=0)
        levels = np.zeros(len(others))
        for number, place in enumerate(others):
            variance = size + 2 * cross[place] + self.products[place, place]
            product = self.with_gold[members].sum(axis=0) + self.with_gold[place]
            levels[number] = _correlations(product, variance, self.freedom).mean() if product.size else 0.0
        return levels

    def fidelity(self, held: Sequence[int], weights: Sequence[float]) -> Array:
        """Return the fidelity in each group of a panel of the judges ``held``, the mean over windows."""
        members, shares = list(held), np.array(weights)
        variance = np.einsum("u,v,uvgs->gs", shares, shares, self.products[np.ix_(members, members)])
        product = np.einsum("u,ugs->gs", shares, self.with_gold[members])
        return np.asarray(_correlations(product, variance, self.freedom).mean(axis=1))

    def weights(self, held: Sequence[int]) -> tuple[float, ...]:
        """Return the weights of a panel of the judges ``held``, learned from gold in all groups of the block."""
        chosen = list(held)
        scores, products = self.products[np.ix_(chosen, chosen)].mean(axis=3), self.with_gold[chosen].mean(axis=2)
        members = float((self.freedom + 1).sum())
        return gold_weights(scores.sum(axis=2), products.sum(axis=1), members, len(self.freedom))


def _correlations(product: Array, variance: Array, freedom: Array) -> Array:
    """Return fidelities (groups, windows) from a panel's products with gold and with itself; 0 if all are tied."""
    tied = variance <= _EDGE  # judges that contradict each other exactly leave rounding errors, also below 0
    size = np.sqrt(np.where(tied, 1.0, variance) * (freedom + 1)[:, None])
    return np.where(tied, 0.0, product / size)


def silent_groups(way: Way, series: Sequence[Series], frame: Frame) -> float:
    """Return in how many of its groups ``way`` scores no two members of different gold (the mean over windows)."""
    asked = ~np.isnan(way.fidelity)
    members = [judge for judge in series if judge.key in way.keys]
    calls = [judge.calls_in(asked, frame) for judge in members]
    starts = range(max(judge.most for judge in members))
    scores = np.array([[window_mean(*one, start, way.calls) for one in calls] for start in starts])
    silent = ~measures.measurable_groups(mean_of_known(scores, axis=1), frame.gold[asked])
    return float(silent.sum() / len(starts))


def window_mean(calls: Array, depth: Counts, start: int, count: int) -> Array:
    """Return mean scores of ``count`` successive calls, cyclically within each group's ``depth`` calls."""
    return mean_of_known(window(calls, depth, start, count), axis=1)
