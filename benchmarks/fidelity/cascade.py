"""What a cascade of two recorded judges is worth beside random routing and an oracle, on groups it was not fitted on.

    python -m benchmarks.fidelity.cascade [--halves 20] [--set rb2_k8]...

For every two judges of a set (each with the prompt variant that serves it best), the better of them answers at most
45 % of the groups, checks of 10 % of the others included: the threshold follows from the confidences alone, without
gold. Whether it is compared with the lead or the spread of scores is chosen on a random half of the prompts, and
measured on the other. Random routing sends as many groups to the better judge. The oracle knows each group's fidelity
to gold by either judge, and sends those that gain most. Calls of the cheaper judge: as many as stated (2 calls of pairs
are both orders). Intervals are 95 % bootstrap intervals over groups, each averaged over the halves in which it was not
used to choose. Sources of the data: ``benchmarks.fidelity.data``.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.environment import recorded_data
from benchmarks.fidelity.data import figure
from benchmarks.fidelity.search import SETS, loaded
from calipers.aggregators.betting import upper_bound
from calipers.aggregators.cascade import Watch
from calipers.calibration import measures
from calipers.calibration.arrays import Array, Flags, mean_of_known
from calipers.calibration.cascade import MEASURES, Pair
from calipers.calibration.folds import prompts
from calipers.calibration.panel_space import Unit, units_of
from calipers.calibration.panels import window_mean
from calipers.calibration.series import Frame

SHARE, KEPT = 0.45, 0.97
"""The largest share of the better judge's groups, and the share of its fidelity that must be kept."""
COUNTS = (1, 2, 4, 8)
FEWEST_GROUPS = 20
LEAST_LEVEL = 0.1
"""A last judge with less fidelity is no better than chance, and nothing can be a share of it."""
GAMED = (0.0, 0.05, 0.1, 0.2, 0.4)
"""Shares of the sure groups in which the first judge is made to contradict the last one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One cascade: fidelities as shares of the last judge's ``level``, on ``groups`` held out in some half."""

    name: str
    first: str
    last: str
    calls: int
    groups: int
    level: float
    alone: float
    share: float
    cascade: float
    random: float
    oracle: float
    above_kept: tuple[float, float] | None
    above_random: float
    random_interval: tuple[float, float] | None
    equal: bool

    @property
    def verdict(self) -> str:
        """Whether the cascade keeps enough fidelity, where the oracle does."""
        if self.oracle < KEPT:
            return "oracle misses, too"
        if self.equal:
            return "MISS: one confidence for all groups"
        if self.cascade >= KEPT and self.share <= SHARE:
            return "met"
        return "MISS"


def rows(name: str, halves: int) -> Iterator[Row]:
    """Yield the figures of all pairs of judges of a set."""
    frame, series = loaded(name)
    best = _best_units(units_of(series, frame), frame)
    for one, other in itertools.combinations(best, 2):
        if one.key.protocol != other.key.protocol:
            continue
        cheap, last = sorted((one, other), key=lambda unit: level_of(unit, frame.gold))
        if level_of(last, frame.gold) < LEAST_LEVEL:
            continue
        for calls in (count for count in COUNTS if count <= cheap.calls.shape[1]):
            row = _row(name, cheap, last, frame, calls, halves)
            if row is not None:
                yield row


def _best_units(units: Sequence[Unit], frame: Frame) -> list[Unit]:
    """Return each judge's prompt variant and temperature with the best fidelity of one call."""
    found: dict[str, Unit] = {}
    for one in units:
        level = level_of(one, frame.gold)
        if level > -1 and (one.key.judge not in found or level > level_of(found[one.key.judge], frame.gold)):
            found[one.key.judge] = one
    return list(found.values())


def level_of(unit: Unit, gold: Array) -> float:
    """The mean fidelity of one call; -1 if it is unknown."""
    calls = [measures.fidelity(window_mean(unit.calls, start, 1), gold) for start in range(unit.calls.shape[1])]
    found = measures.mean_over_groups(mean_of_known(np.array(calls), axis=0))
    return -1.0 if found is None else found


def _row(name: str, cheap: Unit, last: Unit, frame: Frame, calls: int, halves: int) -> Row | None:
    pairs = [Pair.of(cheap, last, frame.gold, calls, measure) for measure in MEASURES]
    count = pairs[0].last.size
    if count < FEWEST_GROUPS:
        return None
    sources = prompts(frame)[pairs[0].rows]
    names, place = np.unique(sources, return_inverse=True)
    total, spent, seen = np.zeros(count), np.zeros(count), np.zeros(count)
    for seed in range(halves):
        half = (np.random.default_rng(seed).permutation(len(names)) < len(names) / 2)[place]
        for train in (half, ~half):
            pair, threshold = _chosen(pairs, train)
            out = ~train
            total[out] += pair.fidelity(threshold)[out]
            spent[out] += (1 - pair.kept(threshold).mean(axis=0))[out]
            seen[out] += 1
    used = seen > 0
    found, spent = total[used] / seen[used], spent[used] / seen[used]
    top, low = pairs[0].last[used], np.nanmean(pairs[0].first, axis=0)[used]
    share, level = float(spent.mean()), float(top.mean())
    by_chance = share * top + (1 - share) * low
    return Row(
        name,
        _called(cheap),
        _called(last),
        calls,
        int(used.sum()),
        level,
        float(low.mean()) / level,
        share,
        float(found.mean()) / level,
        float(by_chance.mean()) / level,
        _oracle(pairs[0]) / level,
        measures.bootstrap_interval(found - KEPT * top),
        float((found - by_chance).mean()) / level,
        measures.bootstrap_interval(found - by_chance),
        all(len(pair.thresholds()) < 2 for pair in pairs),
    )


def _called(unit: Unit) -> str:
    variant = unit.key.prompt_variant
    return unit.key.judge if not variant else f"{unit.key.judge} ({variant})"


def _chosen(pairs: Sequence[Pair], train: Flags) -> tuple[Pair, float]:
    """Return the pair whose measure is best on ``train``, and the highest threshold that is affordable."""
    options = []
    for pair in pairs:
        within = [one for one in pair.thresholds() if pair.share(one) <= SHARE]
        if within:
            options.append((float(pair.where(train).fidelity(within[-1]).mean()), -len(options), pair, within[-1]))
    if not options:  # a judge that scores few groups completely: only these may be kept
        return pairs[0], pairs[0].thresholds()[0]
    _, _, pair, threshold = max(options, key=lambda one: one[:2])
    return pair, threshold


def _oracle(pair: Pair) -> float:
    """Return the mean fidelity if the groups that gain most go to the last judge, in each window."""
    found = []
    for row in pair.first:
        gain = np.where(np.isnan(row), np.inf, pair.last - np.nan_to_num(row))
        sent = np.argsort(-gain)[: int(SHARE * len(gain))]
        scores = np.where(np.isnan(row), pair.last, row)
        scores[sent] = pair.last[sent]
        found.append(float(scores.mean()))
    return float(np.mean(found))


def main() -> None:
    """Print the table, then the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--halves", type=int, default=20, help="random halves; each is used both ways")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set; may be repeated")
    given = parser.parse_args()
    if not recorded_data().is_dir():
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
        return
    heads = ("set", "first judge, calls", "last judge", "groups", "first alone", "share", "cascade", "random", "oracle")
    print(f"| {' | '.join(heads)} | 97 % kept |\n|{'---|' * 10}")
    every: list[Row] = []
    for name in given.set or SETS:
        for row in rows(name, given.halves):
            every.append(row)
            print(
                f"| {row.name} | {row.first}, {row.calls} | {row.last} {row.level:.3f} | {row.groups} "
                f"| {row.alone:.3f} | {row.share:.0%} | {row.cascade:.3f} | {row.random:.3f} | {row.oracle:.3f} "
                f"| {row.verdict} {figure(row.above_kept)} |",
                flush=True,
            )
    _print_targets(every)
    _print_breaches()


def _print_targets(every: Sequence[Row]) -> None:
    reachable = [row for row in every if row.oracle >= KEPT]
    met = [row for row in reachable if row.verdict == "met"]
    best = {(row.name, row.first, row.last): row for row in sorted(reachable, key=lambda row: row.cascade)}
    in_some = sum(row.verdict == "met" for row in best.values())
    print(
        f"\n97 % of the last judge's fidelity at 45 % of its calls, where an oracle reaches it: {len(met)} of "
        f"{len(reachable)} rows, {in_some} of {len(best)} pairs of judges with the best number of calls"
    )
    routed = [row for row in every if not row.equal]
    above = [row for row in routed if row.above_random > 0]
    clearly = sum(1 for row in routed if (row.random_interval or (0.0, 0.0))[0] > 1e-9)
    below = [row for row in routed if (row.random_interval or (0.0, 0.0))[1] < -1e-9]
    print(
        f"above random routing: {len(above)} of {len(routed)} rows whose confidences differ, {clearly} with their "
        f"whole interval; {len(below)} below with their whole interval"
    )
    for row in [one for one in routed if one.above_random <= 0]:
        print(f"  not above: {row.name}, {row.first}, {row.calls} -> {row.last}: {figure(row.random_interval)}")


def _print_breaches() -> None:
    """Print how many checks a breach takes: recorded disagreements, with ever more groups contradicted from one on."""
    frame, series = loaded("rb2_k8")
    best = {unit.key.judge: unit for unit in _best_units(units_of(series, frame), frame)}
    pair = Pair.of(best["gpt-5.4-mini"], best["gpt-5.4"], frame.gold, 4, "lead")
    threshold = next(one for one in pair.thresholds() if pair.share(one) > SHARE)
    errors = pair.error[(pair.kept(threshold) > 0) & ~np.isnan(pair.error)]
    limit = upper_bound(errors[:: len(pair.error)].tolist())
    print(f"\nchecks until a breach: mean disagreement {errors.mean():.3f}, limit {limit:.2f}, 200 runs each")
    print("| contradicted from then on | begins at once | after 200 checks | runs without a breach in 2,000 checks |")
    print("|---|---|---|---|")
    for share in GAMED:
        found = [[_checks(errors, limit, share, before, seed) for seed in range(200)] for before in (0, 200)]
        medians = [f"{np.median(one):.0f}" if np.median(one) < np.inf else "never" for one in found]
        never = sum(one == np.inf for one in found[1])
        print(f"| {share:.0%} | {medians[0]} | {medians[1]} | {never} of 200 |", flush=True)


def _checks(errors: Array, limit: float, share: float, before: int, seed: int) -> float:
    """Return how many checks after ``before`` good ones a breach takes; infinity if 2,000 are not enough."""
    generator = np.random.default_rng(seed)
    watch = Watch.begin(0.0, limit)
    for number in range(before + 2000):
        gamed = number >= before and generator.random() < share
        watch = watch.after(1.0 if gamed else float(generator.choice(errors)), trusted=True)
        if watch.breached:
            return number + 1 - before
    return np.inf


if __name__ == "__main__":
    main()
