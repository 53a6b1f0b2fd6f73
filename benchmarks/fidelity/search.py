"""What ``calibrate``'s recommendation is worth on groups that had no part in it, on recorded judges.

    python -m benchmarks.fidelity.search [--halves 25] [--set openqa301]... [--hindsight]

Each set is divided into random halves of its prompts. The whole search (judges, calls, panels, weights) runs on one
half, and what it chooses is measured on the other, and the other way round. Beside it stand all judges once, with equal
weights and with weights learned without labels; the single judge that the half would choose; and the best way of all in
hindsight, which on small sets no choice can reach: of 40 equally good ways, one looks best. A call is a call for each
candidate, or one list or pair; without a limit, the cheapest way with 98.5 % of the best is recommended. Differences
are means over groups, each averaged over the halves in which it was held out, with their standard errors. Sources of
the data: ``benchmarks.fidelity.data``. ``--hindsight`` prints instead what no choice on rb2_k8 can exceed: all ways of
up to 2 and 4 calls, each mix of judges, prompts and temperatures with each division of the weight into tenths.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from benchmarks.environment import recorded_data
from benchmarks.fidelity.data import depth, load, selected
from benchmarks.fidelity.panels import is_natural, shared
from calipers.aggregators.panel_weights import correlations, learn_weights, standard_scores
from calipers.calibration import calibrate, measures
from calipers.calibration.choice import Contest
from calipers.calibration.comparable import prompts
from calipers.calibration.measures import Array, Counts, Flags
from calipers.calibration.series import Frame, Series, fidelity_curve
from calipers.calibration.ways import Way, measured_ways, window_mean

SETS: Final[dict[str, str]] = {
    "rb2_k8: base": "base", "rb2_k8": "", "openqa301": "", "hanna: coherence 1": "eval1, coherence",
    "hanna: engagement 2": "eval2, engagement", "hanna: surprise 3": "eval3, surprise", "hanna: empathy 4":
    "eval4, empathy", "pandalm": "", "llmbar natural: CoT": "CoT", "llmbar natural: Vanilla": "Vanilla",
    "llmbar other: CoT": "CoT", "llmbar other: Vanilla": "Vanilla",
}  # fmt: skip
"""Each set with the prompt variant that it is limited to."""
STATED: Final = 6
"""In how many halves calibrate's own figure is compared with that of the other half."""
LOSS: Final = 0.005
"""What the recommendation may lose, besides a standard error, against the better of equal weights and one judge."""


@dataclass(frozen=True, slots=True)
class Row:
    """One set under one limit of calls; all fidelities are means over groups that were held out.

    ``below`` is the recommendation less the better of equal weights and one judge, ``error`` its standard error.
    ``apart``: in standard errors, how far the figure that calibrate states is from that of the other half.
    """

    name: str
    calls: int | None
    groups: int
    chosen: float
    equal: float
    unlabelled: float
    single: float
    best: float
    below: float
    error: float
    apart: list[float]

    @property
    def is_met(self) -> bool:
        return self.below >= -LOSS - self.error


def loaded(name: str) -> tuple[Frame, list[Series]]:
    """Return a set's groups and judges; llmbar is two sets, because judges are below chance on its other subsets."""
    source, _, variant = *name.partition(":")[:2], SETS[name]
    if source.startswith("llmbar"):
        frame, every = selected("llmbar", is_natural if "natural" in name else lambda one: not is_natural(one))
        every = [one for one in every if one.key.mode == "pairwise"]
    else:
        frame, every = load(source)
    if source == "openqa301":  # its judges were asked with prompts of their own
        every = [replace(one, key=replace(one.key, prompt_variant=None)) for one in every]
    if source == "rb2_k8" and variant:
        every = [one for one in every if one.key.temperature == 1.0]
    return frame, [one for one in every if not variant or one.key.prompt_variant == variant]


def rows(name: str, halves: int) -> Iterator[Row]:
    """Yield the figures of one set for one call of each judge, and without a limit."""
    frame, series = loaded(name)
    ways = measured_ways(series, [fidelity_curve(one, frame.gold[list(one.rows)]) for one in series], frame)
    size = max(map(len, frame.columns)) if series[0].key.mode == "pointwise" else 1
    usual = [one for one in series if one.key.prompt_variant == series[0].key.prompt_variant]
    members = list({one.key.judge: one for one in usual}.values())
    limits = {2, 4} if name.startswith("rb2") else {len(members)}
    for calls in (*sorted(limits), None):
        contest = Contest(ways, None if calls is None else {"calls": calls * size}, series, frame)
        yield _row(name, calls, contest, [one.on_frame(one.calls, frame) for one in members], members, frame, halves)


def _row(
    name: str,
    calls: int | None,
    contest: Contest,
    asked: Sequence[Array],
    members: Sequence[Series],
    frame: Frame,
    halves: int,
) -> Row:
    space, keys = contest.space, [one.key for one in members]
    assert space is not None  # noqa: S101 - all sets have two judges or more
    equal = space.fidelity(keys, 1, (1 / len(keys),) * len(keys))
    groups = contest.groups & ~np.isnan(equal)
    sums, apart = np.zeros((4, len(groups))), []
    for train in (part for seed in range(halves) for part in _parts(prompts(frame), groups, seed)):
        weights = learn_weights([one[train] for one in asked])
        least = contest.share * max(_level(way, train) for way in contest.alone)
        single = next(way for way in contest.alone if _level(way, train) >= least)
        chosen = contest.choose(train)[0]
        out = groups & ~train
        held = (chosen.fidelity, equal, space.fidelity(keys, 1, weights), single.fidelity)
        if calls is None and len(apart) < STATED:
            alike = copy.copy(contest)
            alike.groups = train
            pair = [part[~np.isnan(part)] for part in (alike.held_out(prompts(frame), ())[0], chosen.fidelity[out])]
            error = np.sqrt(sum(part.var(ddof=1) / len(part) for part in pair))
            apart.append(float((pair[0].mean() - pair[1].mean()) / error))
        sums[:, out] += np.nan_to_num(np.array(held)[:, out]) / halves
    recommended, equally, unlabelled, alone = sums[:, groups]
    better = equally if equally.mean() > alone.mean() else alone
    gap = recommended - better
    best = max(_level(way, groups) for way in contest.offer(groups))
    error = float(gap.std(ddof=1) / np.sqrt(len(gap)))
    means = (float(one.mean()) for one in (recommended, equally, unlabelled, alone))
    return Row(name, calls, int(groups.sum()), *means, best, float(gap.mean()), error, apart)


def _parts(sources: Counts, groups: Flags, seed: int) -> tuple[Flags, Flags]:
    """Return the groups of a random half of the prompts, and the others."""
    names, place = np.unique(sources, return_inverse=True)
    first = np.asarray((np.random.default_rng(seed).permutation(len(names)) < len(names) / 2)[place])
    return groups & first, groups & ~first


def _level(way: Way, groups: Flags) -> float:
    return measures.mean_over_groups(way.fidelity[groups]) or 0.0


def hindsight(most: int, halves: int) -> str:
    """Say what the best of all ways of up to ``most`` calls is worth on rb2_k8, in all groups and in random halves."""
    members, gold = shared(*load("rb2_k8"))
    asked, counts = range(len(members)), range(1, most + 1)
    scores = {
        (place, count): np.nan_to_num([standard_scores(window_mean(one, depth(one), n, count)) for n in range(8)])
        for (place, one), count in itertools.product(enumerate(members), counts)
    }
    levels = [
        correlations(np.tensordot(tenths, calls, axes=1), gold).mean(axis=0)
        for mix in (mix for count in counts for mix in itertools.combinations_with_replacement(asked, count))
        for calls in [np.array([scores[place, mix.count(place)] for place in sorted(set(mix))])]
        for tenths in itertools.product(range(1, 11), repeat=len(calls))
        if sum(tenths) == 10
    ]
    table, held_out, best = np.array(levels), [], []
    for seed in range(halves):
        first = np.random.default_rng(seed).permutation(len(gold)) < len(gold) / 2
        by_half = [table[:, part].mean(axis=1) for part in (first, ~first)]
        held_out += [here[there.argmax()] for here, there in (by_half, by_half[::-1])]
        best += [one.max() for one in by_half]
    return (
        f"rb2_k8, up to {most} calls, {len(table):,} ways, {len(gold)} groups: best in hindsight "
        f"{table.mean(axis=1).max():.3f}; chosen on one half, measured on the other {np.mean(held_out):.3f}; best in "
        f"hindsight in the luckiest of {2 * halves} halves {max(best):.3f}"
    )


def main() -> None:
    """Print the table, then the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--halves", type=int, default=25, help="random divisions; each is used both ways")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set; may be repeated")
    parser.add_argument("--hindsight", action="store_true", help="all ways on rb2_k8, in hindsight")
    given = parser.parse_args()
    if not recorded_data().is_dir():
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
        return
    if given.hindsight:
        print("\n".join(hindsight(most, given.halves) for most in (2, 4)))
        return
    heads = ("recommended", "equal", "unlabelled", "one judge", "best")
    print(f"{'set':26}{'calls':>6}{'groups':>7}" + "".join(f"{head:>12}" for head in heads) + "  below the better")
    found: list[Row] = []
    for row in (row for name in given.set or SETS for row in rows(name, given.halves)):
        found.append(row)
        levels = "".join(f"{x:12.3f}" for x in (row.chosen, row.equal, row.unlabelled, row.single, row.best))
        gap = f"{row.below:+.3f} ± {row.error:.3f}{'' if row.is_met else ' MISS'}"
        print(f"{row.name:26}{row.calls or '-':>6}{row.groups:7}{levels}  {gap}", flush=True)
    met = sum(row.is_met for row in found)
    print(f"\n{met} of {len(found)} at most {LOSS} and a standard error below the better of equal weights and a judge")
    inside = [abs(gap) <= 1.96 for row in found for gap in row.apart]
    print(f"calibrate's own figure, within 1.96 standard errors of the other half's: {sum(inside)} of {len(inside)}")
    started = time.process_time()
    folder = recorded_data() / "rb2_k8"
    calibrate(folder / "groups.jsonl.gz", folder / "judgments.jsonl.gz")
    seconds = time.process_time() - started
    print(f"{'met ' if seconds < 30 else 'MISS'} 56,848 judgments calibrate in under 30 s: {seconds:.1f} s of CPU")


if __name__ == "__main__":
    main()
