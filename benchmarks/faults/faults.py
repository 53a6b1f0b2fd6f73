"""Every fault of the wire and of the reply, mixed, at 30 % of all calls: what becomes of the groups.

    python -m benchmarks.faults.faults [--groups 2000] [--in-flight 64] [--rate 0.3] [--seed 0]

A judge that answers the same question the same way is asked through ``benchmarks.faults.fault_server``. Each reward
must be the one of a run without faults, or null; every group must be accounted for; nothing may hang, leak or grow. The
exit code is 1 where any of that fails. A row counts a fault's injections, and what became of the groups that met it
(last).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import calipers
from benchmarks.environment import serving
from benchmarks.faults.fault_server import EVERY
from calipers.types import GroupResult, Trajectory, TrajectoryGroup

TIMEOUT = 2.0
PATIENCE = 120.0
"""Seconds a group may take in all; nothing may take longer."""


def make_groups(count: int) -> Iterator[TrajectoryGroup]:
    """Groups of three to six attempts that differ; ids come back in another order than candidates are shown."""
    for number in range(count):
        members = tuple(
            Trajectory(f"m{member}",
                       ({"role": "assistant", "content": f"Attempt {member} at task {number}: {number * member % 97}."},
                        ))
            for member in range(3 + number % 4)
        )  # fmt: skip
        yield TrajectoryGroup(f"g{number}", members, context=({"role": "user", "content": f"Task {number}: do it."},))


def running_server(*, rate: float, seed: int) -> AbstractContextManager[str]:
    """The base URL of a failing judge in a process of its own."""
    return serving("faults.fault_server", "--rate", str(rate), "--seed", str(seed))


def told(url: str, path: str, said: object = None) -> dict[str, Any]:
    """What the server answers to a request of ours, once it listens."""
    data = None if said is None else json.dumps(said).encode()
    for _ in range(50):
        try:
            address = url.removesuffix("/v1") + path
            with urllib.request.urlopen(address, data, timeout=10) as reply:  # noqa: S310 - loopback
                answer: dict[str, Any] = json.load(reply)
                return answer
        except OSError:
            time.sleep(0.1)  # one of its faults is not to listen
    raise SystemExit("the fault server is gone")


@dataclass
class Run:
    """What a run came to. ``megabytes`` are resident at each quarter of it."""

    results: list[GroupResult] = field(default_factory=list)
    log: list[tuple[int, str | None]] = field(default_factory=list)
    seconds: float = 0.0
    megabytes: list[float] = field(default_factory=list)
    left_tasks: int = 0


def resident() -> float:
    with Path("/proc/self/statm").open() as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


async def run(url: str, groups: int, in_flight: int) -> Run:
    """Judge all groups once."""
    judge = calipers.Judge(
        "vllm/judge", base_url=url, concurrency=in_flight, calls={"timeout": TIMEOUT}, deadline=PATIENCE
    )
    done, started = Run(), time.monotonic()
    async for result in judge.score_groups(make_groups(groups)):
        done.results.append(result)
        if len(done.results) % max(1, groups // 4) == 0:
            done.megabytes.append(resident())
    done.seconds = time.monotonic() - started
    done.left_tasks = len(asyncio.all_tasks()) - 1
    return done


def open_files() -> int:
    """Descriptors of this process, without libraries: libffi keeps its own file open, once it is loaded."""
    files = [file for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    return sum(".so" not in file.readlink().suffixes for file in files)


def judged(rate: float, options: argparse.Namespace) -> Run:
    with running_server(rate=rate, seed=options.seed) as url:
        done = asyncio.run(run(url, options.groups, options.in_flight))
        done.log = [(task, fault) for task, fault in told(url, "/log")["log"]]
    return done


@dataclass
class Row:
    """What became of one fault: ``injected`` calls; the groups that met it last, by how they ended."""

    injected: int = 0
    recovered: int = 0
    abstained: int = 0
    failed: int = 0
    wrong: int = 0


def matrix(faulty: Run, sound: Run) -> dict[str, Row]:
    """A row a fault. A group counts under the last fault it met; one that met none under ""."""
    right = {result.group_id: result.rewards for result in sound.results}
    rows = {fault: Row() for fault in (*EVERY, "")}
    last: dict[str, str] = {}
    for task, fault in faulty.log:
        if fault is not None:
            rows[fault].injected += 1
            last[f"g{task}"] = fault
    for result in faulty.results:
        row = rows[last.get(result.group_id, "")]
        pairs = list(zip(result.rewards, right[result.group_id], strict=True))
        if any(reward is not None and reward != want for reward, want in pairs):
            row.wrong += 1
        elif result.status == "scored":
            row.recovered += 1
        elif result.status == "failed":
            row.failed += 1
        else:
            row.abstained += 1
    return rows


def show(rows: dict[str, Row]) -> None:
    print(f"{'fault':30}{'injected':>9}{'recovered':>11}{'abstained':>11}{'failed':>8}{'wrong':>7}")
    for name, row in rows.items():
        print(
            f"{name or '(none met)':30}{row.injected:9}{row.recovered:11}{row.abstained:11}{row.failed:8}{row.wrong:7}"
        )
    total = [sum(getattr(row, column) for row in rows.values()) for column in Row.__annotations__]
    print(f"{'all':30}{total[0]:9}{total[1]:11}{total[2]:11}{total[3]:8}{total[4]:7}")


async def revoke(url: str) -> dict[str, float]:
    """A key revoked in the middle of a run: calls it costs, and whether the run goes on once it is mended."""
    judge = calipers.Judge("vllm/judge", base_url=url, concurrency=8, calls={"timeout": TIMEOUT})
    groups = list(make_groups(900))

    async def part(low: int, high: int) -> Counter[str]:
        return Counter([result.status async for result in judge.score_groups(groups[low:high])])

    before = await part(0, 100)
    await asyncio.to_thread(told, url, "/control", {"revoked": True})
    asked = len((await asyncio.to_thread(told, url, "/log"))["log"])
    started = time.monotonic()
    during = await part(100, 600)
    seconds = time.monotonic() - started
    cost = len((await asyncio.to_thread(told, url, "/log"))["log"]) - asked
    await asyncio.to_thread(told, url, "/control", {"revoked": False})
    after, tries = Counter[str](), 0
    while not after["scored"] and tries < 100:  # a call is let through every few seconds
        tries += 1
        after = await part(600, 610)
        await asyncio.sleep(0.2)
    rest = await part(610, 700)
    return {
        "scored before": before["scored"], "failed while revoked": during["failed"], "calls while revoked": cost,
        "seconds while revoked": round(seconds, 2), "scored after mending": rest["scored"],
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip-revoked", action="store_true", help="leave out the key that is revoked and mended")
    options = parser.parse_args()
    files = open_files()
    sound = judged(0.0, options)
    faulty = judged(options.rate, options)
    rows = matrix(faulty, sound)
    show(rows)
    lost = options.groups - len({result.group_id for result in faulty.results})
    leaked = open_files() - files
    quarters = faulty.megabytes[:4]
    print(
        f"\nlost {lost}; calls {len(faulty.log)}; {faulty.seconds:.1f} s; tasks left {faulty.left_tasks}; files left "
        f"{leaked}"
    )
    print(f"resident MB at each quarter: {', '.join(f'{one:.0f}' for one in quarters)}")
    wrong = sum(row.wrong for row in rows.values())
    met = {
        "wrong = 0": wrong == 0,
        "lost = 0": lost == 0,
        "every fault injected": all(rows[fault].injected for fault in EVERY) or options.groups < 1000,
        "no task, socket or file left": faulty.left_tasks == 0 and leaked <= 0,
        "memory flat (within 100 MB, for replies of 10 and 17 MB come and go)": max(quarters) - quarters[0] < 100,
        f"no group beyond its deadline of {PATIENCE:.0f} s": faulty.seconds
        < PATIENCE * options.groups / options.in_flight,
    }
    if not options.skip_revoked:
        with running_server(rate=0.0, seed=options.seed) as url:
            revoked = asyncio.run(revoke(url))
        print("\na key revoked in mid-run: " + ", ".join(f"{name} {value:g}" for name, value in revoked.items()))
        met["a revoked key fails fast and is taken up again"] = (
            revoked["calls while revoked"] < 100
            and revoked["scored after mending"] == 90
            and revoked["seconds while revoked"] < 60
        )
    for what, is_met in met.items():
        print(f"{'met ' if is_met else 'MISS'}  {what}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
