"""Measure what more calls of a judge bring: fidelity by number of calls, and with the rule that stops asking early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from calipers.calibration import measures, repeats
from calipers.calibration.measures import Array, mean_of_known
from calipers.calibration.series import Series

TOLERANCE: Final = 0.015
"""The default tolerance of ``resolve``. With this value, a group gets two of eight calls on average in the development
half of the fidelity benchmark.
"""
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
    the groups and applied to the other half.
    """

    tolerance: float
    calls: float
    advantage_fidelity: float
    fixed_advantage_fidelity: float
    gain_interval: Interval | None


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
    return Curve(by_count, stopped[1], compare_with_fixed_calls(*stopped, np.array(every), tolerance=TOLERANCE))


def fidelity_over_windows(series: Series, gold: Array, count: int) -> Array:
    """Return each group's fidelity to gold from ``count`` calls, the mean over cyclic windows of the group's calls."""
    depth = np.array(series.depth)
    starts = series.most if count < series.most else 1
    levels = np.array([measures.fidelity(series.scores(start, count), gold) for start in range(starts)])
    return mean_of_known(np.where(np.arange(starts)[:, None] < depth[None, :], levels, np.nan), axis=0)


def _stopped_by_rule(series: Series, gold: Array) -> tuple[Array, Array] | None:
    """Return each group's calls and fidelity with the stopping rule that was learned on the other half of the groups.

    None below four calls or without noise.
    """
    if series.most < 4 or not len(gold):
        return None
    figures = np.full((2, len(gold)), np.nan)
    half = np.random.default_rng(0).permutation(len(gold)) < len(gold) // 2
    for learning, asking in ((half, ~half), (~half, half)):
        learned = repeats.learn_noise(series.calls[learning], shared=series.shared)
        if learned is None or learned.noise.variance <= 0:
            return None
        rule = learned.rule(tolerance=TOLERANCE, budget=series.most)
        figures[:, asking] = repeats.simulate_stopping(
            series.calls[asking], gold[asking], learned, rule, shared=series.shared
        )
    return figures[0], figures[1]


def compare_with_fixed_calls(calls: Array, fidelity: Array, by_group: Array, *, tolerance: float) -> Resolved | None:
    """Return how stopping early, after ``calls`` of each group, compares with as many calls on average for every group.

    ``by_group`` is the fidelity by number of calls, (number of calls, groups).
    """
    known = ~np.isnan(fidelity) & ~np.isnan(by_group).any(axis=0)
    if not known.any():
        return None
    mean, levels = float(calls[known].mean()), fidelity[known]
    below = min(int(mean), len(by_group) - 1)
    part = mean - below
    fixed = (1 - part) * by_group[below - 1, known] + part * by_group[below, known]
    gain = measures.bootstrap_interval(levels - fixed)
    return Resolved(tolerance, mean, float(levels.mean()), float(fixed.mean()), gain)
