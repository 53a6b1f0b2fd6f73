"""What asking on while unsettled, and what a ledger teaches, are worth: through ``Judge`` itself, on simulated judges.

    python -m benchmarks.fidelity.learning [--learn 150] [--groups 300]

Groups of four whose qualities spread by 0.02, 0.1 or 0.3; judges with independent noise and a leaning to early places.
Knowledge comes from other groups than those scored. Fidelity is the mean correlation with the truth within groups;
honesty is the mean squared error of scores over their mean squared standard error: 1 is honest, 4 claims half the
error. Coverage is the share of scores within their 95 % interval (Student's t), then within 1.96 standard errors.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.sample_groups import groups_of
from calipers.judging.judge import Judge
from calipers.rewards.reliability import errors_of_interval
from calipers.testing import Noise, PositionBias, SimulatedJudge
from calipers.types import GroupResult, TrajectoryResult

Truth = dict[str, dict[str, float]]
JUDGES = {
    "noise 0.1": (Noise(0.1),),
    "noise 0.05, leaning 0.2": (PositionBias(0.2), Noise(0.05)),
    "noise 0.15, leaning 0.2": (PositionBias(0.2), Noise(0.15)),
}
SETTINGS: Sequence[tuple[str, dict[str, Any]]] = (
    ("one order, knowing nothing", {"experience": False}),
    ("one order", {}),
    ("two orders, knowing nothing", {"orders": 2, "experience": False}),
    ("two orders", {"orders": 2}),
    ("four orders", {"orders": 4}),
    ("eight orders", {"orders": 8}),
    ("resolve, knowing nothing", {"resolve": True, "experience": False}),
    ("resolve", {"resolve": True}),
)


def drawn(count: int, seed: int) -> Truth:
    """The qualities of ``count`` groups."""
    generator = random.Random(seed)
    truth: Truth = {}
    for number in range(count):
        spread, level = generator.choice((0.02, 0.1, 0.3)), generator.uniform(0.3, 0.7)
        truth[f"{seed}-{number}"] = {one: min(max(generator.gauss(level, spread), 0.0), 1.0) for one in "abcd"}
    return truth


async def judged(truth: Truth, vices: Sequence[Any], ledger: Path, **options: Any) -> list[GroupResult]:
    """The groups' results, by a judge with these vices."""
    judge = Judge.of(
        {
            "judge": SimulatedJudge(lambda name, one: truth[name][one], *vices, model="simulated"),
            "ledger": ledger,
            **options,
        }
    )
    results = [result async for result in judge.score_groups(groups_of(truth))]
    judge.close()
    return results


def measured(truth: Truth, results: Sequence[GroupResult]) -> tuple[float, float, float | None, str]:
    """Calls a group, fidelity, honesty (None without standard errors), and coverage as text."""
    fidelity, squares, told = [], [], []
    inside: list[tuple[bool, bool]] = []
    for result in results:
        quality = truth[result.group_id]
        scores = _centred([scored(one) for one in result.trajectories])
        gold = _centred([quality[one.id] for one in result.trajectories])
        size = (sum(one**2 for one in scores) * sum(one**2 for one in gold)) ** 0.5
        fidelity.append(sum(a * b for a, b in zip(scores, gold, strict=True)) / size if size else 0.0)
        squares.append(sum((a - b) ** 2 for a, b in zip(scores, gold, strict=True)) / (len(gold) - 1))
        factors = errors_of_interval(result.reliability.freedom), 1.96
        for a, b, one in zip(scores, gold, result.trajectories, strict=True):
            if one.stderr is not None:
                inside.append((abs(a - b) <= factors[0] * one.stderr, abs(a - b) <= factors[1] * one.stderr))
        told += [one.stderr**2 for one in result.trajectories if one.stderr is not None]
    calls = statistics.fmean(one.judge_calls for one in results)
    honesty = statistics.fmean(squares) / statistics.fmean(told) if told and any(told) else None
    covered = " ".join(f"{statistics.fmean(column):.1%}" for column in zip(*inside, strict=True))
    return calls, statistics.fmean(fidelity), honesty, covered


def scored(one: TrajectoryResult) -> float:
    """Its score; these judges never fail, and a failure would be no number."""
    assert one.score is not None  # noqa: S101 - see above
    return one.score


def _centred(values: Sequence[float]) -> list[float]:
    mean = statistics.fmean(values)
    return [one - mean for one in values]


async def table(learn: int, groups: int) -> None:
    """Print the table."""
    print("| judge | asked | calls | fidelity | honesty | coverage, within 1.96 |\n|---|---|---|---|---|---|")
    before, now = drawn(learn, 1), drawn(groups, 2)
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, vices) in enumerate(JUDGES.items()):
            ledger = Path(folder) / f"{number}.db"
            await judged(before, vices, ledger, orders=2)
            for asked, options in SETTINGS:
                calls, fidelity, honesty, covered = measured(now, await judged(now, vices, ledger, **options))
                told = "" if honesty is None else f"{honesty:.2f}"
                print(f"| {name} | {asked} | {calls:.2f} | {fidelity:.3f} | {told} | {covered} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learn", type=int, default=150, help="groups to learn from")
    parser.add_argument("--groups", type=int, default=300, help="groups that are scored")
    given = parser.parse_args()
    asyncio.run(table(given.learn, given.groups))
