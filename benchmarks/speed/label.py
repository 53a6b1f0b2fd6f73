"""The label page: how long it takes from the command until the first group is on the screen, and how much memory.

    python -m benchmarks.speed.label [--groups 5000] [--runs 5]

Groups of 8 answers of 500 characters. The browser is open before the clock starts; the clock stops when the page has
drawn a group. Processor time of the command and of the page's main thread is printed beside wall-clock time, because a
busy machine stretches the latter. The peak memory of the command is noted for a tenth of the groups, too. With
``--results``, the time until groups are ordered by what a judge said is in it. Needs chromium and chromium-driver, and
``pip install --group browser``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.speed.report import browser, until, worked, write_groups
from benchmarks.speed.spine import verdict

_SHOWN = "document.documentElement.dataset.ready === 'true' && document.querySelector('.candidate')"
_START = "import calipers.cli; calipers.cli.main()"


def opened(driver: Any, *arguments: str) -> tuple[float, float, float, float]:
    """Start the command and open its page; return wall seconds, CPU seconds of both, and the command's peak MB."""
    driver.get("about:blank")
    before = worked(driver)
    command = [sys.executable, "-c", _START, "label", *arguments, "--annotator", "benchmark"]
    began = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        assert process.stderr is not None  # noqa: S101 - a pipe was asked for
        address = next(line for line in process.stderr if line.startswith("http://")).strip()
        driver.get(address)
        until(driver, _SHOWN)
        wall = time.perf_counter() - began
        cpu, memory = _used(process.pid)
        page = worked(driver) - before
        process.kill()
    return wall, cpu, page, memory


def _used(process: int) -> tuple[float, float]:
    """Return the CPU seconds and the peak MB of a process."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK"), int(peak[1]) / 1024 if peak else 0.0


def measured(driver: Any, what: str, runs: int, *arguments: str) -> tuple[float, float, float]:
    """Print the medians over ``runs``; return those of wall-clock time, CPU time of both, and memory."""
    found = [opened(driver, *arguments) for _ in range(runs)]
    wall, cpu, page, memory = (statistics.median(column) for column in zip(*found, strict=True))
    print(
        f"{what}: {wall:.2f} s ({min(one[0] for one in found):.2f} to {max(one[0] for one in found):.2f}); CPU "
        f"{cpu:.2f} s of the command and {page:.2f} s of the page; peak {memory:.0f} MB"
    )
    return wall, cpu + page, memory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("not measured: apt-get install -y chromium chromium-driver")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results, groups = write_groups(folder, options.groups)
        _, few = write_groups(folder, max(1, options.groups // 10))
        print(f"{options.groups:,} groups, {groups.stat().st_size / 1e6:.0f} MB")
        with browser(folder) as driver:
            opened(driver, str(few))  # the browser's own first start is not the page's
            _, _, small = measured(driver, "a tenth of the groups", options.runs, str(few))
            wall, cpu, memory = measured(driver, "all groups", options.runs, str(groups))
            judged = ("--results", str(results))
            measured(driver, "all groups, ordered by results", options.runs, str(groups), *judged)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(verdict("CPU seconds until the first group is on the screen", cpu, 1, at_least=False))
    print(verdict("seconds until the first group is on the screen", wall, 1, at_least=False))
    print(verdict("MB more for ten times the groups", memory - small, 16, at_least=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
