"""``calipers score --ray`` on a real cluster of two nodes: the same results, and nothing lost or paid twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from on_ray.clusters import Driver, add_node, command, ended, two_nodes, wait_until, workers_of
from servers.faulty_server import Answer, Asked, FaultyServer, error
from servers.opinions import Opinions

pytest.importorskip("ray.data", reason="Ray is not installed: pip install 'calipers[ray]'")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with two_nodes() as nodes:
        yield nodes


@pytest.fixture(scope="module")
def driver(cluster: Any) -> Iterator[Driver]:
    made = Driver(cluster.address)
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


def write_groups(path: Path, count: int, *, bad_line: bool = False) -> None:
    lines = []
    for number in range(count):
        context = [{"role": "user", "content": f"What is {number} plus 1?"}]
        texts = (f"It is {number + 1}.", f"I think {number}, or \u00fc.", f"{number}?")
        members = [{"messages": [{"role": "assistant", "content": text}]} for text in texts]
        lines.append(json.dumps({"group_id": f"g{number}", "context": context, "trajectories": members}))
    if bad_line:
        lines.insert(3, "{not json")
    path.write_text("\n".join(lines) + "\n")


def options(server: FaultyServer, *, concurrency: int) -> tuple[str, ...]:
    asked = ("--judge", "vllm/judge", "--base-url", server.url)
    return (*asked, "--concurrency", str(concurrency))


def recorded(ledger: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(ledger) as database:
        rows = database.execute(query).fetchall()
    database.close()
    return rows


def test_nothing_is_lost_or_paid_twice_when_a_worker_and_then_a_node_is_killed(
    cluster: Any, judge: FaultyServer, tmp_path: Path
):
    groups, local, remote = tmp_path / "groups.jsonl", tmp_path / "local.jsonl", tmp_path / "remote.jsonl"
    write_groups(groups, 160, bad_line=True)
    alone = command("score", str(groups), "-o", str(local), *options(judge, concurrency=64))
    node = add_node(cluster)
    assert ended(alone)[0] == 1
    judge.asked.clear()
    judge.most_at_once = 0
    process = command("score", str(groups), "-o", str(remote), *options(judge, concurrency=4), "--ray", cluster.address)
    wait_until(lambda: len(judge.posts) > 20 and bool(workers_of(node)), process)
    os.kill(workers_of(node)[0], signal.SIGKILL)
    already = len(judge.posts)
    wait_until(lambda: len(judge.posts) > already + 30, process)
    cluster.remove_node(node, allow_graceful=False)
    before_the_end = len(judge.posts)
    code, told = ended(process)

    assert (code, "groups.jsonl:4: not JSON" in told) == (1, True), told
    assert before_the_end < 160, "the node was killed too late to show anything"
    assert remote.read_bytes() == local.read_bytes()
    assert len(judge.posts) == 160, "what was in flight when the worker and the node died was asked again"
    assert judge.most_at_once <= 4, "the bound on calls in flight is not one for all workers"
    ledger = Path(f"{remote}.ledger.db")
    assert recorded(ledger, "SELECT count(*), count(DISTINCT position), max(position) FROM groups") == [(160, 160, 159)]
    again = tmp_path / "again.jsonl"
    assert ended(command("replay", str(ledger), "-o", str(again)))[0] == 0
    assert again.read_bytes() == local.read_bytes()


def test_a_budget_is_one_for_all_workers(cluster: Any, driver: Driver, judge: FaultyServer, tmp_path: Path):
    groups, out = tmp_path / "groups.jsonl", tmp_path / "out.jsonl"
    write_groups(groups, 40)
    asked = ("--judge", "vllm/judge", "--base-url", judge.url, "--budget", "calls=10")
    code, told = driver.ended("score", str(groups), "-o", str(out), *asked, "--ray", cluster.address)
    statuses = [json.loads(line)["status"] for line in out.read_text().splitlines()]
    assert (code, sorted(statuses)) == (1, ["failed"] * 30 + ["scored"] * 10), told
    assert len(judge.posts) == 10
    assert "10 of 10 calls are made" in told


def test_a_dataset_is_judged_and_what_cannot_be_read_is_reported(
    cluster: Any, driver: Driver, judge: FaultyServer, tmp_path: Path
):
    program = Path(__file__).with_name("dataset_process.py")
    groups, lines = tmp_path / "groups.jsonl", tmp_path / "lines.jsonl"
    write_groups(groups, 24)
    assert ended(command("score", str(groups), "-o", str(lines), *options(judge, concurrency=64)))[0] == 0
    done = driver.ended(str(program), cluster.address, judge.url, str(groups), str(tmp_path / "ray.db"))
    found = json.loads((tmp_path / "ray.db.json").read_text()) if done[0] == 0 else pytest.fail(done[1])
    expected = [json.loads(line)["trajectories"] for line in lines.read_text().splitlines()]
    judged = [row for row in found if row["error"] is None]
    assert [json.loads(row["result"])["trajectories"] for row in judged] == expected
    assert [row["rewards"] for row in judged] == [[one["reward"] for one in members] for members in expected]
    assert sum("top_k" in post for post in judge.posts) == 1, "each worker found out what the server refuses"
    assert "messages" in found[5]["error"]
    assert recorded(tmp_path / "ray.db", "SELECT count(*), max(position) FROM groups") == [(24, 23)]


def test_a_judge_that_refuses_every_question_ends_the_command_before_a_result(
    cluster: Any, driver: Driver, faulty: FaultyServer, tmp_path: Path
):
    groups, out = tmp_path / "groups.jsonl", tmp_path / "out.jsonl"
    write_groups(groups, 10)
    faulty.script(error(401, "wrong key"))
    asked = ("--judge", "vllm/judge", "--base-url", faulty.url)
    code, told = driver.ended("score", str(groups), "-o", str(out), *asked, "--ray", cluster.address)
    assert (code, out.exists()) == (2, False), told
    assert "refused" in told
    assert "Traceback" not in told
