"""Rollouts that are duplicated, delayed, reordered and cut, by clients that give up: nothing wrong, nothing judged
twice, nobody left waiting.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks.faults.chaos_parts import Kill, asked_again

from calipers.server import AsyncClient, RolloutAnswer
from served import PROMPT, questions, rollout, served, until
from servers.cutting_proxy import CuttingProxy
from servers.faulty_server import FaultyServer
from servers.postgres_server import programs

SIZE = 4


def points(group: int, index: int) -> int:
    return (group * 7 + index * 23) % 100


async def answers_of_worker(url: str, draw: random.Random, group: int, index: int) -> list[RolloutAnswer]:
    """What a training worker and its twin get for a rollout, whatever happens to their requests and to the worker."""
    messages, task = rollout(index, points(group, index))["messages"], {"role": "user", "content": f"Task {group}."}
    async with AsyncClient(url, timeout=60.0, hold=draw.choice((1, 5))) as client:
        score = partial(client.score_rollout, f"group {group}", SIZE, index, messages, context=[*PROMPT, task])
        await asyncio.sleep(draw.uniform(0, 0.4))
        if draw.random() < 0.15:  # it is killed, and started again
            with suppress(TimeoutError):
                async with asyncio.timeout(draw.uniform(0.0, 0.2)):
                    await score()
        twins = 2 if draw.random() < 0.2 else 1
        return await asyncio.gather(*(score() for _ in range(twins)))


def plan(draw: random.Random, connections: int) -> list[int | None]:
    """When each connection is cut: three in ten are, in the request, while it waits or in the answer."""
    return [
        draw.choice((-draw.randrange(1, 900), 0, draw.randrange(1, 300))) if draw.random() < 0.3 else None
        for _ in range(connections)
    ]


async def scored_in_chaos(url: str, groups: int, seed: int) -> None:
    """Every rollout of every group is rewarded with what it is worth."""
    draw = random.Random(seed)
    rollouts = [(group, index) for group in range(groups) for index in range(SIZE)]
    draw.shuffle(rollouts)
    working = asyncio.gather(*(answers_of_worker(url, draw, *one) for one in rollouts))
    for one, found in zip(rollouts, await asyncio.wait_for(working, 90), strict=True):
        assert {(answer.reward, answer.status, answer.rewarded) for answer in found} == {
            (points(*one) / 100, "scored", SIZE)
        }


async def test_nothing_is_wrong_or_judged_twice_in_chaos(faulty: FaultyServer, tmp_path: Path):
    async with served(faulty, ledger=str(tmp_path / "l.db")) as server, CuttingProxy(server.port) as proxy:
        proxy.plan = plan(random.Random(1), 200)
        await scored_in_chaos(proxy.url, 40, 1)
        assert proxy.cuts >= 20
        assert questions(faulty) == 40
        assert server.waiting == 0
        assert [status for _, status in server.service.requests if status >= 500] == []


async def test_a_server_that_ends_in_chaos_loses_no_reward(faulty: FaultyServer, tmp_path: Path):
    ledger = str(tmp_path / "l.db")
    async with served(faulty, ledger=ledger) as first, CuttingProxy(first.port) as proxy:
        proxy.plan = plan(random.Random(3), 100)
        running = asyncio.ensure_future(scored_in_chaos(proxy.url, 30, 3))
        await until(lambda: questions(faulty) > 5)
        first.ends.set()
        await first.ended()
        async with served(faulty, ledger=ledger, port=first.port):
            await running
    assert questions(faulty) == 30


async def test_clients_that_never_come_back_leave_nothing_behind(faulty: FaultyServer):
    async with served(faulty, wait=2.0) as server:
        bodies = [
            rollout(index, 40 + 30 * index, group=f"g{group}", rubric=f"Of {group}.")
            for group in range(20)
            for index in range(2)
        ]
        callers = [asyncio.ensure_future(server.post("/v1/rollouts", body)) for body in bodies]
        await until(lambda: server.service.in_flight == len(bodies))
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        # A rollout is searched for injection before it waits, so nobody may be waiting yet.
        await until(lambda: questions(faulty) == 20 and server.waiting == 0)  # a quorum of each group had come


# --- killed -----------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize(
    "options",
    [["--groups", "100", "--kills", "5"], ["--groups", "60", "--kills", "3", "--sqlite"]],
    ids=["Postgres", "SQLite"],
)
def test_replicas_judge_and_database_that_are_killed_at_random_cost_no_reward(options: list[str]):
    # The kills are bounded, because a machine that is too busy to start a server between two of them would never end.
    # They begin early, because a machine with nothing else to do has all rewards in three seconds.
    if "--sqlite" not in options and (find_spec("asyncpg") is None or programs() is None):
        pytest.skip("asyncpg or a Postgres server is not installed: pip install 'calipers[postgres]', postgresql")
    command = [sys.executable, "-m", "benchmarks.faults.server", "--every", "0.5", *options]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kills" in done.stdout
    assert "none" not in done.stdout, done.stdout


def test_a_question_asked_twice_is_excused_only_by_a_kill_that_found_it_in_flight():
    twice = ["asked 1 7 10.0", "answered 1 7 10.3", "asked 2 7 20.0", "answered 2 7 20.3"]
    lost, other = [twice[0], *twice[2:]], ["asked 1 7 10.0", "asked 2 8 10.0"]
    cases: list[tuple[list[str], list[Kill], bool]] = [
        (twice, [], False),
        (twice, [Kill("judge", 12.0, 13.0)], False),  # it had been answered and recorded by then
        (twice, [Kill("replica", 10.9, 11.5)], True),  # it may not have been recorded
        (twice, [Kill("replica", 30.0, 31.0)], False),
        (lost, [Kill("judge", 12.0, 13.0)], True),
        (lost, [], False),
    ]
    for lines, kills, excused in cases:
        found = asked_again(lines, kills)
        assert (found.in_flight == 1, not found.unexplained) == (excused, excused), (lines, kills)
    assert (asked_again(other, []).asked, asked_again(other, []).unexplained) == (2, [])
