"""What ``calipers score`` takes on a large file: groups a second, CPU, memory, and the size of the ledger.

    python -m benchmarks.speed.command [--groups 100000]

The whole command, from its start to its end, against a loopback judge that answers after 20 ms: on a tenth of the
groups of four trajectories of 2 kB, on all of them, and on recorded agent groups (``CALIPERS_DATA``: tau2-bench's
airline runs), for which the ledger is compared with the groups file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.environment import recorded_data
from benchmarks.judge_server import running_judge
from benchmarks.sample_groups import sample_groups
from benchmarks.speed.real_text import groups_of_text, is_recorded
from benchmarks.speed.spine import verdict

_MEASURE = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
    "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
    "print(used.ru_maxrss / 1024, used.ru_utime + used.ru_stime)"
)
"""A program that runs a command and prints its largest resident size in MB (Linux) and its seconds of CPU."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Groups a second, CPU in ms a group, the largest resident size in MB, and the ledger's size over the file's."""

    rate: float
    cpu: float
    memory: float
    ledger: float


def score(groups: Iterable[dict[str, Any]], count: int, url: str) -> Scored:
    """Write a groups file and run the command on it."""
    with tempfile.TemporaryDirectory() as name:
        file, out, ledger = (Path(name) / one for one in ("groups.jsonl", "out.jsonl", "ledger.db"))
        with file.open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(group, ensure_ascii=False) + "\n" for group in groups)
        command = [sys.executable, "-m", "calipers", "score", str(file), "-o", str(out), "--ledger", str(ledger)]
        started = time.perf_counter()
        run = subprocess.run(  # noqa: S603 - ours
            [sys.executable, "-c", _MEASURE, *command, "--judge", "vllm/judge", "--base-url", url],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        seconds = time.perf_counter() - started
        size = sum(path.stat().st_size for path in Path(name).glob("ledger.db*")) / file.stat().st_size
    memory, cpu = map(float, run.stdout.split())
    return Scored(count / seconds, 1e3 * cpu / count, memory, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=100_000)
    options = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with running_judge(delay=0.02) as url:
        few, many = (score(sample_groups(count), count, url) for count in (options.groups // 10, options.groups))
        for count, one in ((options.groups // 10, few), (options.groups, many)):
            print(
                f"{count:>7} groups of 2 kB: {one.rate:.0f} groups/s, {one.cpu:.2f} ms of CPU each, "
                f"{one.memory:.0f} MB, ledger {one.ledger:.2f}"
            )
        print(verdict("groups/s of calipers score", many.rate, 1800, at_least=True))
        print(verdict("MB of ten times the groups over MB of a tenth", many.memory / few.memory, 1.2, at_least=False))
        if is_recorded("tau2_airline"):
            recorded = score(groups_of_text("tau2_airline", 108), 108, url)
            print(verdict("ledger over groups file, recorded agents", recorded.ledger, 0.6, at_least=False))
        else:
            print(f"tau2_airline: not found in {recorded_data()}; the ledger of agent groups is left out")
    print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
