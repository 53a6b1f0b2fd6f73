"""How far a distilled local judge agrees with its teacher on prompts that it never saw, on recorded judges.

    python -m benchmarks.fidelity.distil [--halves 10] [--set pandalm]...

Each set with texts and judge scores is divided into random halves of its prompts. A judge is distilled from one half
and asked about the other, both ways round; a group's figure is the mean over the halves in which it was not trained on.
Beside it stand the longest answer, and the answer that shares the most words with the task. Differences have paired
95 % bootstrap intervals over groups. Then: the same judge trained against tricks; the CPU of training and of judging;
the size. Sources of the data: ``benchmarks.fidelity.data``.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import calipers
from benchmarks.environment import recorded_data
from benchmarks.fidelity.data import Target, figure
from calipers.backends.local.features import LENGTH, OVERLAP
from calipers.calibration import measures
from calipers.calibration.arrays import Array
from calipers.distilling import Distilled, distill
from calipers.distilling.groups import TrainingGroup, padded
from calipers.distilling.sources import read_training
from calipers.distilling.training import fit_model

SETS = ("llmbar", "pandalm", "openqa301")
TEACHERS = {"llmbar": ("GPT-4",), "pandalm": ("gpt-3.5-turbo", "pandalm-7b"), "openqa301": ("gpt-4",)}
"""Judges that teach alone, besides all of a set together."""


@dataclass(frozen=True, slots=True)
class Row:
    """One teacher of one set: the fidelity of the local judge and of the baselines to it, for each group."""

    name: str
    teacher: str
    own: Array
    longest: Array
    overlap: Array
    gold: Array
    teacher_gold: Array

    @property
    def best_baseline(self) -> Array:
        """The baseline that agrees more with the teacher."""
        return max((self.longest, self.overlap), key=lambda one: measures.mean_over_groups(one) or 0.0)


def files_of(name: str) -> tuple[Path, Path]:
    folder = recorded_data() / name
    return folder / "groups.jsonl.gz", folder / "judgments.jsonl.gz"


def row_of(name: str, teachers: Sequence[str], halves: int) -> Row:
    """Return the figures of one teacher, averaged over the halves in which a group was held out."""
    groups = read_training([str(one) for one in files_of(name)], teachers=teachers).groups
    teacher, gold = padded([one.teacher for one in groups]), padded([one.gold for one in groups])
    sources = np.unique([one.source for one in groups], return_inverse=True)[1]
    total, by_gold, count = (np.zeros(len(groups)) for _ in range(3))
    for seed in range(halves):
        first = np.random.default_rng(seed).permutation(sources.max() + 1)[sources] % 2 == 0
        for train in (first, ~first):
            model = fit_model([groups[place] for place in np.flatnonzero(train)], "teacher")
            out = np.flatnonzero(~train)
            raw = padded([model.raw(groups[place].measured.relative) for place in out])
            width = raw.shape[1]
            total[out] += measures.fidelity(raw, teacher[out, :width])
            by_gold[out] += measures.fidelity(raw, gold[out, :width])
            count[out] += 1
    longest, overlap = (baseline(groups, place, teacher) for place in (LENGTH, OVERLAP))
    said = ", ".join(teachers) or "all judges"
    return Row(name, said, total / count, longest, overlap, by_gold / count, measures.fidelity(teacher, gold))


def baseline(groups: Sequence[TrainingGroup], column: int, teacher: Array) -> Array:
    return measures.fidelity(padded([one.measured.values[:, column] for one in groups]), teacher)


def report_agreement(names: Sequence[str], halves: int) -> list[Target]:
    """Print the agreement with each teacher; a set's target is for all of its judges together."""
    heads = f"{'set':11}{'teacher':16}{'groups':>7}{'local':>8}{'longest':>9}{'overlap':>9}"
    print(f"{heads}  {'local - better baseline':28}local/gold teacher/gold")
    targets = []
    for name in names:
        for teachers in ((), *((one,) for one in TEACHERS[name])):
            row = row_of(name, teachers, halves)
            gain = row.own - row.best_baseline
            means = [measures.mean_over_groups(one) or 0.0 for one in (row.own, row.longest, row.overlap)]
            golds = [measures.mean_over_groups(one) or 0.0 for one in (row.gold, row.teacher_gold)]
            interval = measures.bootstrap_interval(gain)
            shown = f"{measures.mean_over_groups(gain) or 0.0:+.3f} {figure(interval)}"
            print(f"{name:11}{row.teacher:16}{int((~np.isnan(row.own)).sum()):7}{means[0]:8.3f}{means[1]:9.3f}"
                  f"{means[2]:9.3f}  {shown:28}{golds[0]:10.3f}{golds[1]:12.3f}", flush=True)  # fmt: skip
            if not teachers:
                text = f"{name}: agreement with the teacher above length and overlap"
                targets.append(Target(text, interval is not None and interval[0] > 0, shown))
    return targets


def report_costs(names: Sequence[str]) -> list[Target]:
    """Distil each set for real, plain and trained against tricks, and print what it takes and what tricks bring."""
    targets = []
    heads = f"{'set':11}{'':16}{'train s':>8}{'MB':>7}{'judge/s':>9}{'all/s':>8}"
    print(f"\n{heads}  share of worst candidates that are first, before and after a trick")
    for name in names:
        for hard in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                started = time.process_time()
                made = distill(*files_of(name), out=Path(folder) / "judge", learn_from="teacher", train_attacks=hard)
                seconds, rate = time.process_time() - started, whole_rate(made, name)
            found = made.figures
            before, after = (np.mean([one[key] for one in found["tricks"]]) for key in ("first_before", "first_after"))
            agreed, size = found["agreement"]["teacher"]["value"], found["bytes"] / 1e6
            label = "against tricks" if hard else ""
            costs = f"{name:11}{label:16}{seconds:8.1f}{size:7.2f}{found['per_second']:9,.0f}{rate:8,.0f}"
            print(f"{costs}  {before:.2f} {after:.2f}; agreement {agreed:.3f}", flush=True)
            if not hard:
                targets += _targets_of(name, seconds, size, found["per_second"], rate)
    return targets


def _targets_of(name: str, seconds: float, size: float, alone: float, whole: float) -> list[Target]:
    speed = f"{name}: 2,000 trajectories/s on two cores"
    return [
        Target(f"{name}: trained in under 5 minutes", seconds < 300, f"{seconds:.1f} s of CPU"),
        Target(f"{name}: under 20 MB", size < 20, f"{size:.2f} MB"),
        Target(f"{speed}, the judge", 2 * alone >= 2000, f"{2 * alone:,.0f}, twice those of a core's CPU"),
        Target(f"{speed}, with all that score_groups does", 2 * whole >= 2000, f"{2 * whole:,.0f}, likewise"),
    ]


def whole_rate(made: Distilled, name: str) -> float:
    """Return the trajectories a second of CPU of ``score_groups``: reading, rendering, judging, assembling."""
    groups = list(calipers.read_groups(files_of(name)[0]))

    async def run() -> int:
        judge = calipers.Judge(made.judge)
        return sum([len(result.trajectories) async for result in judge.score_groups(groups)])

    asyncio.run(run())
    started = time.process_time()
    return asyncio.run(run()) / (time.process_time() - started)


def main() -> None:
    """Print the tables, then the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--halves", type=int, default=10, help="random halves; each is used both ways")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set; may be repeated")
    given = parser.parse_args()
    if not recorded_data().is_dir():
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
        return
    targets = [*report_agreement(given.set or SETS, given.halves), *report_costs(given.set or SETS)]
    print()
    for one in targets:
        print(f"{'met ' if one.reached else 'MISS'}  {one.text}: {one.measured}")


if __name__ == "__main__":
    main()
