"""Repeated calls of one judge: plain averaging, asking until settled, and whether standard errors are honest.

Everything is learned, and the operating points are chosen, on the development half of rb2_k8; figures are of the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.fidelity.data import Target, figure, half, load
from calipers.aggregators.noise import Noise
from calipers.aggregators.resolution import StoppingRule
from calipers.calibration import measures, repeats
from calipers.calibration.measures import Array, Flags, Interval, mean_of_known
from calipers.calibration.series import Series, fidelity_over_windows
from calipers.config.grouped_options import Resolution

TOLERANCE = Resolution().tolerance
TOLERANCES = (0.002, 0.004, 0.006, 0.008, 0.01, 0.0125, 0.015, 0.02, 0.03, 0.05)


@dataclass(frozen=True, slots=True)
class Learned:
    """What a judge's repeated calls show: its noise, and the usual spread of its stable scores within a group."""

    noise: Noise
    spread: float

    @classmethod
    def of(cls, calls: Array) -> Learned:
        noise = repeats.learn_noise(calls, shared=False)
        assert noise is not None  # noqa: S101 - eight calls of each judge, and two are enough
        return cls(noise, max(float(np.nanmean(_variance(calls))) - noise.variance, 0.0))


@dataclass(frozen=True, slots=True)
class Resolved:
    """Asking until the ranking stops changing: mean calls, fidelity, and that of as many calls for every group."""

    tolerance: float
    calls: float
    advantage_fidelity: float
    fixed_advantage_fidelity: float
    gain_interval: Interval | None


@dataclass(frozen=True, slots=True)
class Half:
    """One judge's calls in the groups of one half, with gold, and fidelity by number of calls, (calls, groups)."""

    calls: Array
    gold: Array
    by_calls: Array

    def stopped(self, learned: Learned, tolerance: float) -> Resolved:
        """Asking until settled in this half, held against as many calls on average for every group."""
        rule = StoppingRule(learned.spread, tolerance=tolerance, budget=self.calls.shape[1])
        used, levels = simulate_stopping(self.calls, self.gold, learned, rule)
        mean = float(used.mean())
        below = min(int(mean), len(self.by_calls) - 1)
        fixed = (1 - mean + below) * self.by_calls[below - 1] + (mean - below) * self.by_calls[below]
        gain = measures.bootstrap_interval(levels - fixed)
        return Resolved(tolerance, mean, float(levels.mean()), float(fixed.mean()), gain)


def _variance(scores: Array) -> Array:
    """The sample variance over the last axis of the known scores; NaN below two."""
    known = ~np.isnan(scores)
    count = known.sum(axis=-1)
    off = np.where(known, scores - mean_of_known(scores, axis=-1)[..., None], 0.0)
    return np.where(count > 1, (off**2).sum(axis=-1) / np.maximum(count - 1, 1), np.nan)


def simulate_stopping(calls: Array, gold: Array, learned: Learned, rule: StoppingRule) -> tuple[Array, Array]:
    """Return each group's mean calls and fidelity if the judge is asked until ``rule`` stops.

    Both are means over all cyclic starts of the calls. The rule does not use ``gold``.
    """
    groups, most = calls.shape[:2]
    used, levels = np.zeros((most, groups)), np.zeros((most, groups))
    for start in range(most):
        rolled = np.roll(calls, -start, axis=1)
        open_groups = np.ones(groups, dtype=bool)
        for count in range(1, min(rule.budget, most) + 1):
            stops = _should_stop(rolled[:, :count], learned, rule, open_groups) | (count == most)
            now = open_groups & stops
            used[start, now] = count
            levels[start, now] = measures.fidelity(mean_of_known(rolled[now, :count], axis=1), gold[now])
            open_groups &= ~now
    return used.mean(axis=0), mean_of_known(levels, axis=0)


def _should_stop(calls: Array, learned: Learned, rule: StoppingRule, asked: Flags) -> Flags:
    count = calls.shape[1]
    squares, freedom = repeats.squared_residuals(calls, shared=False)
    spreads = _variance(mean_of_known(calls, axis=1))
    members = (~np.isnan(calls)).any(axis=1).sum(axis=1)
    settled = np.ones(len(calls), dtype=bool)
    if count >= rule.budget:
        return settled
    for row in np.flatnonzero(asked & (members > 1)):
        noise = learned.noise.variance_of(float(squares[row]), int(freedom[row]))
        gain = rule.gain(float(spreads[row]), noise, freedom=int(members[row]) - 1, calls=count)
        settled[row] = gain < rule.tolerance
    return settled


@dataclass(frozen=True, slots=True)
class Row:
    """What the reporting half of one judge and prompt says."""

    name: str
    single: float
    plain: list[float]
    default: Resolved
    frugal: Resolved
    worst: float
    honesty: list[float]

    @property
    def noisy(self) -> bool:
        return self.single < 0.6


def rows() -> list[Row]:
    """All judges and prompts of rb2_k8 with temperature above 0."""
    frame, series = load("rb2_k8")
    found = []
    for one in series:
        if one.key.temperature:
            developing = half(frame, one.rows)
            gold = frame.gold[list(one.rows)]
            every = np.array([fidelity_over_windows(one, gold, count)[0] for count in range(1, one.most + 1)])
            parts = [Half(one.calls[which], gold[which], every[:, which]) for which in (developing, ~developing)]
            found.append(_row(one, *parts))
    return found


def _row(series: Series, developing: Half, reporting: Half) -> Row:
    learned = Learned.of(developing.calls)
    plain = [measures.mean_over_groups(level) or 0.0 for level in reporting.by_calls]
    aim = (0.4 if plain[0] < 0.6 else 0.3) * series.most
    thrift = [tolerance for tolerance in TOLERANCES if developing.stopped(learned, tolerance).calls <= 0.97 * aim]
    curve = [reporting.stopped(learned, tolerance) for tolerance in TOLERANCES]
    key = series.key
    return Row(
        f"{key.judge}, {key.prompt_variant}, t={key.temperature:g}",
        plain[0],
        plain,
        reporting.stopped(learned, TOLERANCE),
        reporting.stopped(learned, thrift[0]),
        min(one.advantage_fidelity - one.fixed_advantage_fidelity for one in curve),
        [repeats.stderr_ratio(series.calls[:, : 2 * size], shared=False) or 0.0 for size in (2, 3, 4)],
    )


def report() -> list[Target]:
    """Print the tables of repeated calls, and say which targets they reach."""
    found = rows()
    print("\n## Repeated calls (rb2_k8, reporting half): advantage fidelity")
    print(
        f"{'judge, prompt':32}{'1 call':>8}{'2':>8}{'3':>8}{'8':>8} | resolve {TOLERANCE}: calls, fidelity, less as "
        "many for all"
    )
    for row in found:
        plain = "".join(f"{row.plain[count - 1]:8.4f}" for count in (1, 2, 3, 8))
        gain = row.default.advantage_fidelity - row.default.fixed_advantage_fidelity
        middle = f"{row.default.calls:6.2f}{row.default.advantage_fidelity:9.4f}{gain:+9.4f}"
        print(f"{row.name:32}{plain} | {middle} {figure(row.default.gain_interval)}")
    print(
        "\n## Thrift: share of the 8-call fidelity, tolerance chosen on the other half for 30 % (noisy: 40 %) of the "
        "calls"
    )
    for row in found:
        share, same = (
            value / row.plain[-1] for value in (row.frugal.advantage_fidelity, row.frugal.fixed_advantage_fidelity)
        )
        print(
            f"{row.name:32} tolerance {row.frugal.tolerance:<7} {row.frugal.calls:.2f} calls: {share:.2%}; plain "
            f"averaging {same:.2%}"
        )
    print("\n## Standard errors: mean of (a-b)²/(se_a²+se_b²) on disjoint halves of 2, 3, 4 calls; honest is 1")
    for row in found:
        print(f"{row.name:32}" + "".join(f"{one:8.2f}" for one in row.honesty))
    return _targets(found)


def _targets(found: list[Row]) -> list[Target]:
    above = sum((row.default.gain_interval or (0.0,))[0] > 0 for row in found)
    good = [row for row in found if row.single > 0.69]
    noisy = [row for row in found if row.noisy]
    kept = [row.frugal.advantage_fidelity / row.plain[-1] for row in good]
    kept_noisy = [row.frugal.advantage_fidelity / row.plain[-1] for row in noisy]
    spent, spent_noisy = (max((row.frugal.calls / 8 for row in part), default=1.0) for part in (good, noisy))
    errors = [one for row in found for one in row.honesty]
    worst = min(row.worst for row in found)
    return [
        Target(
            "sequential never below fixed by more than 0.003",
            worst >= -0.003,
            f"worst {worst:+.4f} over {len(TOLERANCES)} tolerances",
        ),
        Target("sequential: interval above 0 on at least half", 2 * above >= len(found), f"{above} of {len(found)}"),
        Target(
            "98.5 % of the 8-call fidelity at 30 % of the calls (single call above 0.69)",
            bool(kept) and min(kept) >= 0.985 and spent <= 0.3,
            f"least {min(kept, default=0):.2%} at most {spent:.1%}, {len(kept)} judges and prompts",
        ),
        Target(
            "95 % at 40 % of the calls for the noisy judge",
            bool(kept_noisy) and min(kept_noisy) >= 0.95 and spent_noisy <= 0.4,
            f"{min(kept_noisy, default=0):.2%} at {spent_noisy:.1%}",
        ),
        Target(
            "standard errors honest: ratio in [0.8, 1.25] from 2 calls a half up",
            min(errors) >= 0.8 and max(errors) <= 1.25,
            f"{min(errors):.2f} to {max(errors):.2f}",
        ),
    ]
