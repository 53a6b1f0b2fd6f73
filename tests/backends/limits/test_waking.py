"""A judge's server wakes before its first call and rests after the last, whoever calls and whatever fails."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calipers import Judge
from calipers.errors import ConfigError
from groups import group_of
from http_judge import judge_at
from servers.sleeping_server import SleepingServer

SWITCHES: dict[str, Any] = {"wake": "/wake_up", "rest": "/sleep?level=1"}
PAIR = {"a": "worth 90", "b": "worth 20"}


def groups(count: int) -> list[Any]:
    return [group_of({"a": f"worth {90 - n}", "b": f"worth {20 + n}"}, group_id=f"g{n}") for n in range(count)]


async def judged(judge: Judge, count: int) -> list[list[float | None]]:
    results = judge.score_groups(groups(count), ordered=True)
    return [[one.reward for one in result.trajectories] async for result in results]


async def test_a_batch_wakes_the_server_once_and_goes_on_only_when_it_rests():
    with SleepingServer() as server:
        judge = judge_at(server, **SWITCHES, linger=600.0)
        rewards = await judged(judge, 5)
        assert server.sleeping  # although the time to linger has not passed
        assert server.events == ["wake", *["asked"] * 5, "sleep 1"]
        assert rewards[0] == [0.9, 0.2]
        await judged(judge, 2)  # the same questions were answered, but without a ledger they are asked again
        assert server.events[7:] == ["wake", "asked", "asked", "sleep 1"]


async def test_groups_that_overlap_share_a_waking_and_the_last_of_them_ends_it():
    with SleepingServer(takes=0.01) as server:
        judge = judge_at(server, **SWITCHES, linger=0.0)
        await asyncio.gather(*(judge.score_group(group) for group in groups(6)))
        await rested(server)
        assert server.events == ["wake", *["asked"] * 6, "sleep 1"]


async def test_a_group_within_the_time_to_linger_finds_the_server_awake():
    with SleepingServer() as server:
        async with judge_at(server, **SWITCHES, linger=600.0) as judge:
            for group in groups(3):
                await judge.score_group(group)
            assert server.events == ["wake", "asked", "asked", "asked"]
        assert server.events[-1] == "sleep 1"  # closing the judge puts it to rest


async def test_answers_from_a_ledger_wake_nobody(tmp_path: Path):
    with SleepingServer() as server:
        for _ in range(2):
            async with judge_at(server, **SWITCHES, ledger=str(tmp_path / "runs.db"), probe=False) as judge:
                assert await judged(judge, 1) == [[0.9, 0.2]]
        assert server.events == ["wake", "asked", "sleep 1"]


async def test_a_wake_that_fails_is_tried_again_and_shared_by_all_who_wait():
    with SleepingServer(wake_fails=1) as server:
        judge = judge_at(server, **SWITCHES, attempts=3)
        assert all(None not in rewards for rewards in await judged(judge, 3))
        assert server.events[:2] == ["wake failed", "wake"]
        assert "asked asleep" not in server.events


async def test_a_server_that_never_wakes_fails_its_groups_with_the_reason_and_is_not_asked():
    with SleepingServer(wake_fails=100) as server:
        judge = judge_at(server, **SWITCHES, attempts=1)
        result = await judge.score_group(group_of(PAIR))
        assert result.status == "failed"
        reason = result.trajectories[0].reason or ""
        assert "wake: http://127.0.0.1" in reason
        assert "HTTP 503" in reason
        assert "no memory" in reason
        assert [one.reward for one in result.trajectories] == [None, None]
        assert set(server.events) == {"wake failed"}


@pytest.mark.parametrize("wake", ["/wake up", "/wake_up\r\nX-Other: 1"])
async def test_an_address_that_no_request_can_have_fails_its_groups_and_hangs_nobody(wake: str):
    with SleepingServer() as server:
        judge = judge_at(server, wake=wake, linger=0.0)
        result = await asyncio.wait_for(judge.score_group(groups(1)[0]), 30)
    assert result.rewards == [None, None]
    assert "wake: " in str(result.trajectories[0].reason)


async def test_a_server_without_the_endpoint_is_told_apart_with_the_remedy():
    with SleepingServer(wake_fails=100, refuses=404) as server:
        judge = judge_at(server, **SWITCHES)
        result = await judge.score_group(group_of(PAIR))
        assert "VLLM_SERVER_DEV_MODE=1" in (result.trajectories[0].reason or "")
        assert server.events == ["wake failed"]  # it will not be there the next time either
        with pytest.raises(ConfigError, match="every question was refused"):
            await judge.require_answering()


async def test_a_server_that_does_not_rest_is_a_warning_and_costs_no_reward(caplog: pytest.LogCaptureFixture):
    with SleepingServer() as server:
        judge = judge_at(server, wake="/wake_up", rest=f"http://127.0.0.1:{server.port}/v1/nowhere")
        assert await judged(judge, 1) == [[0.9, 0.2]]
    assert "may still hold its GPU's memory" in caplog.text


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_functions_do_instead_of_addresses(*, asynchronous: bool):
    with SleepingServer() as server:
        happened: list[str] = []

        def does(name: str, *, sleeping: bool) -> Callable[[], Any]:
            def at_once() -> None:
                happened.append(name)
                server.sleeping = sleeping

            async def later() -> None:
                await asyncio.sleep(0)
                at_once()

            return later if asynchronous else at_once

        judge = judge_at(server, wake=does("wake", sleeping=False), rest=does("rest", sleeping=True))
        assert await judged(judge, 2) == [[0.9, 0.2], [0.89, 0.21]]
        assert happened == ["wake", "rest"]


async def test_a_function_that_raises_or_hangs_is_a_failure_with_its_reason():
    def breaks() -> None:
        raise RuntimeError("no such engine")

    with SleepingServer() as server:
        result = await judge_at(server, wake=breaks, attempts=1).score_group(group_of(PAIR))
        assert "RuntimeError: no such engine" in (result.trajectories[0].reason or "")
        released = threading.Event()
        judge = judge_at(server, wake=released.wait, attempts=1, timeout=0.05)
        result = await judge.score_group(group_of(PAIR))
        released.set()
        assert "did not return within 0.05 s" in (result.trajectories[0].reason or "")
        assert server.events == []


async def test_a_group_that_is_given_up_while_the_server_wakes_leaves_it_to_the_others():
    with SleepingServer(takes=0.05) as server:
        judge = judge_at(server, **SWITCHES, linger=0.0)
        first, second = (asyncio.ensure_future(judge.score_group(group)) for group in groups(2))
        assert await asyncio.to_thread(server.waking.wait, 60)
        first.cancel()
        assert (await second).status == "scored"
        await rested(server)
        assert server.events == ["wake", "asked", "sleep 1"]


async def test_every_server_of_a_judge_is_woken_and_put_to_rest():
    with SleepingServer() as one, SleepingServer() as other:
        judge = judge_at(one, base_url=[one.url, other.url], **SWITCHES)
        assert len(await judged(judge, 4)) == 4
        for server in (one, other):
            assert server.events[0] == "wake"
            assert server.events[-1] == "sleep 1"
            assert "asked asleep" not in server.events


_ONE_PROCESS = """
import asyncio, sys
from backends.limits.test_waking import SWITCHES, groups
from calipers import Judge
async def main():
    judge = Judge.of({"judge": "vllm/m", "base_url": sys.argv[1], **SWITCHES, "linger": 600.0})
    await judge.score_group(groups(1)[0])
    print("judged", flush=True)
    sys.stdin.readline()
asyncio.run(main())
"""


def test_processes_share_a_server_and_the_last_to_end_puts_it_to_rest():
    with SleepingServer() as server:
        path = os.pathsep.join(sys.path)
        asked = [sys.executable, "-c", _ONE_PROCESS, server.url]
        both = [
            subprocess.Popen(
                asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}, text=True
            )
            for _ in range(2)
        ]
        for process in both:
            assert process.stdout is not None
            assert process.stdout.readline() == "judged\n"
        both[0].communicate("\n")
        assert server.events[-1] != "sleep 1"  # it ended first, and the other still uses the server
        both[1].communicate("\n")
        assert server.events.count("sleep 1") == 1
        assert [process.returncode for process in both] == [0, 0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"wake": "wake_up"}, "write an address"),
        ({"rest": []}, "it must be an address"),
        ({"rest": 3}, "it must be an address"),
        ({"wake": "http://"}, "write an address"),
        ({"wake": "http://me:secret@host/wake_up"}, "use a function instead"),
        ({"linger": -1}, "linger"),
    ],
)
def test_what_cannot_work_is_refused_before_a_question(given: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words) as refused:
        Judge.of({"judge": "vllm/m", "base_url": "http://127.0.0.1:9/v1", **given})
    assert "secret" not in str(refused.value)


def test_a_path_needs_a_judge_with_an_address():
    with pytest.raises(ConfigError, match="no address that the path could belong to"):
        Judge("embedded", calls={"wake": "/wake_up"})


async def rested(server: SleepingServer) -> None:
    """Return when the server sleeps again, which happens in another thread."""
    assert await asyncio.to_thread(server.rested.wait, 60)
