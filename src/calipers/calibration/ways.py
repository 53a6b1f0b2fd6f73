"""List the measured ways to query judges: judges, protocol, number of calls; with their cost and fidelity.

Only measured ways are listed: nothing is extrapolated to more calls.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from calipers.calibration import measures
from calipers.calibration.arrays import Array
from calipers.calibration.costs import Cost
from calipers.calibration.curves import Curve
from calipers.calibration.panel_space import PanelSpace, Plan
from calipers.calibration.panels import effective_votes
from calipers.calibration.records import Key, Mode
from calipers.calibration.series import Frame, Series


@dataclass(frozen=True, slots=True)
class Way:
    """A way to judge a group: ``judges`` (several are a panel with ``weights``), with settings of a run.

    ``cost`` is that of a group; ``fidelity`` has one figure for each group of the frame, NaN if unknown. ``resolve`` is
    the tolerance of the stopping rule, if it is used, and ``most`` its limit of presentations. ``members`` says how
    each judge of a panel is asked; the panel's ``prompt_variant`` and ``temperature`` are None if its judges differ in
    them. ``error_correlation`` is the mean correlation of two members' errors, and ``effective_votes`` the number of
    judges with unrelated errors that would be as good.
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
        if self.members:
            return self.members
        mode = cast("Mode", self.protocol)
        return (Key(self.judges[0], mode, self.prompt_variant, self.temperature, self.criterion),)

    @property
    def name(self) -> str:
        """A name that distinguishes this way from the others of a calibration."""
        return self.called({})

    def called(self, names: Mapping[str, str]) -> str:
        """Return the name of this way in calibration, with ``names`` in place of the judges' names."""
        times = f"{self.orders} orders" if self.orders > 1 else "1 order"
        often = "" if self.samples == 1 else f" x {self.samples}"
        settled = "" if self.resolve is None else f", resolve {self.resolve:g}"
        asked = [self.protocol, *(one for one in (self.prompt_variant, self.criterion) if one)]
        if self.temperature is not None:
            asked.append(f"t={self.temperature:g}")
        shown = (
            [self._member_name(key, names) for key in self.members]
            if self.members
            else [names.get(one, one) for one in self.judges]
        )
        return f"{' + '.join(shown)}: {', '.join(asked)}, {times}{often}{settled}"

    def _member_name(self, key: Key, names: Mapping[str, str]) -> str:
        """Return a panel member's judge, with its prompt variant and temperature where the members differ in them."""
        own = [key.prompt_variant or "no variant"] if self.prompt_variant != key.prompt_variant else []
        if self.temperature != key.temperature and key.temperature is not None:
            own.append(f"t={key.temperature:g}")
        name = names.get(key.judge, key.judge)
        return f"{name} ({', '.join(own)})" if own else name

    def to_dict(self) -> dict[str, Any]:
        """Return the object of ``ways`` in the calibration's JSON report, with its mean fidelity and interval."""
        names = [one.name for one in dataclasses.fields(self) if one.name not in {"fidelity", "cost", "members"}]
        return {name: getattr(self, name) for name in names} | {
            "members": [
                {
                    "judge": key.judge,
                    "prompt_variant": key.prompt_variant,
                    "temperature": key.temperature,
                    "weight": share,
                }
                for key, share in zip(self.members, self.weights or (), strict=True)
            ],
            "cost": dataclasses.asdict(self.cost),
            "advantage_fidelity": measures.mean_over_groups(self.fidelity),
            "advantage_fidelity_interval": measures.bootstrap_interval(self.fidelity),
            "groups": int((~np.isnan(self.fidelity)).sum()),
        }


def measured_ways(series: Sequence[Series], curves: Sequence[Curve], frame: Frame) -> list[Way]:
    """Return all ways to query single judges that calibration measured.

    ``curves`` belong to ``series``, in the same order.
    """
    found = (way for one, curve in zip(series, curves, strict=True) for way in _single_judge_ways(one, curve, frame))
    return [way for way in found if not np.isnan(way.fidelity).all()]


def _single_judge_ways(series: Series, curve: Curve, frame: Frame) -> Iterator[Way]:
    one_call, key = series.presentation, series.key
    plain = Way(
        (key.judge,),
        key.protocol,
        orders=1,
        samples=1,
        cost=one_call,
        fidelity=np.empty(0),
        prompt_variant=key.prompt_variant,
        temperature=key.temperature,
        criterion=key.criterion,
    )
    for count, found in curve.by_count.items():
        asked = orders_and_samples(plain.protocol, count)
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


def orders_and_samples(protocol: str, count: int) -> tuple[int, int] | None:
    """Return the orders and samples with which a run makes ``count`` calls, for calibration; None if none do."""
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


def panel_way(space: PanelSpace, plan: Plan) -> Way:
    """Return a panel of the search as a way to query judges in calibration."""
    keys = [space.units[place].key for place in plan.units]
    orders, samples = orders_and_samples(keys[0].protocol, plan.count) or (1, plan.count)
    related = space.error_correlation(plan)
    return Way(
        tuple(key.judge for key in keys),
        keys[0].protocol,
        orders,
        samples,
        cost=space.cost(plan),
        fidelity=space.fidelity(plan),
        prompt_variant=keys[0].prompt_variant if len({key.prompt_variant for key in keys}) == 1 else None,
        temperature=keys[0].temperature if len({key.temperature for key in keys}) == 1 else None,
        weights=plan.weights,
        members=tuple(keys),
        error_correlation=related,
        effective_votes=None if related is None else effective_votes(len(keys), related),
    )
