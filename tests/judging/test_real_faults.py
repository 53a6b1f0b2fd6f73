"""Faults that llama.cpp's own server makes, killed and begun again included. No group is lost and none becomes a
number.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from calipers.backends.connect import find_backend
from calipers.judging.judge import Judge
from calipers.types import GroupResult
from groups import FOUR, group_of
from servers.llama_server import LlamaProcess, llama_server

pytestmark = pytest.mark.heavy
GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"What is {n} + {n}?") for n in range(8)]
FIXED = {"seed": 5, "cache_prompt": False}
"""So that a random model answers the same question the same way."""


def reasons(results: list[GroupResult]) -> str:
    return " ".join(one.reason or "" for result in results for one in result.trajectories)


def unscored(results: list[GroupResult]) -> None:
    """Nothing was scored, and all of it says why."""
    assert {result.status for result in results} <= {"failed", "abstained"}
    assert {one.reward for result in results for one in result.trajectories} == {None}
    assert all(one.reason for result in results for one in result.trajectories)


async def judged(judge: Judge, groups: list[Any] = GROUPS) -> list[GroupResult]:
    return [result async for result in judge.score_groups(groups, ordered=True)]


async def test_a_server_killed_at_work_and_begun_again_costs_no_group_and_changes_no_reward(
    tiny_model: Path, tmp_path: Path
):
    with LlamaProcess(tiny_model) as server:
        options = {"judge": "llamacpp/tiny", "base_url": server.url, "concurrency": 1, "params": FIXED, "reasks": 0}
        want = await judged(Judge.of(options | {"attempts": 8}))
        assert {result.status for result in want} == {"scored"}
        judge = Judge.of(options | {"attempts": 8, "ledger": tmp_path / "l.db"})
        results: list[GroupResult] = []
        async for result in judge.score_groups(GROUPS, ordered=True):
            results.append(result)
            if len(results) in {2, 5}:
                server.kill()  # with the next group's question already there
                await asyncio.to_thread(server.start)
        judge.close()
    assert [one.group_id for one in results] == [one.group_id for one in GROUPS]
    for result, wanted in zip(results, want, strict=True):
        assert result.rewards in (wanted.rewards, [None] * 4)
    assert sum(result.status == "scored" for result in results) >= 6


@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_killed_in_the_middle_of_an_answer_and_gone_for_good_fails_the_rest(
    tiny_model: Path, *, stream: bool
):
    with LlamaProcess(tiny_model) as server:
        backend = find_backend("llamacpp/tiny", base_url=server.url)
        backend.learn({"refused": ["unstreamed"] if stream else []})
        judge = Judge(backend, concurrency=2, calls={"params": FIXED}, question={"reasks": 0})
        first = await judge.score_group(GROUPS[0])
        at_work = [asyncio.create_task(judge.score_group(group)) for group in GROUPS[1:]]
        await asyncio.wait(at_work[:1], timeout=0.01)
        server.kill()
        results = [await one for one in at_work]
    assert first.status == "scored"
    lost = [result for result in results if result.status != "scored"]
    unscored(lost)
    assert len(lost) >= 5
    assert "127.0.0.1" in reasons(lost)


async def test_an_answer_stopped_by_its_length_is_no_verdict(llama: str):
    results = await judged(
        Judge("llamacpp/tiny", base_url=llama, calls={"max_tokens": 20}, question={"reasks": 0}), GROUPS[:3]
    )
    unscored(results)
    assert "cut off" in reasons(results)


async def test_a_wrong_key_is_named_and_ends_every_group_at_once(tiny_model: Path):
    with llama_server(tiny_model, slots=1, api_key="right") as url:
        results = await judged(Judge("llamacpp/tiny", base_url=url, api_key="wrong"), GROUPS[:4])
        mended = await judged(Judge("llamacpp/tiny", base_url=url, api_key="right"), GROUPS[:1])
    unscored(results)
    assert "401" in reasons(results)
    assert "wrong" not in reasons(results)
    assert mended[0].status == "scored"


async def test_a_server_that_is_slower_than_the_timeout_and_a_deadline(llama: str):
    hurried = await judged(Judge("llamacpp/tiny", base_url=llama, calls={"timeout": 0.005, "attempts": 2}), GROUPS[:2])
    bounded = await judged(Judge("llamacpp/tiny", base_url=llama, deadline=0.005), GROUPS[:2])
    unscored([*hurried, *bounded])
    assert "deadline" in reasons(bounded)
