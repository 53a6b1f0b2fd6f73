"""Groups a second when the ledger already holds every answer.

    python -m benchmarks.speed.warm [--groups 5000]

Twice over groups of four trajectories of 2 kB: through ``Judge.score_groups``, and the whole ``calipers score``
command on a groups file (reading, progress and the result file included). The answers are recorded by a first run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import calipers
from benchmarks.judge_server import running_judge
from benchmarks.sample_groups import sample_groups
from benchmarks.speed.memory import InProcess
from benchmarks.speed.spine import verdict
from calipers.inputs import as_group
from calipers.types import TrajectoryGroup


async def through_judge(made: list[TrajectoryGroup], folder: Path, repeats: int) -> list[float]:
    """Groups a second of each warm run over ``made``."""
    rates = []
    for repeat in range(repeats + 1):
        async with calipers.Judge(InProcess(), ledger=folder / "judge.db") as judge:
            started = time.perf_counter()
            scored = sum([result.status == "scored" async for result in judge.score_groups(made)])
            if repeat:
                rates.append(scored / (time.perf_counter() - started))
    return rates


def through_command(count: int, folder: Path, repeats: int) -> list[float]:
    """Groups a second of each warm ``calipers score``, from its start to its end."""
    groups, out = folder / "groups.jsonl", folder / "out.jsonl"
    with groups.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(group) + "\n" for group in sample_groups(count))
    rates = []
    with running_judge(delay=0.0) as url:
        command = ["score", str(groups), "-o", str(out), "--judge", "vllm/judge", "--base-url", url]
        for repeat in range(repeats + 1):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-m", "calipers", *command], check=True, capture_output=True)  # noqa: S603 - ours
            if repeat:
                rates.append(count / (time.perf_counter() - started))
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = [as_group(group) for group in sample_groups(options.groups)]
        judge = asyncio.run(through_judge(made, folder, options.repeats))
        command = through_command(options.groups, folder, options.repeats)
    print(f"load {os.getloadavg()[0]:.1f}; {options.repeats} repeats of {options.groups} groups, medians (range)")
    for way, rates in (("Judge.score_groups", judge), ("calipers score", command)):
        print(f"{way:<20}{median(rates):>7.0f} groups/s ({min(rates):.0f}-{max(rates):.0f})")
    print(verdict("groups/s of a warm ledger", median(judge), 2000, at_least=True))


if __name__ == "__main__":
    main()
