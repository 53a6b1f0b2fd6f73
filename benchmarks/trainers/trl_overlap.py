"""What a TRL step pays for a judge's rewards: wall time beside the judge's own, and CPU of the adapter a group.

    python -m benchmarks.trainers.trl_overlap [--groups 64] [--delay 2]

The judge is ``judge_server.py``, which answers each question after ``delay`` seconds. The reward function is awaited as
TRL awaits it: on an event loop in a thread of its own, all groups of a step in one call; and inside TRL's GRPOTrainer
(a policy of random weights), where TRL is installed. A step is set beside the slowest call of its own judge.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.judge_server import running_judge
from benchmarks.sample_groups import sample_groups
from calipers import Judge
from calipers.trainers.rewards import rewards_or_none
from calipers.trainers.trl import reward as trl_reward
from calipers.trainers.trl import reward_func
from calipers.trainers.trl import rows as trl_rows
from calipers.types import Completion, GroupResult, JudgeRequest, Reading, TrajectoryResult

SIZE = 4
"""Completions a group, as many as ``sample_groups`` makes."""

ROUNDS = 5


def batch(groups: int, *, seed: int) -> dict[str, list[Any]]:
    """What TRL passes for so many groups."""
    rows = [
        (group["context"], one["messages"])
        for group in sample_groups(groups, seed=seed)
        for one in group["trajectories"]
    ]
    prompts, completions = zip(*rows, strict=True)
    return {"prompts": list(prompts), "completions": list(completions), "completion_ids": [[0]] * len(rows)}


def on_a_loop_of_its_own(reward: Callable[..., Any]) -> Callable[..., Any]:
    """``reward`` as TRL calls an asynchronous one."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return lambda **given: asyncio.run_coroutine_threadsafe(reward(**given), loop).result()


class Slowest:
    """The latency, in seconds, of the slowest answer since it was last asked for."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def observe(self, _: JudgeRequest, completion: Completion, __: Reading) -> None:
        self._seconds = max(self._seconds, completion.latency)

    def take(self) -> float:
        taken, self._seconds = self._seconds, 0.0
        return taken


@dataclass(frozen=True)
class Step:
    """Seconds: of the step, of its slowest judge call, and of CPU in all threads."""

    wall: float
    slowest: float
    cpu: float


def steps(call: Callable[..., Any], slowest: Slowest, groups: int) -> list[Step]:
    """Some steps, after one that opens the connections."""
    found = []
    for seed in range(ROUNDS + 1):
        given = batch(groups, seed=seed)
        slowest.take()
        started, used = time.perf_counter(), time.process_time()
        rewards = call(**given)
        found.append(Step(time.perf_counter() - started, slowest.take(), time.process_time() - used))
        if None in rewards:
            sys.exit("some groups were not scored")
    return found[1:]


def adapter_cpu(groups: int) -> float:
    """CPU seconds a group of all that the adapter itself does, which is everything but judging."""
    given = batch(groups, seed=1)
    scored = tuple(TrajectoryResult(str(n), "scored", n / 10, n / 10, 0.1, "so it seems") for n in range(SIZE))
    results = [GroupResult(str(number), "scored", scored) for number in range(groups)]
    started = time.process_time()
    for _ in range(20):
        rows = trl_rows.completion_rows(given["prompts"], given["completions"], {})
        trl_rows.grouped_rows(rows, SIZE)
        rewards = [reward for result in results for reward in rewards_or_none(result)]
        judged = [(row, result) for result in results for row in result.trajectories]
        entries = [(reward, row, result) for reward, (row, result) in zip(rewards, judged, strict=True)]
        trl_reward.judge_metrics(entries, alone=True)
    return (time.process_time() - started) / 20 / groups


def trainer_steps(reward: Callable[..., Any], slowest: Slowest, groups: int) -> list[Step]:
    """What TRL's trainer waits for in each step, after the first."""
    from trl_runs import train  # noqa: PLC0415 - needs TRL

    found: list[Step] = []

    async def timed(**given: Any) -> list[float | None]:
        slowest.take()
        started, used = time.perf_counter(), time.process_time()
        rewards: list[float | None] = await reward(**given)
        found.append(Step(time.perf_counter() - started, slowest.take(), time.process_time() - used))
        return rewards

    prompts = [f"w{number % 80} w{number // 80}" for number in range(groups)]
    size = {"per_device_train_batch_size": groups * SIZE}
    with tempfile.TemporaryDirectory() as folder:
        train([timed], Path(folder), steps=ROUNDS, columns={"prompt": prompts}, **size)
    return found[1:]


def told(what: str, value: float, limit: float) -> str:
    return f"{'met ' if value <= limit else 'MISS'}  {what}: {value:.3f} (at most {limit:g})"


def report(name: str, found: list[Step]) -> None:
    walls = ", ".join(f"{step.wall:.3f}" for step in found)
    print(f"{name}: {walls} s a step, CPU {median(step.cpu for step in found) * 1000:.0f} ms")
    print(told(f"{name}, step / its slowest call, median", median(step.wall / step.slowest for step in found), 1.05))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=64)
    parser.add_argument("--delay", type=float, default=2.0, help="seconds before the judge answers")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {options.groups} groups of {SIZE} a step")
    print(f"one group after the other, a step would take {options.groups * options.delay:.0f} s")
    slowest = Slowest()
    with running_judge(delay=options.delay) as url:
        judge = Judge("vllm/judge", base_url=url, records={"watchers": [slowest.observe]})
        awaited = reward_func(judge, num_generations=SIZE)
        blocking = reward_func(judge, num_generations=SIZE, blocking=True)
        report("awaited", steps(on_a_loop_of_its_own(awaited), slowest, options.groups))
        report("blocking", steps(blocking, slowest, options.groups))
        if find_spec("trl") is None:
            print("TRL is not installed, so its trainer was not run")
        else:
            report("GRPOTrainer", trainer_steps(awaited, slowest, options.groups))
    print(told("adapter, CPU ms a group", adapter_cpu(options.groups) * 1000, 1.0))


if __name__ == "__main__":
    main()
