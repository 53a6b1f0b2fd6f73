"""``score_dataset`` on a real cluster of two nodes: the results of one process, and nothing lost or paid twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.ray import score_dataset
from on_ray.clusters import Program, add_node, two_nodes, workers_of
from servers.faulty_server import Answer, Asked, FaultyServer, error
from servers.opinions import Opinions


def test_ray_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[ray\]'"):
        score_dataset(None, judge="embedded")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray.data", reason="Ray is not installed: pip install 'calipers[ray]'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with two_nodes() as nodes:
        yield nodes


@pytest.fixture(scope="module")
def program(cluster: Any) -> Iterator[Program]:
    made = Program(cluster.address)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def judge() -> Iterator[FaultyServer]:
    """A judge that takes 150 ms, and refuses a parameter that calipers sends first."""
    with FaultyServer() as server:
        opinions = Opinions()

        def answer(asked: Asked) -> Answer:
            if "top_k" in asked.body:
                return error(400, "Unsupported parameter: 'top_k'", param="top_k", code="unsupported_parameter")
            said = opinions(asked)
            return Answer(body=said.body, takes=0.15)

        server.script(answer)
        yield server


def write_groups(path: Path, count: int) -> list[dict[str, Any]]:
    groups = []
    for number in range(count):
        context = [{"role": "user", "content": f"What is {number} plus 1?"}]
        texts = (f"It is {number + 1}.", f"I think {number}, or \u00fc.", f"{number}?")
        members = [{"messages": [{"role": "assistant", "content": text}]} for text in texts]
        groups.append({"group_id": f"g{number}", "context": context, "trajectories": members})
    path.write_text("".join(json.dumps(one) + "\n" for one in groups))
    return groups


async def alone(groups: list[dict[str, Any]], server: FaultyServer) -> list[list[float | None]]:
    """The rewards that one process gives."""
    async with calipers.Judge("vllm/judge", base_url=server.url) as judge:
        found = [one.rewards async for one in judge.score_groups(groups, ordered=True)]
    server.asked.clear()
    server.most_at_once = 0
    return found


def recorded(ledger: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(ledger) as database:
        rows = database.execute(query).fetchall()
    database.close()
    return rows


@pytest.mark.slow
async def test_nothing_is_lost_or_paid_twice_when_a_worker_and_then_a_node_is_killed(
    cluster: Any, program: Program, judge: FaultyServer, tmp_path: Path
):
    path, out, ledger = tmp_path / "groups.jsonl", tmp_path / "out.json", tmp_path / "ray.db"
    expected = await alone(write_groups(path, 160), judge)
    node = add_node(cluster)
    program.begin(path, out, judge="vllm/judge", base_url=judge.url, concurrency=4, ledger=str(ledger), batch_size=8)
    program.wait_until(lambda: len(judge.posts) > 20 and bool(workers_of(node)))
    os.kill(workers_of(node)[0], signal.SIGKILL)
    already = len(judge.posts)
    program.wait_until(lambda: len(judge.posts) > already + 30)
    cluster.remove_node(node, allow_graceful=False)
    before_the_end = len(judge.posts)

    assert program.error() is None
    assert before_the_end < 160, "the node was killed too late to show anything"
    assert [row["rewards"] for row in json.loads(out.read_text())] == expected
    assert len(judge.posts) == 160, "what was in flight when the worker and the node died was asked again"
    assert judge.most_at_once <= 4, "the bound on calls in flight is not one for all workers"
    assert recorded(ledger, "SELECT count(*), count(DISTINCT group_id) FROM groups") == [(160, 160)]


async def test_what_cannot_be_read_is_reported_and_a_refused_parameter_is_found_once(
    program: Program, judge: FaultyServer, tmp_path: Path
):
    path, out = tmp_path / "groups.jsonl", tmp_path / "out.json"
    groups = write_groups(path, 24)
    expected = await alone(groups, judge)
    groups.insert(5, {"group_id": "bad", "trajectories": [{"id": "a"}]})
    path.write_text("".join(json.dumps(one) + "\n" for one in groups))
    options = {"calls": {"params": {"top_k": 1}}, "concurrency": 1}
    program.begin(path, out, judge="vllm/judge", base_url=judge.url, workers=2, batch_size=8, **options)
    assert program.error() is None
    rows = json.loads(out.read_text())
    assert "messages" in rows.pop(5)["error"]
    assert [row["rewards"] for row in rows] == expected
    assert [one["reward"] for one in json.loads(rows[0]["result"])["trajectories"]] == expected[0]
    assert sum("top_k" in post for post in judge.posts) == 1, "each worker found out what the server refuses"


def test_a_budget_is_one_for_all_workers(program: Program, judge: FaultyServer, tmp_path: Path):
    path, out = tmp_path / "groups.jsonl", tmp_path / "out.json"
    write_groups(path, 40)
    program.begin(path, out, judge="vllm/judge", base_url=judge.url, budget={"calls": 10})
    assert program.error() is None
    statuses = [row["status"] for row in json.loads(out.read_text())]
    assert sorted(statuses) == ["failed"] * 30 + ["scored"] * 10
    assert len(judge.posts) == 10


def test_a_judge_that_cannot_be_asked_is_an_error_before_a_result(
    program: Program, faulty: FaultyServer, tmp_path: Path
):
    path, out = tmp_path / "groups.jsonl", tmp_path / "out.json"
    write_groups(path, 10)
    program.begin(path, out, judge="vllm/judge", base_url=faulty.url, records={"debug": True})
    assert "ConfigError: debug only works where one process judges" in (program.error() or "")
    assert not out.exists()
