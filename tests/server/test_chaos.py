"""Rollouts that are duplicated, delayed, reordered and cut, by clients that give up: nothing wrong, nothing judged
twice, nobody left waiting.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from calipers.server import AsyncClient, RolloutAnswer
from http_judge import worth
from served import PROMPT, questions, rollout, served, until
from servers.cutting_proxy import CuttingProxy
from servers.faulty_server import FaultyServer

SIZE = 4


def points(group: int, index: int) -> int:
    return (group * 7 + index * 23) % 100


class Worker:
    """A training worker that has to get its reward, whatever happens to its requests and to itself."""

    def __init__(self, url: str, draw: random.Random, group: int, index: int) -> None:
        self.group, self.index, self._draw = group, index, draw
        self._client = AsyncClient(url, timeout=60.0, hold=draw.choice((1, 5)))
        self._messages = rollout(index, points(group, index), group="")["messages"]

    async def run(self) -> list[RolloutAnswer]:
        """The answers of this worker and of its twin, who sends the same rollout."""
        try:
            await asyncio.sleep(self._draw.uniform(0, 0.4))
            if self._draw.random() < 0.15:  # it is killed, and started again
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._draw.uniform(0.0, 0.2)):
                        await self._score()
            twins = 2 if self._draw.random() < 0.2 else 1
            return await asyncio.gather(*(self._score() for _ in range(twins)))
        finally:
            await self._client.aclose()

    def _score(self) -> Awaitable[RolloutAnswer]:
        named = f"group {self.group}"
        return self._client.score_rollout(named, SIZE, self.index, self._messages, context=[*PROMPT, self._task])

    @property
    def _task(self) -> dict[str, str]:
        return {"role": "user", "content": f"It is task {self.group}."}


def plan(draw: random.Random, connections: int) -> list[int | None]:
    """When each connection is cut: three in ten are, in the request, while it waits or in the answer."""
    return [
        draw.choice((-draw.randrange(1, 900), 0, draw.randrange(1, 300))) if draw.random() < 0.3 else None
        for _ in range(connections)
    ]


async def scored_in_chaos(
    url: str, groups: int, seed: int, meanwhile: Callable[[], Awaitable[object]] | None = None
) -> None:
    """Every rollout of every group is rewarded with what it is worth."""
    draw = random.Random(seed)
    workers = [Worker(url, draw, group, index) for group in range(groups) for index in range(SIZE)]
    draw.shuffle(workers)
    running = asyncio.gather(*(worker.run() for worker in workers))
    if meanwhile is not None:
        await meanwhile()
    answers = await asyncio.wait_for(running, 90)
    for worker, found in zip(workers, answers, strict=True):
        assert {one.reward for one in found} == {points(worker.group, worker.index) / 100}, found
        assert {(one.status, one.rewarded) for one in found} == {("scored", SIZE)}


async def test_with_duplicated_delayed_reordered_and_cut_requests_nothing_is_wrong_or_judged_twice(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    faulty.script(worth())
    groups, seed = 40, 1
    async with (
        served(faulty, ledger=str(tmp_path / "l.db")) as server,
        CuttingProxy(int(server.url.rpartition(":")[2])) as proxy,
    ):
        proxy.plan = plan(random.Random(seed), 200)
        await scored_in_chaos(proxy.url, groups, seed)
        assert proxy.cuts >= 20
        assert questions(faulty) == groups
        assert server.waiting == 0
        assert Counter(status for (_, status), _ in server.service.counts.requests.items() if status >= 500) == {}


async def test_a_server_that_ends_in_the_middle_loses_no_reward_and_asks_nothing_again(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    faulty.script(worth())
    groups, ledger = 30, str(tmp_path / "l.db")
    async with served(faulty, ledger=ledger) as first:
        port = int(first.url.rpartition(":")[2])
        async with CuttingProxy(port) as proxy:
            proxy.plan = plan(random.Random(3), 100)

            async def restarted() -> None:
                await until(lambda: questions(faulty) > 5)
                first.ends.set()

            running = asyncio.ensure_future(scored_in_chaos(proxy.url, groups, 3, restarted))
            await first.ended()
            async with served(faulty, ledger=ledger, port=port):
                await running
    assert questions(faulty) == groups


async def test_clients_that_never_come_back_leave_nothing_behind(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty, wait=2.0) as server:
        bodies = [
            rollout(index, 40 + 30 * index, group=f"g{group}", rubric=f"Of {group}.")
            for group in range(20)
            for index in range(2)
        ]
        callers = [asyncio.ensure_future(server.post("/v1/rollouts", body)) for body in bodies]
        await until(lambda: server.service.counts.in_flight == len(bodies))
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        # A rollout is searched for injection before it waits, so nobody may be waiting yet.
        await until(lambda: questions(faulty) == 20 and server.waiting == 0)  # a quorum of each group had come
