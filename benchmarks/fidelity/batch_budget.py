"""A budget of presentations for a batch: where they go by value, beside the tolerance for each group, and evenly.

    python -m benchmarks.fidelity.batch_budget

Recorded: RewardBench 2 (four answers, one right; 8 calls of each of eight judges), batches of 32 groups, every cyclic
start of the calls; noise and usual spread learned from the half of the groups not looked at. ``resolve`` at its default
tolerance says how many presentations a batch has; *by value* shares out as many with the rule of
``resolve={"presentations": ...}``, its own code; *evenly* gives all groups the same number, as near as possible.
Figures are cosines of a batch's advantages to the true ones: plain advantages (z) and weighted (√R z), against gold,
and against the centred mean of the four calls that were not used (then at most four are). Simulated: groups of 8 with a
reliability of .5 for one call, a share of them without true spread, noise known, twice as many presentations as groups.
Needs the recorded data for its first part (sources: fidelity/data.py); takes two minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.environment import recorded_data
from benchmarks.fidelity.data import half, load
from benchmarks.fidelity.gradient import cosine, reliability, standardised
from calipers.aggregators.noise import Noise
from calipers.aggregators.resolution import StoppingRule
from calipers.calibration import repeats
from calipers.calibration.arrays import Array
from calipers.calibration.repeats import Learned
from calipers.calibration.series import Frame, Series
from calipers.judging.batch import worth_most
from calipers.study.intervals import t_quantile
from calipers.types import Scores

BATCH = 32
WAYS = ("tolerance", "by value", "evenly")
ADVANTAGES = ("plain", "weighted")
_SIMULATED = 100
"""Simulated batches a row."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A batch's calls (groups, calls, members), and after each number of them the mean scores and squared errors."""

    scores: Array
    """(calls, groups, members)."""
    squares: Array
    """Of the standard error of every score, (calls, groups)."""

    @classmethod
    def of(cls, calls: Array, noise: Noise) -> Asked:
        """Return a batch's scores as calipers would have them, with this prior of the judge's noise."""
        groups, most, _ = calls.shape
        squares = np.zeros((most, groups))
        for count in range(1, most + 1):
            sums, freedom = repeats.squared_residuals(calls[:, :count], shared=False)
            known = [noise.variance_of(float(one), int(free)) for one, free in zip(sums, freedom, strict=True)]
            squares[count - 1] = np.array(known) / count
        counts = np.arange(1, most + 1)[:, None, None]
        return cls(np.cumsum(calls, axis=1).transpose(1, 0, 2) / counts, squares)

    def after(self, group: int, count: int) -> Scores:
        """A group's scores after so many calls."""
        values = self.scores[count - 1, group]
        return Scores(tuple(values.tolist()), (float(self.squares[count - 1, group]) ** 0.5,) * len(values))

    def by_tolerance(self, rule: StoppingRule) -> Array:
        """How often each group is asked if each is asked until ``rule`` stops."""
        most, groups = self.squares.shape
        found = np.ones(groups, dtype=int)
        for group in range(groups):
            while found[group] < most and not rule.should_stop(
                self.after(group, found[group]), calls=int(found[group])
            ):
                found[group] += 1
        return found

    def by_value(self, rule: StoppingRule, budget: int) -> Array:
        """How often each group is asked if the batch has so many presentations, in rounds as ``judging.batch`` does."""
        found = np.ones(self.squares.shape[1], dtype=int)
        while True:
            values = [rule.values_to_batch(self.after(group, n), calls=int(n)) for group, n in enumerate(found)]
            chosen = worth_most(values, budget - int(found.sum()))
            if not chosen:
                return found
            found[list(chosen)] += 1

    def evenly(self, budget: int, dice: np.random.Generator) -> Array:
        """How often each group is asked if all are asked alike; chance decides about the rest."""
        most, groups = self.squares.shape
        found = np.full(groups, min(budget // groups, most))
        rest = min(budget, most * groups) - int(found.sum())
        found[dice.permutation(groups)[:rest]] += 1
        return found

    def advantages(self, counts: Array) -> dict[str, Array]:
        """Plain and weighted advantages after so many calls of each group."""
        groups = np.arange(len(counts))
        scores, squares = self.scores[counts - 1, groups], self.squares[counts - 1, groups][:, None]
        z = standardised(scores)
        return {"plain": z, "weighted": np.sqrt(reliability(scores, squares)) * z}


def compared(asked: Asked, true: Array, rule: StoppingRule, dice: np.random.Generator, budget: int = 0) -> Array:
    """Cosines of one batch, (ways, advantages), and last the presentations a group; 0: as many as the tolerance."""
    single = asked.by_tolerance(rule)
    whole = budget or int(single.sum())
    ways = (single, asked.by_value(rule, whole), asked.evenly(whole, dice))
    found = [[cosine(one, true) for one in asked.advantages(counts).values()] for counts in ways]
    return np.array([*found, [whole / len(single)] * len(ADVANTAGES)])


def row_of_series(frame: Frame, series: Series, *, used: int) -> Array:
    """The mean over batches and starts of ``compared``; gold is the target if all calls may be used."""
    gold, chosen = frame.gold[list(series.rows)], half(frame, series.rows)
    whole = ~np.isnan(series.calls).any(axis=(1, 2)) & ~np.isnan(gold).any(axis=1)
    found, dice = [], np.random.default_rng(0)
    for part in (chosen, ~chosen):
        learned = repeats.learn_noise(series.calls[~part], shared=False)
        assert learned is not None  # noqa: S101 - hundreds of groups
        rows = np.flatnonzero(part & whole)
        for start in range(series.most):
            calls = np.roll(series.calls, -start, axis=1)
            order = dice.permutation(rows)
            for batch in (order[at : at + BATCH] for at in range(0, len(order) - BATCH + 1, BATCH)):
                rest = calls[batch, used:].mean(axis=1) if used < series.most else gold[batch]
                true = standardised(rest) if used == series.most else rest - rest.mean(axis=1, keepdims=True)
                asked = Asked.of(calls[batch, :used], learned.noise)
                found.append(compared(asked, true, learned.rule(tolerance=0.015, budget=used), dice))
    return np.asarray(np.mean(found, axis=0))


def recorded(used: int, target: str) -> None:
    """Print a table for one target, and whether *by value* is at least as near in every series, and in the mean."""
    frame, series = load("rb2_k8")
    print(f"\nrecorded, at most {used} presentations, against {target}:\n")
    heads = [f"{advantages}: {way}" for advantages in ADVANTAGES for way in WAYS]
    print(f"| judge, prompt, temperature | presentations | {' | '.join(heads)} |\n" + "|---" * (len(heads) + 2) + "|")
    rows = []
    for one in series:
        row = row_of_series(frame, one, used=used)
        rows.append(row)
        name = f"{one.key.judge}, {one.key.prompt_variant}, {one.key.temperature:g}"
        cells = " | ".join(f"{value:.4f}" for value in row[: len(WAYS)].T.flatten())
        print(f"| {name} | {row[-1, 0]:.2f} | {cells} |", flush=True)
    print()
    for number, advantages in enumerate(ADVANTAGES):
        for way, other in (("by value", "tolerance"), ("by value", "evenly")):
            gains = np.array([row[WAYS.index(way), number] - row[WAYS.index(other), number] for row in rows])
            width = t_quantile(0.975, len(gains) - 1) * gains.std(ddof=1) / np.sqrt(len(gains))
            print(
                f"{advantages}: {way} less {other} {gains.mean():+.4f} ± {width:.4f}, at least {gains.min():+.4f}, "
                f"not below 0 in {int((gains >= 0).sum())} of {len(gains)}"
            )


def simulated(null: float, *, size: int = 8, most: int = 8) -> Array:
    """The mean of ``compared`` over simulated batches in which a share ``null`` of the groups has no true spread."""
    dice, found = np.random.default_rng(round(100 * null)), []
    learned = Learned(Noise(1.0, 1e6), 1 - null)
    for _ in range(_SIMULATED):
        real = np.arange(BATCH) >= round(null * BATCH)
        true = dice.standard_normal((BATCH, size)) * real[:, None]
        calls = true[:, None, :] + dice.standard_normal((BATCH, most, size))
        asked, rule = Asked.of(calls, learned.noise), learned.rule(tolerance=0.015, budget=most)
        found.append(compared(asked, standardised(true), rule, dice, budget=2 * BATCH))
    return np.asarray(np.mean(found, axis=0))


def main(out: Callable[[str], object] = print) -> None:
    """Print the tables."""
    if recorded_data().is_dir():
        recorded(8, "gold")
        recorded(4, "the centred mean of the other calls")
    else:
        out(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
    out("\nsimulated, 2 presentations a group; cosines by value and evenly:\n")
    out("| without true spread | plain: by value | evenly | weighted: by value | evenly |\n|---|---|---|---|---|")
    for null in (0.0, 0.2, 0.4, 0.6, 0.8):
        row = simulated(null)
        out(f"| {null:.0%} | {row[1, 0]:.3f} | {row[2, 0]:.3f} | {row[1, 1]:.3f} | {row[2, 1]:.3f} |")


if __name__ == "__main__":
    main()
