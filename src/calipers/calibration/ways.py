"""List the measured ways to query judges: judges, protocol, number of calls; with their cost and fidelity.

Only measured ways are listed: nothing is extrapolated to more calls. Not responsible for choosing a way (``choice``),
or for the text of the recommendation (``recommend``).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calipers.aggregators.panel_weights import learn_weights
from calipers.calibration import measures, panels
from calipers.calibration.arrays import Array
from calipers.calibration.costs import Cost, total_cost
from calipers.calibration.curves import Curve
from calipers.calibration.panels import Member
from calipers.calibration.records import Key
from calipers.calibration.series import Frame, Series

_SUBSETS = 4
"""Up to this number of judges, every panel of two or more is measured; with more judges, only the panel of all."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to judge a group: ``judges`` (several are a panel with ``weights``), with settings of a run.

    ``cost`` is that of a group; ``fidelity`` has one figure for each group of the frame, NaN if unknown. ``resolve`` is
    the tolerance of the stopping rule, if it is used, and ``most`` its limit of presentations.
    """

    judges: tuple[str, ...]
    protocol: str
    orders: int
    samples: int
    cost: Cost
    fidelity: Array = field(repr=False)
    prompt_variant: str | None = None
    temperature: float | None = None
    criterion: str | None = None
    weights: tuple[float, ...] | None = None
    resolve: float | None = None
    most: int | None = None

    @property
    def name(self) -> str:
        """A name that distinguishes this way from the others of a calibration."""
        times = f"{self.orders} orders" if self.orders > 1 else "1 order"
        often = "" if self.samples == 1 else f" x {self.samples}"
        settled = "" if self.resolve is None else f", resolve {self.resolve:g}"
        asked = [self.protocol, *(one for one in (self.prompt_variant, self.criterion) if one)]
        if self.temperature is not None:
            asked.append(f"t={self.temperature:g}")
        return f"{' + '.join(self.judges)}: {', '.join(asked)}, {times}{often}{settled}"

    def to_dict(self) -> dict[str, Any]:
        """Return the object of ``ways`` in the calibration's JSON report, with its mean fidelity and interval."""
        names = [one.name for one in dataclasses.fields(self) if one.name not in {"fidelity", "cost"}]
        return {name: getattr(self, name) for name in names} | {
            "cost": dataclasses.asdict(self.cost),
            "advantage_fidelity": measures.mean_over_groups(self.fidelity),
            "advantage_fidelity_interval": measures.bootstrap_interval(self.fidelity),
            "groups": int((~np.isnan(self.fidelity)).sum()),
        }


def measured_ways(series: Sequence[Series], curves: Sequence[Curve], frame: Frame) -> list[Way]:
    """Return all ways that calibration measured, single judges' ways first.

    ``curves`` belong to ``series``, in the same order.
    """
    alone = (way for one, curve in zip(series, curves, strict=True) for way in _single_judge_ways(one, curve, frame))
    return [way for way in (*alone, *_panels(series, frame)) if not np.isnan(way.fidelity).all()]


def _single_judge_ways(series: Series, curve: Curve, frame: Frame) -> Iterator[Way]:
    one_call, key = series.presentation, series.key
    plain = Way(
        (key.judge,),
        _protocol(key),
        orders=1,
        samples=1,
        cost=one_call,
        fidelity=np.empty(0),
        prompt_variant=key.prompt_variant,
        temperature=key.temperature,
        criterion=key.criterion,
    )
    for count, found in curve.by_count.items():
        asked = _orders_and_samples(plain.protocol, count)
        if asked is not None:
            orders, samples = asked
            known = _on_frame(found, series.rows, frame)
            yield dataclasses.replace(plain, orders=orders, samples=samples, cost=one_call.times(count), fidelity=known)
    resolved = curve.resolved
    if resolved is not None and curve.stopped is not None and resolved.gain_interval and resolved.gain_interval[0] > 0:
        yield dataclasses.replace(
            plain,
            resolve=resolved.tolerance,
            most=series.most,
            cost=one_call.times(resolved.calls),
            fidelity=_on_frame(curve.stopped, series.rows, frame),
        )


def _protocol(key: Key) -> str:
    return key.mode.removesuffix("_scores")


def _orders_and_samples(protocol: str, count: int) -> tuple[int, int] | None:
    """Return the orders and samples with which a run makes ``count`` calls about a group; None if none do."""
    match protocol:
        case "listwise":
            return count, 1
        case "pairwise" if count == 1:
            return 1, 1
        case "pairwise":
            return (2, count // 2) if count % 2 == 0 else None
        case _:
            return 1, count


def _on_frame(found: Array, rows: Sequence[int], frame: Frame) -> Array:
    spread = np.full(len(frame.groups), np.nan)
    spread[list(rows)] = found
    return spread


def _panels(series: Sequence[Series], frame: Frame) -> Iterator[Way]:
    """Yield panels of two or more judges with the same protocol and with groups in common."""
    chosen = panels.representative_series(one.key for one in series)
    prices = {judge: _price(series, key) for judge, key in chosen.items()}
    for size in range(2, len(chosen) + 1):
        if len(chosen) > _SUBSETS and size < len(chosen):
            continue
        for some in itertools.combinations(chosen.items(), size):
            keys = dict(some)
            if len({(_protocol(key), key.prompt_variant) for key in keys.values()}) == 1:
                yield from _panel([one for one in series if one.key.judge in keys], keys, prices, frame)


def _price(series: Sequence[Series], chosen: Key) -> Cost:
    """Return the cost of one call of a judge about a group, all its criteria together."""
    return total_cost(one.presentation for one in series if dataclasses.replace(one.key, criterion=None) == chosen)


def _panel(
    series: Sequence[Series], keys: Mapping[str, Key], prices: Mapping[str, Cost], frame: Frame
) -> Iterator[Way]:
    rows, members = panels.aligned_members(series, keys, frame)
    if not rows:
        return
    weights = learn_weights([one.calls for one in members]).weights
    key = next(iter(keys.values()))
    each = total_cost(prices[judge] for judge in keys)
    for count in _shared_call_counts(members):
        asked = _orders_and_samples(_protocol(key), count)
        if asked is not None:
            found = panels.panel_fidelity(members, weights, frame.gold[rows], count)
            yield Way(
                tuple(keys),
                _protocol(key),
                *asked,
                cost=each.times(count),
                fidelity=_on_frame(found, rows, frame),
                prompt_variant=key.prompt_variant,
                weights=weights,
            )


def _shared_call_counts(members: Sequence[Member]) -> list[int]:
    """Return the numbers of calls per panel member for which every member has enough recorded calls."""
    most = min(one.calls.shape[1] for one in members)
    return [count for count in (1, 2, 4, 8) if count <= most]
