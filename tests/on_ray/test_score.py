"""``score_dataset`` on a real cluster of two nodes: the results of one process, and nothing lost or paid twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.ray import score_dataset
from servers.faulty_server import Answer, Asked, FaultyServer, error
from servers.opinions import Opinions

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, in the process that is connected to the cluster


def test_ray_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[ray\]'"):
        score_dataset(None, judge="embedded")


NODE = {"object_store_memory": 100 * 2**20, "include_dashboard": False}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster with a node of two CPUs, to which this process is connected."""
    pytest.importorskip("ray.data", reason="Ray is not installed: pip install 'calipers[ray]'")
    import ray  # noqa: PLC0415 - only where Ray is installed
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - likewise

    os.environ.update(RAY_USAGE_STATS_ENABLED="0", OMP_NUM_THREADS="1")
    nodes = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 2})
    ray.init(nodes.address, log_to_driver=False, logging_level="ERROR")
    try:
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()


@pytest.fixture
def judge(faulty: FaultyServer) -> FaultyServer:
    """A judge that takes 150 ms, and refuses a parameter that calipers sends first."""
    opinions = Opinions()

    def answer(asked: Asked) -> Answer:
        if "top_k" in asked.body:
            return error(400, "Unsupported parameter: 'top_k'", param="top_k", code="unsupported_parameter")
        return Answer(body=opinions(asked).body, takes=0.15)

    faulty.script(answer)
    return faulty


def groups_of(count: int) -> list[dict[str, Any]]:
    groups = []
    for number in range(count):
        context = [{"role": "user", "content": f"What is {number} plus 1?"}]
        texts = (f"It is {number + 1}.", f"I think {number}, or \u00fc.", f"{number}?")
        members = [{"messages": [{"role": "assistant", "content": text}]} for text in texts]
        groups.append({"group_id": f"g{number}", "context": context, "trajectories": members})
    return groups


async def alone(groups: list[dict[str, Any]], server: FaultyServer) -> list[list[float | None]]:
    """The rewards that one process gives."""
    async with calipers.Judge("vllm/judge", base_url=server.url) as judge:
        found = [one.rewards async for one in judge.score_groups(groups, ordered=True)]
    server.asked.clear()
    server.most_at_once = 0
    return found


def scored(groups: list[dict[str, Any]], server: FaultyServer, **options: Any) -> list[dict[str, Any]]:
    """The rows that the cluster makes of the groups."""
    import ray  # noqa: PLC0415 - only where Ray is installed

    ds = ray.data.from_items([{**group, "trajectories": json.dumps(group["trajectories"])} for group in groups])
    rows: list[dict[str, Any]] = score_dataset(ds, judge="vllm/judge", base_url=server.url, **options).take_all()
    return rows


def workers_of(node: Any) -> list[int]:
    """The process ids of the workers on ``node`` that judge."""
    raylet = node.all_processes["raylet"][0].process.pid
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = status.read_text().partition("\nPPid:\t")[2].partition("\n")[0]
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue  # it has just ended
        if parent == str(raylet) and command.startswith(b"ray::MapWorker"):
            found.append(int(status.parent.name))
    return found


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what other processes do."""
    for _ in range(4500):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("other processes did something else for 90 seconds")


@pytest.mark.slow
async def test_nothing_is_lost_or_paid_twice_when_a_worker_and_then_a_node_is_killed(
    cluster: Any, judge: FaultyServer, tmp_path: Path
):
    groups, ledger = groups_of(160), tmp_path / "ray.db"
    expected = await alone(groups, judge)
    node = cluster.add_node(num_cpus=1, **NODE)
    running = asyncio.create_task(
        asyncio.to_thread(scored, groups, judge, concurrency=4, ledger=str(ledger), batch_size=8)
    )
    await until(lambda: len(judge.posts) > 20 and bool(workers_of(node)))
    os.kill(workers_of(node)[0], signal.SIGKILL)
    already = len(judge.posts)
    await until(lambda: len(judge.posts) > already + 30)
    cluster.remove_node(node, allow_graceful=False)
    before_the_end = len(judge.posts)

    assert [row["rewards"] for row in await running] == expected
    assert before_the_end < 160, "the node was killed too late to show anything"
    assert len(judge.posts) == 160, "what was in flight when the worker and the node died was asked again"
    assert judge.most_at_once <= 4, "the bound on calls in flight is not one for all workers"
    with sqlite3.connect(ledger) as database:
        counts = database.execute("SELECT count(*), count(DISTINCT group_id) FROM groups").fetchall()
    database.close()
    assert counts == [(160, 160)]


@pytest.mark.usefixtures("cluster")
async def test_what_cannot_be_read_is_reported_and_a_refused_parameter_is_found_once(judge: FaultyServer):
    groups = groups_of(24)
    expected = await alone(groups, judge)
    groups.insert(5, {"group_id": "bad", "context": [], "trajectories": [{"id": "a"}]})
    options = {"calls": {"params": {"top_k": 1}}, "concurrency": 1}
    rows = await asyncio.to_thread(scored, groups, judge, workers=2, batch_size=8, **options)
    assert "messages" in rows.pop(5)["error"]
    assert [row["rewards"] for row in rows] == expected
    assert [one["reward"] for one in json.loads(rows[0]["result"])["trajectories"]] == expected[0]
    assert sum("top_k" in post for post in judge.posts) == 1, "each worker found out what the server refuses"


@pytest.mark.usefixtures("cluster")
def test_a_budget_is_one_for_all_workers(judge: FaultyServer):
    rows = scored(groups_of(40), judge, budget={"calls": 10})
    assert sorted(row["status"] for row in rows) == ["failed"] * 30 + ["scored"] * 10
    assert len(judge.posts) == 10


@pytest.mark.usefixtures("cluster")
def test_a_judge_that_cannot_be_asked_is_an_error_before_a_result(faulty: FaultyServer):
    with pytest.raises(ConfigError, match="debug only works where one process judges"):
        scored(groups_of(10), faulty, records={"debug": True})
    assert faulty.posts == []
