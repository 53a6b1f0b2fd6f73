"""What ``calibrate``'s search for a way to ask is worth on groups that had no part in it, on recorded judges.

    python -m benchmarks.fidelity.search [--halves 50] [--set rb2_k8]...

Each set is divided into random halves of its prompts. The whole search (judges, prompt variants, calls, panels,
weights) runs on one half, and what it chooses is measured on the other. Beside it stand the best single judge and the
best way of all in hindsight: the one with the highest fidelity on all groups. A difference is a mean over groups, each
averaged over the halves in which it was not used to choose, with its 95 % bootstrap interval over groups. A call is a
call per candidate, or one list or pair. The best way in hindsight is chosen with the groups that it is measured on, so
on small sets no choice can reach it: of 40 equally good ways, one looks best. Sources of the data:
``benchmarks.fidelity.data``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.environment import recorded_data
from benchmarks.fidelity.data import figure, load, selected
from benchmarks.fidelity.panels import is_natural
from calipers.calibration import calibrate, measures
from calipers.calibration.choice import Contest
from calipers.calibration.comparable import prompts
from calipers.calibration.measures import Array, Counts, Flags
from calipers.calibration.series import Frame, Series, fidelity_curve
from calipers.calibration.ways import measured_ways

SETS = ("rb2_k8", "openqa301", "hanna", "pandalm", "llmbar natural", "llmbar other", "rankllm_listwise", "tau2_airline")
CALLS = (1, 2, 4, 8, 24, None)
"""Limits of calls for each candidate (pointwise) or group; None: the cheapest way with 98.5 % of the best."""
LOSS = 0.01
"""What the choice may lose against the best way in hindsight."""
MARGIN = 0.01
"""What weights from gold may lose against equal ones, with confidence."""


@dataclass(frozen=True, slots=True)
class Row:
    """One set under one limit; all fidelities are means over the ``groups`` that were held out in some half."""

    name: str
    calls: int | None
    groups: int
    ways: int
    chosen: float
    alone: float
    best: float
    below_best: float
    above_alone: float
    loss: tuple[float, float] | None
    gain: tuple[float, float] | None


def loaded(name: str) -> tuple[Frame, list[Series]]:
    """Return a set's groups and judges; llmbar is two sets, because judges are below chance on its other subsets."""
    if name.startswith("llmbar"):
        return selected("llmbar", is_natural if name.endswith("natural") else lambda one: not is_natural(one))
    return load(name)


def rows(name: str, halves: int) -> Iterator[Row]:
    """Yield the figures of one set under each limit."""
    frame, series = loaded(name)
    ways = measured_ways(series, [fidelity_curve(one, frame.gold[list(one.rows)]) for one in series], frame)
    size = max((len(one) for one in frame.columns), default=1) if series[0].key.mode == "pointwise" else 1
    for calls in CALLS:
        contest = Contest(ways, None if calls is None else {"calls": calls * size}, series, frame)
        if contest.alone:
            yield _row(name, calls, contest, prompts(frame), halves)


def _row(name: str, calls: int | None, contest: Contest, sources: Counts, halves: int) -> Row:
    groups = contest.common.groups
    alone = np.array([way.fidelity for way in contest.alone])
    every = np.array([*alone, *(way.fidelity for way in contest.offer(groups) if way.weights)])
    tried = contest.tried
    total, count = np.zeros(len(groups)), np.zeros(len(groups))
    for seed in range(halves):
        first = _half(sources, seed)
        for train in (groups & first, groups & ~first):
            if not train.any():
                continue
            found = contest.choose(train)[0].fidelity
            out = groups & ~train & ~np.isnan(found)
            total[out] += found[out]
            count[out] += 1
    used = count > 0
    chosen = total[used] / count[used]
    best, single = (table[_levels(table[:, groups]).argmax(), used] for table in (every, alone))
    return Row(
        name,
        calls,
        int(used.sum()),
        tried,
        float(chosen.mean()),
        float(np.nanmean(single)),
        float(np.nanmean(best)),
        float(np.nanmean(chosen - best)),
        float(np.nanmean(chosen - single)),
        measures.bootstrap_interval(chosen - best),
        measures.bootstrap_interval(chosen - single),
    )


@dataclass(frozen=True, slots=True)
class Weighed:
    """Panels of one set with weights learned on one half of the prompts less equal weights, on the other half."""

    name: str
    panels: int
    groups: int
    gain: float
    interval: tuple[float, float] | None


def weighed(name: str, halves: int) -> Weighed | None:
    """Return what weights from gold bring to the panels that the search finds, one call of each member."""
    frame, series = loaded(name)
    ways = measured_ways(series, [fidelity_curve(one, frame.gold[list(one.rows)]) for one in series], frame)
    contest = Contest(ways, None, series, frame)
    space, groups, sources = contest.space, contest.common.groups, prompts(frame)
    if space is None:
        return None
    total, count, panels = np.zeros(len(groups)), np.zeros(len(groups)), 0
    for seed in range(halves):
        first = _half(sources, seed)
        for train in (groups & first, groups & ~first):
            for way in space.panels(train):
                if way.calls == 1:
                    equal = (1 / len(way.keys),) * len(way.keys)
                    gained = way.fidelity - space.fidelity(way.keys, 1, equal)
                    out = groups & ~train & ~np.isnan(gained)
                    total[out] += gained[out]
                    count[out] += 1
                    panels += 1
    found = total[count > 0] / count[count > 0]
    return Weighed(name, panels, len(found), float(found.mean()), measures.bootstrap_interval(found))


def _half(sources: Counts, seed: int) -> Flags:
    """Return the groups of a random half of the prompts."""
    names, place = np.unique(sources, return_inverse=True)
    return np.asarray((np.random.default_rng(seed).permutation(len(names)) < len(names) / 2)[place])


def _levels(table: Array) -> Array:
    return np.array([measures.mean_over_groups(one) or -1.0 for one in table])


def main() -> None:
    """Print the table, then the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--halves", type=int, default=50, help="random halves; each is used both ways")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set; may be repeated")
    given = parser.parse_args()
    if not recorded_data().is_dir():
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
        return
    heads = f"{'set':18}{'calls':>6}{'groups':>7}{'ways':>6}{'chosen':>8}{'alone':>8}{'best':>8}"
    print(f"{heads}  {'chosen - best':27}chosen - alone")
    found: list[Row] = []
    for name in given.set or SETS:
        for row in rows(name, given.halves):
            found.append(row)
            levels = f"{row.chosen:8.4f}{row.alone:8.4f}{row.best:8.4f}"
            apart = f"{row.below_best:+.4f} {figure(row.loss)}  {row.above_alone:+.4f} {figure(row.gain)}"
            print(f"{row.name:18}{row.calls or '-':>6}{row.groups:7}{row.ways:6}{levels}  {apart}", flush=True)
    print("\nPanels with weights from gold less equal weights, one call of each member")
    together = [one for name in given.set or SETS if (one := weighed(name, max(given.halves // 5, 1))) is not None]
    for one in together:
        print(f"{one.name:18}{one.panels:6} panels{one.groups:7} groups  {one.gain:+.4f} {figure(one.interval)}")
    _print_targets(found, together)


def _print_targets(found: Sequence[Row], together: Sequence[Weighed]) -> None:
    print()
    for name in dict.fromkeys(row.name for row in found):
        worst = min((row for row in found if row.name == name and row.calls), key=lambda row: row.below_best)
        reached = "met " if worst.below_best >= -LOSS else "MISS"
        print(
            f"{reached} {name}: within {LOSS} of the best way in hindsight at every limit: "
            f"{worst.below_best:+.4f} {figure(worst.loss)} at {worst.calls}"
        )
    for one in together:
        reached = "met " if (one.interval or (one.gain, 0.0))[0] > -MARGIN else "MISS"
        print(
            f"{reached} {one.name}: weights from gold lose less than {MARGIN} with confidence: {figure(one.interval)}"
        )
    started = time.process_time()
    folder = recorded_data() / "rb2_k8"
    calibrate(folder / "groups.jsonl.gz", folder / "judgments.jsonl.gz")
    seconds = time.process_time() - started
    reached = "met " if seconds < 30 else "MISS"
    print(f"{reached} 56,848 recorded judgments calibrate in under 30 s: {seconds:.1f} s of CPU")


if __name__ == "__main__":
    main()
