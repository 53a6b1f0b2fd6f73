"""Whether memory stays flat while groups stream through.

    python -m benchmarks.speed.memory [--groups 100000]

A judge in this process (no network), ledger on, groups made as they are asked for, results thrown away as they come.
The resident size is noted from the first tenth on, by when buffers and caches are full.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from pathlib import Path

import calipers
from benchmarks.judge_server import verdict_for
from benchmarks.sample_groups import sample_groups
from benchmarks.speed.spine import verdict
from calipers.types import Completion, JudgeRequest

NOTES = 10


class InProcess:
    """Answers in the form asked for, after one turn of the event loop."""

    endpoint = "in-process"
    model = "judge"

    async def complete(self, request: JudgeRequest) -> Completion:
        await asyncio.sleep(0)
        return Completion(json.dumps(verdict_for(request.keys)))


def resident() -> float:
    """MB of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def stream(count: int, folder: str) -> list[float]:
    """Score ``count`` groups; the resident size at each tenth."""
    sizes: list[float] = []
    done = 0
    started = time.perf_counter()
    async with calipers.Judge(InProcess(), ledger=Path(folder) / "ledger.db") as judge:
        async for result in judge.score_groups(sample_groups(count)):
            done += result.status == "scored"
            if done % (count // NOTES) == 0:
                sizes.append(resident())
                rate = done / (time.perf_counter() - started)
                print(f"{done:>9} groups {sizes[-1]:>8.1f} MB {rate:>7.0f} groups/s", flush=True)
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = asyncio.run(stream(options.groups, folder))
        ledger = sum(path.stat().st_size for path in Path(folder).iterdir())
    print(f"the ledger takes {ledger / 1024 / options.groups:.1f} kB a group")
    growth = max(sizes) - min(sizes)
    print(verdict("MB between the smallest and the largest resident size", growth, 30, at_least=False))


if __name__ == "__main__":
    main()
