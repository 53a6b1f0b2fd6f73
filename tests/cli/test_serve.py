"""``calipers serve`` as a user starts it: what it says, how it ends, and what is left of it when it is killed."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
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
from calipers.server.running import bound_socket
from command_line import Calipers, ended, mismatches, started
from http_judge import worth
from served import PROMPT, until
from servers.faulty_server import Answer, Asked, FaultyServer
from servers.own_process import free_port

SIZE, CONCURRENCY, GROUPS = 2, 4, 24


class Account:
    """A judge that answers no more after so many questions: the next ones are in flight when the server is killed."""

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
def serving(folder: Path, *arguments: object) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """``calipers serve`` as a process of its own, which is killed at the end, and all that it says on stderr."""
    with started(folder, "serve", *arguments) as process:
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("Serving at http://127.0.0.1:"):
                break
        else:
            raise AssertionError(f"it did not start: {said}")
        reading = threading.Thread(target=lambda: said.extend(process.stderr or ()))
        reading.start()
        try:
            yield process, said
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


async def test_a_killed_server_gives_the_same_answers_again_asks_only_what_was_in_flight_and_ends_on_sigterm(
    faulty: FaultyServer, location: str, tmp_path: Path
) -> None:
    account = Account()
    faulty.script(account)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    judge = ("--judge", "vllm/judge", "--base-url", faulty.url, "--concurrency", CONCURRENCY)
    arguments = ("--port", port, "--ledger", location, *judge)
    with serving(tmp_path, *arguments) as (process, _):
        running = asyncio.ensure_future(answers(url))
        await until(lambda: account.asked.total() >= account.slow_after + CONCURRENCY, 60)
        in_flight = {group for group, _ in list(account.asked.items())[account.slow_after :]}
        process.kill()
        process.wait()
    account.slow_after = 10**9
    with serving(tmp_path, *arguments):
        found = await asyncio.wait_for(running, 90)
        assert [one.reward for one in found] == [points(g, n) / 100 for g in range(GROUPS) for n in range(SIZE)]
        asked = account.asked.copy()
        assert {group for group, number in asked.items() if number > 1} == in_flight
        assert asked.total() == GROUPS + CONCURRENCY  # nothing else was paid for again
        assert await answers(url) == found
    with serving(tmp_path, *arguments) as (process, said):
        assert await answers(url) == found
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0, said
    assert account.asked == asked
    assert "no token is needed" in said[0]
    assert any("Stopped." in line for line in said), said


def test_two_servers_of_one_file_are_one_too_many(tmp_path: Path) -> None:
    with serving(tmp_path, "--port", 0, "--ledger", "l.db"):
        second = ended(started(tmp_path, "serve", "--port", 0, "--ledger", "sqlite:///l.db"))
    assert second.code == 2
    assert re.search(r"l\.db: another server has this ledger.*postgresql://", second.err, re.DOTALL)


def test_what_cannot_work_is_one_sentence_before_it_serves(tmp_path: Path, calipers: Calipers) -> None:
    (tmp_path / "text.db").write_text("This is no database, but a text of many words." * 9, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    unpriced = ("--judge", "vllm/m", "--base-url", "http://127.0.0.1:9/v1", "--budget", "usd=5")
    with bound_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        cases: list[tuple[tuple[str, ...], str]] = [
            (("--host", "0.0.0.0"), "nobody would need a token"),  # noqa: S104 - it is refused
            (("--tokens", "none.toml"), "none.toml: the file of tokens cannot be read: No such file"),
            (unpriced, "a budget in dollars needs the price of 'm'"),
            (("--judge", "gpt-5-mini"), "write provider/model"),
            (("--ledger", "no/folder/x.db"), "no/folder/x.db"),
            (("--ledger", "."), "folder"),
            (("--ledger", "text.db"), "text.db"),
            (("--port", port), f"--host 127.0.0.1 --port {port}: the address cannot be used"),
            (("--drain", "nan"), "'--drain': nan is not a finite number"),
            (("--group-deadline", "inf"), "'--group-deadline': inf is not a finite number"),
        ]
        assert mismatches(calipers, [(("serve", "--port", "0", *flags), words) for flags, words in cases]) == []
    assert sorted(path for path in tmp_path.iterdir() if ".ledger" not in path.name) == before


def test_without_its_packages_it_says_what_to_install(
    calipers: Calipers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "msgspec", None)
    needed = "the server needs msgspec: pip install 'calipers[server]'"
    assert mismatches(calipers, [(("serve",), needed)]) == []
    assert not list(tmp_path.iterdir())
