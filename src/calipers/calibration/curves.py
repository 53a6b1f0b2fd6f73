"""Measure what more calls of a judge bring: fidelity by number of calls, and with the rule that stops asking early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from calipers.calibration import measures, repeats
from calipers.calibration.measures import Array, mean_of_known
from calipers.calibration.repeats import Stopped
from calipers.calibration.series import Series

TOLERANCE: Final = 0.015
"""The default tolerance of ``resolve``. With this value, a group gets two of eight calls on average in the development
half of the fidelity benchmark.
"""
TIE_COST: Final = 0.005
"""Tying groups whose differences are all noise is recommended if it costs at most this much fidelity."""
_COUNTS: Final = (*range(1, 9), 12, 16, 24, 32, 48, 64)
"""Numbers of calls at which the curve has points, up to the number of recorded calls, which is the last point."""

Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ByCalls:
    """Advantage fidelity from ``calls`` calls a group, the mean over cyclic windows, with its 95 % interval."""

    calls: int
    advantage_fidelity: float
    advantage_fidelity_interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """The result of asking until the ranking stops changing: mean calls, fidelity, and the fidelity of fixed calls.

    Fixed calls are as many calls on average, but the same number for every group. The rule is learned on one half of
    the groups and applied to the other half. ``all_noise`` is the share of groups whose scores then still differ no
    more than their standard errors; ``tie_cost`` is the fidelity lost by tying these groups.
    """

    tolerance: float
    calls: float
    advantage_fidelity: float
    fixed_advantage_fidelity: float
    gain_interval: Interval | None
    all_noise: float
    tie_cost: float
    tie_cost_interval: Interval | None

    @property
    def may_tie(self) -> bool:
        """Whether some groups are all noise, and tying them costs almost nothing with confidence."""
        return self.all_noise > 0 and self.tie_cost_interval is not None and self.tie_cost_interval[1] <= TIE_COST


@dataclass(frozen=True, slots=True)
class Curve:
    """The fidelity of every group of a series, NaN if unknown.

    ``by_count`` has the fidelity by number of calls, and ``stopped`` that with the stopping rule; ``resolved`` sums up
    the latter.
    """

    by_count: Mapping[int, Array]
    stopped: Array | None = None
    resolved: Resolved | None = None

    @property
    def points(self) -> tuple[ByCalls, ...]:
        """The mean over groups by number of calls."""
        means = ((count, measures.mean_over_groups(one), one) for count, one in self.by_count.items())
        return tuple(
            ByCalls(count, level, measures.bootstrap_interval(one)) for count, level, one in means if level is not None
        )


def fidelity_curve(series: Series, gold: Array) -> Curve:
    """Return a judge's fidelity curve over groups with ``gold`` (groups, members); its last point uses all calls."""
    counts = sorted({*(one for one in _COUNTS if one < series.most), series.most})
    by_count = {count: fidelity_over_windows(series, gold, count) for count in counts}
    stopped = None if series.key.mode == "pairwise" else _stopped_by_rule(series, gold)
    if stopped is None:
        return Curve(by_count)
    every = [
        by_count[one] if one in by_count else fidelity_over_windows(series, gold, one)
        for one in range(1, series.most + 1)
    ]
    return Curve(by_count, stopped.fidelity, compare_with_fixed_calls(stopped, np.array(every), tolerance=TOLERANCE))


def fidelity_over_windows(series: Series, gold: Array, count: int) -> Array:
    """Return each group's fidelity to gold from ``count`` calls, the mean over cyclic windows of the group's calls."""
    depth = np.array(series.depth)
    starts = series.most if count < series.most else 1
    levels = np.array([measures.fidelity(series.scores(start, count), gold) for start in range(starts)])
    return mean_of_known(np.where(np.arange(starts)[:, None] < depth[None, :], levels, np.nan), axis=0)


def _stopped_by_rule(series: Series, gold: Array) -> Stopped | None:
    """Return each group's figures with the stopping rule that was learned on the other half of the groups.

    None below four calls or without noise.
    """
    if series.most < 4 or not len(gold):
        return None
    figures = np.full((4, len(gold)), np.nan)
    half = np.random.default_rng(0).permutation(len(gold)) < len(gold) // 2
    for learning, asking in ((half, ~half), (~half, half)):
        learned = repeats.learn_noise(series.calls[learning], shared=series.shared)
        if learned is None or learned.noise.variance <= 0:
            return None
        rule = learned.rule(tolerance=TOLERANCE, budget=series.most)
        part = repeats.simulate_stopping(series.calls[asking], gold[asking], learned, rule, shared=series.shared)
        figures[:, asking] = part.calls, part.fidelity, part.all_noise, part.tie_cost
    return Stopped(*figures)


def compare_with_fixed_calls(stopped: Stopped, by_group: Array, *, tolerance: float) -> Resolved | None:
    """Return how stopping early compares with the same average number of calls for each group.

    ``by_group`` has the shape (number of calls, groups).
    """
    known = ~np.isnan(stopped.fidelity) & ~np.isnan(by_group).any(axis=0)
    if not known.any():
        return None
    calls, levels, lost = (one[known] for one in (stopped.calls, stopped.fidelity, stopped.tie_cost))
    below = min(int(calls.mean()), len(by_group) - 1)
    part = float(calls.mean()) - below
    fixed = (1 - part) * by_group[below - 1, known] + part * by_group[below, known]
    return Resolved(
        tolerance,
        float(calls.mean()),
        float(levels.mean()),
        float(fixed.mean()),
        measures.bootstrap_interval(levels - fixed),
        float(stopped.all_noise[known].mean()),
        float(lost.mean()),
        measures.bootstrap_interval(lost),
    )
