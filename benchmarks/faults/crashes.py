"""``calipers score`` killed at random moments: does a rerun complete it, equal, and at what price.

    python -m benchmarks.faults.crashes [--kills 50] [--groups 200] [--in-flight 16] [--seed 0]

Each round starts ``calipers score`` on a loopback judge, kills it (SIGKILL) at a random moment, three times in four
while answers come in, checks the ledger, and runs it again to the end. The result file must equal an uninterrupted
run's byte for byte. Calls paid twice must be no more than may be in flight: an answer holds its place until it is
written down. The short question by which a run gets to know a new server is beside that, and may be asked again as
well. The exit code is 1 where any of that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.judge_server import running_judge, stats
from benchmarks.sample_groups import sample_groups


@dataclass(frozen=True)
class Setting:
    """How one run is made: in which folder, by whom it is judged, and with how many calls in flight."""

    folder: Path
    url: str
    in_flight: int

    def start(self, out: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable, "-m", "calipers", "score", "groups.jsonl", "-o", out, "--judge", "vllm/judge", "--base-url",
            self.url,
            "--concurrency", str(self.in_flight),
        ]  # fmt: skip
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=self.folder, stderr=quiet, stdout=quiet)  # noqa: S603 - ours

    def finish(self, out: str) -> float:
        """Run to the end; seconds. Exits where it does not end well."""
        started = time.monotonic()
        code = self.start(out).wait(300)
        if code != 0:
            sys.exit(f"an uninterrupted run ended with exit code {code}")
        return time.monotonic() - started

    def calls(self) -> int:
        return int(stats(self.url)["answered"])


def sound(ledger: Path) -> bool:
    """Whether SQLite finds the ledger whole; one that was never begun is."""
    if not ledger.exists():
        return True
    connection = sqlite3.connect(ledger)
    try:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()


def killed(setting: Setting, out: str, after: float, *, answered: int | None) -> bool:
    """Start, wait until more than ``answered`` calls were answered and ``after`` seconds more, kill; whether it still
    ran.
    """
    process = setting.start(out)
    while answered is not None and process.poll() is None and setting.calls() <= answered:
        time.sleep(0.01)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--in-flight", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    drawn = random.Random(options.seed)
    wrong, unsound, most_twice, done, midway = [], [], 0, 0, 0
    with tempfile.TemporaryDirectory() as name, running_judge(delay=0.05) as url:
        setting = Setting(Path(name), url, options.in_flight)
        lines = [json.dumps(group) for group in sample_groups(options.groups)]
        (setting.folder / "groups.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        took = setting.finish("whole.jsonl")
        needed = setting.calls()
        answering = needed / options.in_flight * 0.05
        whole = (setting.folder / "whole.jsonl").read_bytes()
        while done < options.kills:
            out = f"out{done}.jsonl"
            before = setting.calls()
            working = done % 4 > 0
            after = drawn.uniform(0.0, answering if working else took)
            if not killed(setting, out, after, answered=before if working else None):
                for file in setting.folder.glob(f"{out}*"):
                    file.unlink()
                continue  # it was done sooner than the first one; that proves nothing
            midway += setting.calls() > before
            if not sound(setting.folder / f"{out}.ledger.db"):
                unsound.append(done)
            setting.finish(out)
            most_twice = max(most_twice, setting.calls() - before - needed)
            if (setting.folder / out).read_bytes() != whole:
                wrong.append(done)
            done += 1
            for file in setting.folder.glob(f"{out}*"):
                file.unlink()
    print(
        f"{done} kills, {midway} of them after the first answer; an uninterrupted run takes {took:.1f} s and {needed} "
        "calls"
    )
    met = {
        f"every rerun completes, byte for byte ({len(wrong)} did not)": not wrong,
        f"every ledger passes its integrity check ({len(unsound)} did not)": not unsound,
        f"at most the calls in flight are paid again ({most_twice} of {options.in_flight})": most_twice
        <= options.in_flight,
    }
    for what, is_met in met.items():
        print(f"{'met ' if is_met else 'MISS'}  {what}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
