"""``calipers serve`` in chaos: replicas, judge and database killed at random while requests are cut, doubled and late.

    python -m benchmarks.faults.server [--groups 2000] [--replicas 2] [--every 5] [--judge-delay 0.3] [--sqlite]

Every rollout of every group is posted by a worker of its own through a proxy that sends all requests for a group to one
replica (by X-Group-Id). Three connections in ten are cut (in the request, while it waits, in the answer) or delayed;
two workers in ten post twice, and 15 % are killed and started again. About every ``--every`` seconds a replica, the
judge or Postgres is killed, and started again within two seconds. With ``--sqlite`` there is one replica and no
Postgres.

Wrong is a reward that is not what the rollout is worth; hung a worker without an answer after ``--patience`` seconds;
paid again a question that the judge was asked twice, and not because it was in flight at a kill: asked before, and
neither answered nor recorded by then (a second is allowed for recording). The exit code is 1 if there is any of that.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.faults.chaos_parts import Kill, Process, Proxy, asked_again
from calipers.errors import CalipersError
from calipers.server import AsyncClient, RolloutAnswer
from servers.own_process import free_port
from servers.postgres_server import PostgresServer

_IN_FLIGHT = 100
_PROMPT = {"role": "user", "content": "Tell a joke."}


def points(group: int, index: int) -> int:
    return (group * 7 + index * 23) % 100


@dataclass
class Outcome:
    """What the workers saw."""

    rewarded: int = 0
    doubled: int = 0
    restarted: int = 0
    absent: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)

    def add(self, group: int, index: int, answer: RolloutAnswer) -> None:
        if answer.reward is None and answer.reason:
            self.absent[f"{answer.status}: {answer.reason[:90]}"] += 1
        elif answer.reward == points(group, index) / 100:
            self.rewarded += 1
        else:
            self.wrong.append(f"{group}/{index}: {answer}")


class Workers:
    """The workers of a training run, one for each rollout, of at most a hundred groups at a time."""

    def __init__(self, url: str, size: int, draw: random.Random, patience: float) -> None:
        self._url, self._size, self._draw, self._patience = url, size, draw, patience
        self._room = asyncio.Semaphore(_IN_FLIGHT)
        self.outcome = Outcome()

    async def group(self, group: int) -> None:
        async with self._room:
            await asyncio.gather(*(self._worker(group, index) for index in range(self._size)))

    async def _worker(self, group: int, index: int) -> None:
        draw, seen = self._draw, self.outcome
        async with AsyncClient(self._url, timeout=self._patience, hold=draw.choice((1, 5))) as client:

            def score() -> Awaitable[RolloutAnswer]:
                task = {"role": "user", "content": f"It is task {group}."}
                says = [{"role": "assistant", "content": f"rollout {index} is worth {points(group, index)}"}]
                return client.score_rollout(f"group {group}", self._size, index, says, context=[_PROMPT, task])

            await asyncio.sleep(draw.uniform(0, 0.5))
            if draw.random() < 0.15:
                seen.restarted += 1
                with suppress(TimeoutError):
                    async with asyncio.timeout(draw.uniform(0.0, 0.2)):
                        await score()
            times = 2 if draw.random() < 0.2 else 1
            seen.doubled += times - 1
            try:
                answers = await asyncio.gather(*(score() for _ in range(times)))
            except CalipersError as error:
                seen.hung.append(f"{group}/{index}: {error}")
                return
            if any(one != answers[0] for one in answers):
                seen.wrong.append(f"{group}/{index}: {answers}")
            seen.add(group, index, answers[0])


class Chaos:
    """The judge, the replicas and the database, which are killed in turn."""

    def __init__(self, folder: Path, options: argparse.Namespace, draw: random.Random) -> None:
        self._draw, self._every, self._most = draw, options.every, options.kills
        self.postgres = None if options.sqlite else PostgresServer()
        self.account = folder / "account"
        self.account.touch()
        judge_port = free_port()
        command = [sys.executable, "-m", "benchmarks.faults.accounting_judge"]
        self.judge = Process(
            [*command, "--port", str(judge_port), "--account", str(self.account), "--delay", str(options.judge_delay)],
            folder / "judge.log",
        )
        ledger = str(folder / "ledger.db") if self.postgres is None else self.postgres.url("chaos")
        self.replicas = []
        for number in range(1 if options.sqlite else options.replicas):
            port = free_port()
            serve = [
                *(sys.executable, "-m", "calipers", "serve", "--judge", "openai/judge", "--port", str(port)),
                *("--base-url", f"http://127.0.0.1:{judge_port}/v1", "--ledger", ledger, "--group-deadline", "120"),
            ]
            self.replicas.append(Process(serve, folder / f"replica{number}.log", port=port))
        self.kills: list[Kill] = []
        self.ending = asyncio.Event()

    async def run(self) -> None:
        """Kill something every few seconds until ``ending`` or the last kill; then all are running again."""
        while self._most is None or len(self.kills) < self._most:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ending.wait(), self._draw.uniform(0.5, 1.5) * self._every)
                return
            kinds: list[tuple[str, Callable[[], Awaitable[None]]]] = [
                ("judge", lambda: self._restarted(self.judge)),
                ("replica", lambda: self._restarted(self._draw.choice(self.replicas))),
            ]
            if self.postgres is not None:
                kinds.append(("Postgres", self._postgres_restarted))
            kind, restarted = self._draw.choice(kinds)
            began = time.time()
            await restarted()
            self.kills.append(Kill(kind, began, time.time()))

    async def _restarted(self, process: Process) -> None:
        process.kill()
        await asyncio.sleep(self._draw.uniform(0.0, 2.0))
        await process.start()

    async def _postgres_restarted(self) -> None:
        assert self.postgres is not None  # noqa: S101 - chosen only then
        await asyncio.to_thread(self.postgres.stop, signal.SIGQUIT)
        await asyncio.sleep(self._draw.uniform(0.0, 2.0))
        await asyncio.to_thread(self.postgres.start)

    async def start(self) -> None:
        await asyncio.gather(*(one.start() for one in (self.judge, *self.replicas)))

    def close(self) -> None:
        for one in (self.judge, *self.replicas):
            one.kill()
        if self.postgres is not None:
            self.postgres.close()


async def ran(options: argparse.Namespace, folder: Path) -> int:
    draw = random.Random(options.seed)
    chaos = Chaos(folder, options, draw)
    try:
        await chaos.start()
        async with Proxy([one.port for one in chaos.replicas], random.Random(options.seed + 1)) as proxy:
            workers = Workers(proxy.url, options.size, draw, options.patience)
            killing = asyncio.create_task(chaos.run())
            keeping = [asyncio.create_task(one.keep()) for one in chaos.replicas]
            began = time.time()
            await asyncio.gather(*(workers.group(number) for number in range(options.groups)))
            took = time.time() - began
            chaos.ending.set()
            await killing
            for task in keeping:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)
            return report(chaos, workers.outcome, proxy, options, took)
    finally:
        chaos.close()


def report(chaos: Chaos, seen: Outcome, proxy: Proxy, options: argparse.Namespace, took: float) -> int:
    again = asked_again(chaos.account.read_text(encoding="ascii").splitlines(), chaos.kills)
    kinds = Counter(one.kind for one in chaos.kills)
    rows = [
        ("groups, rollouts", f"{options.groups}, {options.groups * options.size} in {took:.0f} s"),
        ("connections: cut, delayed, others", f"{proxy.cut}, {proxy.delayed}, {proxy.passed}"),
        ("workers that posted twice, that were killed", f"{seen.doubled}, {seen.restarted}"),
        ("kills", ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items())) or "none"),
        ("questions the judge was asked", f"{again.asked}"),
        ("asked again because in flight at a kill", f"{again.in_flight}"),
        ("asked again without such a reason", f"{len(again.unexplained)}"),
        ("rollouts with their reward", f"{seen.rewarded}"),
        ("without one, with the reason", f"{seen.absent.total()}"),
        ("wrong", f"{len(seen.wrong)}"),
        ("hung", f"{len(seen.hung)}"),
    ]
    for name, value in rows:
        print(f"{name:<46}{value}")
    for text in (*seen.absent.most_common(5), *seen.wrong[:5], *seen.hung[:5], *again.unexplained[:5]):
        print(f"  {text}")
    return 1 if seen.wrong or seen.hung or again.unexplained else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--size", type=int, default=4)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two kills, on average")
    parser.add_argument("--kills", type=int, help="the most kills; without it, kills go on until the last group")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds after which a worker is hung")
    parser.add_argument("--judge-delay", type=float, default=0.3, help="seconds before the judge answers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sqlite", action="store_true", help="one replica, with a ledger in SQLite")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(ran(options, Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
