"""``calipers serve`` killed in the middle: no answer changes, and no question is paid for again but those in flight."""

from __future__ import annotations

import asyncio
import re
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the server's packages are not installed: pip install 'calipers[server]'")
pytest.importorskip("uvicorn", reason="the server's packages are not installed: pip install 'calipers[server]'")

from calipers.server import AsyncClient, RolloutAnswer
from command_line import started
from http_judge import worth
from served import PROMPT, until
from servers.faulty_server import Answer, Asked, FaultyServer
from servers.own_process import free_port

SIZE, CONCURRENCY, GROUPS = 2, 4, 24


class Account:
    """A judge that is slow to answer while ``slow``: its questions are in flight when the server is killed."""

    def __init__(self) -> None:
        self._answer = worth()
        self.asked: Counter[int] = Counter()
        self.slow_after = GROUPS // 2

    def __call__(self, asked: Asked) -> Answer:
        found = re.search(r"It is task (\d+)\.", str(asked.body["messages"]))
        if found is None:
            return Answer(400, {"error": {"message": "scripted: only questions about groups"}})
        self.asked[int(found[1])] += 1
        if self.asked.total() > self.slow_after:
            return Answer(hang=True)
        return self._answer(asked)


@contextmanager
def serving(judge: FaultyServer, ledger: str, port: int, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """``calipers serve`` as a process of its own, which is killed at the end."""
    asking = ("--judge", "vllm/judge", "--base-url", judge.url, "--concurrency", CONCURRENCY)
    with started(folder, "serve", "--port", port, "--ledger", ledger, *asking) as process:
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("Serving at"):
                break
        else:
            raise AssertionError(f"it did not start: {said}")
        reading = threading.Thread(target=lambda: said.extend(process.stderr or ()))
        reading.start()
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            reading.join()
            assert not any("Traceback" in line for line in said), said


def points(group: int, index: int) -> int:
    return (group * 7 + index * 23) % 100


async def answers(url: str) -> list[RolloutAnswer]:
    """The answers of all rollouts of all groups, each for a worker of its own."""
    async with AsyncClient(url, timeout=80, hold=5) as client:

        def score(group: int, index: int) -> Any:
            says = [{"role": "assistant", "content": f"rollout {index} is worth {points(group, index)}"}]
            task = {"role": "user", "content": f"It is task {group}."}
            return client.score_rollout(f"group {group}", SIZE, index, says, context=[*PROMPT, task])

        found = await asyncio.gather(*(score(group, index) for group in range(GROUPS) for index in range(SIZE)))
        return list(found)


async def test_a_killed_server_gives_the_same_answers_again_and_asks_only_what_was_in_flight(
    faulty: FaultyServer, location: str, tmp_path: Path
) -> None:
    account = Account()
    faulty.script(account)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with serving(faulty, location, port, tmp_path) as process:
        running = asyncio.ensure_future(answers(url))
        await until(lambda: account.asked.total() >= account.slow_after + CONCURRENCY, 60)
        in_flight = {group for group, _ in list(account.asked.items())[account.slow_after :]}
        process.kill()
        process.wait()
    account.slow_after = 10**9
    with serving(faulty, location, port, tmp_path):
        found = await asyncio.wait_for(running, 90)
        assert [one.reward for one in found] == [points(g, n) / 100 for g in range(GROUPS) for n in range(SIZE)]
        asked = account.asked.copy()
        assert {group for group, number in asked.items() if number > 1} == in_flight
        assert asked.total() == GROUPS + CONCURRENCY  # nothing else was paid for again
        assert await answers(url) == found
    with serving(faulty, location, port, tmp_path):
        assert await answers(url) == found
    assert account.asked == asked


def test_two_servers_of_one_file_are_one_too_many(faulty: FaultyServer, tmp_path: Path) -> None:
    with serving(faulty, "l.db", free_port(), tmp_path):
        second = started(tmp_path, "serve", "--port", 0, "--ledger", "sqlite:///l.db")
        said = second.communicate(timeout=60)[1]
    assert second.returncode == 2
    assert re.search(r"l\.db: another server has this ledger.*postgresql://", said, re.DOTALL)
