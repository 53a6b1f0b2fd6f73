"""One order of a pair, read as what it is worth; the other order on demand; and inconsistent verdicts as ties.

The figure is the correlation, over pairs, of reward difference and gold difference, signed by trajectory id and not
normalised per pair; a pair asked in one order counts once for either order it may have been asked in. What is learned
uses no gold, and comes from the swaps of the same pairs; weights fitted on gold see the gold they are measured on, and
are the most there is to gain. ``apart`` repeats it with what is learned from one half of the pairs and used on the
other (ten splits, both ways), where twenty pairs often have to do.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.fidelity.data import Target, correlation, figure, half, load, selected
from benchmarks.fidelity.panels import is_natural
from calipers.aggregators.pair_bias import PairBias, PairVerdict
from calipers.calibration.measures import Array, Flags
from calipers.calibration.metrics import flip_rate
from calipers.calibration.series import Frame, Series

SPLITS = 10
DRAWS = 8
"""Draws of which pairs are swapped, where only some of one verdict are."""
PLAIN: dict[PairVerdict, float] = {"first": 1.0, "second": -1.0, "tie": 0.0}
RESAMPLES = 200
Verdicts = list[tuple[PairVerdict, PairVerdict]]
Places = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Gains:
    """The plain reading of one order, and what others add to it; ``calls`` a pair of asking the other on demand."""

    plain: float
    learned: float
    fitted: float
    both: float
    demand: float
    calls: float


@dataclass(frozen=True, slots=True)
class Row:
    """One judge and prompt. ``agree`` is the share of pairs where both orders agree, ``accuracy`` how often rightly.

    ``said`` and ``gold`` are its verdicts and their gold, ``halves`` the splits that ``apart`` was learned from.
    """

    name: str
    pairs: int
    first_rate: float
    found: Gains
    apart: Gains
    agree: float
    accuracy: float
    said: Verdicts
    gold: Array
    halves: list[Flags]

    @property
    def biased(self) -> bool:
        return not 0.35 <= self.first_rate <= 0.65


def measure(series: Series, frame: Frame) -> Row | None:
    """One judge and prompt; None below 20 swapped pairs."""
    said, gaps, rows = [], [], []
    for swap in series.swaps:
        columns, gold_here = frame.columns[swap.row], frame.gold[swap.row]
        gaps.append(gold_here[columns[swap.first]] - gold_here[columns[swap.second]])
        said.append((swap.said, swap.swapped))
        rows.append(swap.row)
    if len(said) < 20:
        return None
    gold, every = np.array(gaps), np.ones(len(said), dtype=bool)
    parts = []
    for split in range(SPLITS):
        first_half = half(frame, rows, split)
        parts += [_figures(said, gold, teach, ~teach) for teach in (first_half, ~first_half)]
    apart = np.mean(parts, axis=0).tolist()
    decided = [one for pair in said for one in pair if one != "tie"]
    agree = np.array([one != other and "tie" not in (one, other) for one, other in said])
    right = np.array([(gap > 0) == (one == "first") for (one, _), gap in zip(said, gold, strict=True)])
    return Row(
        f"{series.key.judge}, {series.key.prompt_variant}",
        len(said),
        decided.count("first") / len(decided),
        _gains(_figures(said, gold, every, every)),
        _gains(apart),
        float(agree.mean()),
        float(right[agree].mean()) if agree.any() else float("nan"),
        said,
        gold,
        [half(frame, rows, split) for split in range(SPLITS)],
    )


def _intervals(row: Row) -> tuple[tuple[float, float], tuple[float, float]]:
    """95 % intervals of the gain learned apart, and of what it lacks of 80 % of that fitted on gold.

    Pairs are drawn anew within each half.
    """
    said, gold, halves = row.said, row.gold, row.halves
    generator = np.random.default_rng(0)
    over, short = [], []
    for _ in range(RESAMPLES):
        gains = []
        for first_half in halves:
            parts = [generator.choice(np.flatnonzero(part), part.sum()) for part in (first_half, ~first_half)]
            gains += [_one_order(said, gold, *both) for both in (parts, parts[::-1])]
        learned, fitted = np.mean(gains, axis=0)
        over.append(learned)
        short.append(0.8 * fitted - learned)
    low, high = np.percentile([over, short], [2.5, 97.5], axis=1).T.tolist()
    return tuple(low), tuple(high)


def _one_order(said: Verdicts, gold: Array, teach: Places, use: Places) -> tuple[float, float]:
    """What reading one order as learned, and as fitted on gold, adds to the plain reading; either order was asked."""
    taught = [said[place] for place in teach]
    swaps, worth = PairBias.learn(taught), _fitted(taught, gold[teach])
    margins = PLAIN if swaps is None else {one: swaps.margin(one) for one in PLAIN}
    twice = np.tile(gold[use], 2)
    levels = []
    for margin in (PLAIN, margins, worth):
        rewards = [margin[said[place][0]] for place in use] + [-margin[said[place][1]] for place in use]
        levels.append(correlation(np.array(rewards), twice))
    return levels[1] - levels[0], levels[2] - levels[0]


def _gains(figures: Sequence[float]) -> Gains:
    plain, *others, calls = figures
    learned, fitted, both, demand = (one - plain for one in others)
    return Gains(plain, learned, fitted, both, demand, calls)


def _figures(said: Verdicts, gold: Array, teach: Flags, use: Flags) -> tuple[float, ...]:
    """Correlations on ``use``: plain, learned, fitted on gold, both orders, on demand; and the calls of the last."""
    taught = [pair for pair, chosen in zip(said, teach, strict=True) if chosen]
    used = [pair for pair, chosen in zip(said, use, strict=True) if chosen]
    swaps, worth = PairBias.learn(taught), _fitted(taught, gold[teach])
    margins = PLAIN if swaps is None else {one: swaps.margin(one) for one in PLAIN}
    rewards: dict[str, list[float]] = {"plain": [], "learned": [], "fitted": [], "demand": []}
    generator, asked = random.Random(0), 0
    for sign, _ in itertools.product((1, -1), range(DRAWS)):  # either order may have been the one asked
        for pair in used:
            one, other = pair if sign == 1 else pair[::-1]
            for name, margin in (("plain", PLAIN), ("learned", margins), ("fitted", worth)):
                rewards[name].append(sign * margin[one])
            swap = swaps is not None and generator.random() < swaps.swap_share(one)
            asked += swap
            rewards["demand"].append(sign * (both_orders(one, other) if swap else margins[one]))
    twice = np.tile(gold[use], 2 * DRAWS)
    found = {name: correlation(np.array(row), twice) for name, row in rewards.items()}
    both = correlation(np.array([both_orders(one, other) for one, other in used]), gold[use])
    return found["plain"], found["learned"], found["fitted"], both, found["demand"], 1 + asked / len(twice)


def both_orders(one: PairVerdict, other: PairVerdict) -> float:
    """The margin of two swapped verdicts for the trajectory shown first in ``one``: contradiction is a tie."""
    return (PLAIN[one] - PLAIN[other]) / 2


def _fitted(said: Verdicts, gold: Array) -> dict[PairVerdict, float]:
    """What each verdict is worth for the one shown first: the mean gold difference it came with."""
    worth: dict[PairVerdict, float] = {}
    for kind in PLAIN:
        gaps = [gap for (one, _), gap in zip(said, gold, strict=True) if one == kind]
        gaps += [-gap for (_, other), gap in zip(said, gold, strict=True) if other == kind]
        worth[kind] = float(np.mean(gaps)) if gaps else 0.0
    return worth


def report() -> list[Target]:
    """Print the tables of orders, and say which targets they reach."""
    frame, series = selected("llmbar", is_natural)
    found = [row for one in series if one.key.mode == "pairwise" and (row := measure(one, frame))]
    print(
        "\n## One order (llmbar, Processed and Natural): correlation with gold; gains over the plain reading of one "
        "order"
    )
    _table(found)
    other_frame, others = selected("llmbar", lambda name: not is_natural(name))
    rest = [row for one in others if one.key.mode == "pairwise" and (row := measure(one, other_frame))]
    print("\n## The other subsets of llmbar, where most judges are below chance")
    _table(rest)
    _coverage()
    biased = [row.biased for row in found]
    return [
        *_targets("one order", [row.found for row in found], biased),
        *_targets("one order, learned from the other half", [row.apart for row in found], biased),
        *_sure(found),
    ]


def _sure(found: Sequence[Row]) -> list[Target]:
    """The same, where the pairs are enough to tell."""
    short = [row for row in found if row.apart.fitted >= 0.005 and row.apart.learned < 0.8 * row.apart.fitted]
    below = [row for row in found if row.apart.learned < -0.002]
    shortfalls = [_intervals(row)[1] for row in short]
    gains = [_intervals(row)[0] for row in below]
    told = "; ".join(f"{row.name} short by {figure(one)}" for row, one in zip(short, shortfalls, strict=True))
    lost = "; ".join(
        f"{row.name} {figure(one)}, on gold {row.apart.fitted:+.4f}" for row, one in zip(below, gains, strict=True)
    )
    surely, surely_below = sum(one[0] > 0 for one in shortfalls), sum(one[1] < -0.002 for one in gains)
    return [
        Target("one order, learned from the other half: surely short of 80 % nowhere", not surely, told),
        Target(
            "one order, learned from the other half: surely below the plain reading nowhere", not surely_below, lost
        ),
    ]


def _targets(what: str, rows: Sequence[Gains], biased: Sequence[bool]) -> list[Target]:
    learned, fitted = sum(row.learned for row in rows), sum(row.fitted for row in rows)
    leaning = [row for row in rows if row.fitted >= 0.005]
    short = sum(row.learned < 0.8 * row.fitted for row in leaning)
    worst = min(row.learned for row in rows)
    asked = [row for row, leans in zip(rows, biased, strict=True) if leans]
    shares, most = [row.demand / row.both for row in asked], max(row.calls for row in asked)
    enough = sum(share >= 0.85 for share in shares)
    return [
        Target(
            f"{what}: 80 % of what weights fitted on gold gain",
            not short,
            f"{learned / fitted:.0%} over all; short in {short} of the {len(leaning)} where there is 0.005 to gain",
        ),
        Target(
            f"{what}: never below the plain reading by more than 0.002",
            worst >= -0.002,
            f"worst {worst:+.4f} of {len(rows)}",
        ),
        Target(
            f"{what}: the other on demand, 85 % of its gain at 1.75 calls at most (first-rate outside 0.35-0.65)",
            enough == len(asked) and most <= 1.75,
            f"{enough} of {len(asked)}; least {min(shares):.0%}, most {most:.3f} calls",
        ),
    ]


def _table(found: Sequence[Row]) -> None:
    head = f"{'plain':>8}{'learned':>9}{'gold':>8}{'both':>8}{'demand':>8}{'calls':>7}"
    print(f"{'judge, prompt':32}{'pairs':>6}{'first':>7}{head}{'agree':>7}{'acc.':>6} | apart: learned, gold, demand")
    for row in found:
        gains, apart = row.found, row.apart
        figures = f"{gains.learned:+9.4f}{gains.fitted:+8.4f}{gains.both:+8.4f}{gains.demand:+8.4f}{gains.calls:7.2f}"
        there = f"{apart.learned:+8.4f}{apart.fitted:+8.4f}{apart.demand:+8.4f}"
        both = f"{row.agree:7.2f}{row.accuracy:6.2f}"
        print(f"{row.name:32}{row.pairs:6}{row.first_rate:7.2f}{gains.plain:8.3f}{figures}{both} |{there}")


def _coverage() -> None:
    """Inconsistent is a tie: how many pairs that leaves, for judges without gold as well."""
    _, series = load("posbias_repeat")
    print("\n## Swapped pairs of posbias_repeat (no gold): share where both orders agree")
    for one in series:
        agree = 1 - (flip_rate(one) or 0.0)
        print(f"{one.key.judge + ', ' + str(one.key.prompt_variant):40}{len(one.swaps):6} pairs{agree:7.2f}")
