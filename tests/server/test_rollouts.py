"""Rollouts that arrive one at a time over real sockets: judged once, each caller answered with its own reward."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the server's packages are not installed: pip install 'calipers[server]'")
pytest.importorskip("uvicorn", reason="the server's packages are not installed: pip install 'calipers[server]'")

from calipers.server import collector
from calipers.server.tenants import TenantSettings
from http_judge import worth
from served import PROMPT, Reply, questions, rollout, served, until
from servers.faulty_server import Answer, Asked, FaultyServer

THREE = (rollout(0, 20), rollout(1, 90), rollout(2, 55))


def rewards(replies: Sequence[Reply]) -> list[float | None]:
    assert {one.status for one in replies} == {200}, replies
    return [one.body["reward"] for one in replies]


async def test_a_whole_group_is_judged_once_and_each_caller_gets_its_own_reward(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty) as server:
        replies = await server.rollouts(*reversed(THREE))
        assert rewards(replies) == [0.55, 0.9, 0.2]
        assert replies[0].body == {
            "group_id": "g", "index": 2, "status": "scored", "reward": 0.55, "score": 0.55, "stderr": None,
            "reason": None, "rewarded": 3,
        }  # fmt: skip
        assert questions(faulty) == 1
        assert server.waiting == 0


async def test_the_same_rollout_twice_is_one_rollout_before_during_and_after_the_judging(
    faulty: FaultyServer, store: str | None
) -> None:
    faulty.script(worth())
    async with served(faulty, ledger=store) as server:
        assert (await server.post("/v1/rollouts", THREE[0], headers={"Prefer": "wait=1"})).body == {"status": "waiting"}
        replies = await server.rollouts(THREE[0], THREE[0], THREE[1], THREE[2], THREE[1])
        assert rewards(replies) == [0.2, 0.2, 0.9, 0.55, 0.9]
        assert rewards(await server.rollouts(*THREE)) == [0.2, 0.9, 0.55]
        assert questions(faulty) == 1


async def test_at_the_deadline_a_quorum_is_judged_and_a_late_member_is_told(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty, wait=0.3) as server:
        assert rewards(await server.rollouts(*THREE[:2])) == [0.2, 0.9]
        (late,) = await server.rollouts(THREE[2])
        assert (late.status, late.body["status"], late.body["reward"]) == (200, "late", None)
        assert "closed" in late.body["reason"]
        assert questions(faulty) == 1


async def test_a_group_without_a_quorum_gets_no_number(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty, wait=0.2) as server:
        (alone,) = await server.rollouts(THREE[0])
        assert (alone.body["status"], alone.body["reward"]) == ("not_judged", None)
        assert "1 of 3" in alone.body["reason"]
        assert server.waiting == 0
    assert faulty.posts == []


async def test_a_rollout_without_messages_is_lost_and_its_siblings_do_not_wait(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty) as server:
        lost = {**THREE[2], "messages": []}
        first, second, gone = await server.rollouts(THREE[0], THREE[1], lost)
        assert rewards([first, second, gone]) == [0.2, 0.9, None]
        all_lost = [{**one, "group_id": "h", "messages": []} for one in THREE]
        assert rewards(await server.rollouts(*all_lost)) == [None, None, None]
        await until(lambda: server.waiting == 0)


@pytest.mark.parametrize(
    ("never", "statuses", "numbers"),
    [
        ([55], ["scored", "scored", "abstained"], [0.2, 0.9, None]),
        ([55, 90], ["too_few", "abstained", "abstained"], [None] * 3),
    ],
)
async def test_a_failed_judgment_is_never_a_number(
    faulty: FaultyServer, never: list[int], statuses: list[str], numbers: list[float | None]
) -> None:
    faulty.script(worth(never=never))
    async with served(faulty) as server:
        replies = await server.rollouts(*THREE)
        assert rewards(replies) == numbers
        assert [one.body["status"] for one in replies] == statuses
        assert all((one.body["reward"] is None) == bool(one.body["reason"]) for one in replies)


async def test_a_judge_that_fails_gives_nobody_a_reward(faulty: FaultyServer) -> None:
    faulty.script(worth(down="Tell a joke"))
    async with served(faulty) as server:
        replies = await server.rollouts(*THREE)
        assert rewards(replies) == [None] * 3
        assert {one.body["status"] for one in replies} == {"failed"}


@pytest.mark.parametrize("answered", [False, True])
async def test_what_contradicts_or_cannot_be_read_is_refused_and_changes_nothing(
    faulty: FaultyServer, *, answered: bool
) -> None:
    faulty.script(worth())
    async with served(faulty) as server:
        waiting = asyncio.ensure_future(server.rollouts(*THREE if answered else THREE[:1]))
        await until(waiting.done if answered else lambda: server.waiting >= 1)
        wrong = []
        cases: list[tuple[dict[str, Any], int, str]] = [
            (
                {"messages": [{"role": "assistant", "content": "other worth 1"}]},
                409,
                "arrived before with other messages",
            ),
            ({"group_size": 4}, 409, "has group_size 3"),
            ({"context": [{"role": "user", "content": "Other?"}]}, 409, "another context"),
            ({"rubric": "Be brief."}, 409, "another context, tools or rubric"),
            ({"index": 3}, 422, "index 3 is not below group_size 3"),
            ({"index": -1}, 422, "$.index"),
            ({"group_size": 0}, 422, "$.group_size"),
            ({"group_size": "3"}, 422, "Expected `int`"),
            ({"group_id": ""}, 422, "$.group_id"),
            ({"rubrik": "x"}, 422, "rubrik"),
            ({"run": "a b"}, 422, "$.run"),
            ({"messages": "text"}, 422, "$.messages"),
            ({"index": 1, "messages": [{"role": "assistant", "content": 5}]}, 422, "content"),
        ]
        for changed, status, said in cases:
            (reply,) = await server.rollouts({**THREE[0], **changed})
            if reply.status != status or said not in reply.body["error"]:
                wrong.append((changed, reply.text))
            assert reply.body["request_id"] == reply.headers["x-request-id"]
        assert wrong == []
        assert rewards(await server.rollouts(*THREE)) == [0.2, 0.9, 0.55]
        await waiting
        assert questions(faulty) == 1


async def test_the_first_rollout_of_a_group_that_cannot_be_read_leaves_nothing(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty) as server:
        for bad in ({"context": [{"role": "user", "content": 5}]}, {"rubric": {"criteria": 3}}):
            assert (await server.rollouts({**THREE[0], **bad}))[0].status == 422
        assert server.waiting == 0
        assert rewards(await server.rollouts(*THREE)) == [0.2, 0.9, 0.55]


async def test_equal_groups_of_two_runs_and_equal_prompts_of_two_groups_stay_apart(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty) as server:
        second = [{**one, "run": "b", "messages": THREE[2 - place]["messages"]} for place, one in enumerate(THREE)]
        third = [{**one, "group_id": "h"} for one in THREE]
        replies = await server.rollouts(*THREE, *second, *third)
        assert rewards(replies) == [0.2, 0.9, 0.55, 0.55, 0.9, 0.2, 0.2, 0.9, 0.55]


# --- after a restart --------------------------------------------------------------------------------------------------


async def test_a_restart_loses_nothing_that_was_answered(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(worth(never=[55]))
    ledger = str(tmp_path / "ledger.db")
    async with served(faulty, ledger=ledger) as server:
        before = await server.rollouts(*THREE)
        named = await server.rollouts(*({**one, "run": "b"} for one in THREE))
    async with served(faulty, ledger=ledger) as server:
        assert [one.text for one in await server.rollouts(*THREE)] == [one.text for one in before]
        asked = questions(faulty)
        again = await server.rollouts(*({**one, "run": "b"} for one in THREE))
        assert [one.text for one in again] == [one.text for one in named]
        (other,) = await server.rollouts({**THREE[0], "messages": THREE[1]["messages"]})
        assert other.status == 409
        assert questions(faulty) == asked


async def test_answers_that_are_no_longer_in_memory_come_from_the_ledger(
    faulty: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "_REMEMBERED", 1)
    faulty.script(worth())
    async with served(faulty, ledger=str(tmp_path / "ledger.db")) as server:
        for group in "abc":
            await server.rollouts(*({**one, "group_id": group} for one in THREE))
        for group in "abc":
            assert rewards(await server.rollouts(*({**one, "group_id": group} for one in THREE))) == [0.2, 0.9, 0.55]


async def test_a_group_that_nobody_waits_for_is_judged_to_its_end_when_the_server_ends(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    answer, released = worth(), threading.Event()

    def held(asked: Asked) -> Answer:
        if "Score these attempts" in str(asked.body):
            released.wait(10)
        return answer(asked)

    faulty.script(held)
    ledger = str(tmp_path / "ledger.db")
    async with served(faulty, ledger=ledger) as server:
        replies = await server.rollouts(*THREE, headers={"Prefer": "wait=1"})
        assert [one.status for one in replies] == [202, 202, 202]
        server.ends.set()
        await until(lambda: server.service.draining)
        asyncio.get_running_loop().call_later(1.0, released.set)
    async with served(faulty, ledger=ledger) as server:
        assert rewards(await server.rollouts(*THREE)) == [0.2, 0.9, 0.55]
    assert questions(faulty) == 1


async def test_at_the_end_open_groups_are_sent_away_and_judged_ones_answered(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty) as server:
        waiting = asyncio.ensure_future(server.rollouts(*THREE[:2]))
        await until(lambda: server.waiting >= 1)
        server.ends.set()
        replies = await waiting
        assert {(one.status, one.headers["retry-after"], one.body["kind"]) for one in replies} == {
            (503, "1", "draining")
        }
    assert faulty.posts == []


async def test_while_the_server_ends_a_caller_cannot_keep_its_connection_and_come_again(faulty: FaultyServer) -> None:
    async with served(faulty) as server:
        server.service.drain()
        (refused,) = await server.rollouts(THREE[0])
        assert (refused.status, refused.headers["connection"]) == (503, "close")


# --- bounds -----------------------------------------------------------------------------------------------------------


async def test_a_full_server_refuses_new_groups_and_never_a_member_of_an_admitted_one(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty, rollouts=3) as server:
        waiting = asyncio.ensure_future(server.rollouts(*THREE[:2]))
        await until(lambda: server.waiting == 2)
        large = asyncio.ensure_future(
            server.rollouts(rollout(0, 30, group="large"))
        )  # announces more than there is room for
        await until(lambda: server.waiting == 3)
        (refused,) = await server.rollouts(rollout(0, group="h"))
        assert (refused.status, refused.headers["retry-after"], refused.body["kind"]) == (429, "1", "busy")
        assert rewards(await server.rollouts(THREE[2])) == [0.55]
        await waiting
        rest = await server.rollouts(rollout(1, 40, group="large"), rollout(2, 50, group="large"))
        assert [*rewards(rest), *rewards(await large)] == [0.4, 0.5, 0.3]
        assert rewards(await server.rollouts(*({**one, "group_id": "h"} for one in THREE))) == [0.2, 0.9, 0.55]
        assert (await server.rollouts(rollout(0, size=5, group="k")))[0].status == 422


async def test_bytes_are_bounded_too(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty, size=780, body=2000) as server:
        waiting = asyncio.ensure_future(server.rollouts({**THREE[0], "rubric": "x" * 600}))
        await until(lambda: server.waiting >= 1)
        (refused,) = await server.rollouts(rollout(0, group="h"))
        assert refused.status == 429
        assert (await server.rollouts({**THREE[0], "rubric": "x" * 3000}))[0].status == 413
        chunked = await server.post("/v1/rollouts", _chunks(b"x" * 1500, 4))
        assert (chunked.status, chunked.body["kind"]) == (413, "too_large")
        server.ends.set()
        assert (await waiting)[0].status == 503


async def _chunks(part: bytes, count: int) -> Any:
    for _ in range(count):
        yield part


async def test_no_body_however_broken_is_more_than_a_refusal(faulty: FaultyServer) -> None:
    async with served(faulty) as server:
        for body in (b"", b"{", b"[]", b"\xff", b"null", b'{"group_id": "\\ud800"}', b"[" * 100_000):
            for path in ("/v1/rollouts", "/v1/groups", "/openrlhf", "/slime/remote_rm", "/verify", "/compare"):
                reply = await server.post(path, body)
                assert reply.status in {400, 422}, (path, reply.text)


# --- tenants ----------------------------------------------------------------------------------------------------------


def tenants() -> tuple[TenantSettings, ...]:
    from hashlib import sha256  # noqa: PLC0415 - for one test

    return tuple(
        TenantSettings(name, sha256(f"token-of-{name}".encode()).digest(), budget=budget)
        for name, budget in (("ann", None), ("bob", {"calls": 1}))
    )


async def test_each_token_has_its_own_groups_ledger_and_budget(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(worth())
    ann, bob = ({"Authorization": f"Bearer token-of-{name}"} for name in ("ann", "bob"))
    async with served(faulty, tenants=tenants(), ledger=str(tmp_path / "l.db")) as server:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic !"}):
            reply = await server.post("/v1/rollouts", THREE[0], headers=headers)
            assert (reply.status, reply.body["kind"]) == (401, "unauthorized")
        other = [{**one, "messages": THREE[2 - place]["messages"]} for place, one in enumerate(THREE)]
        assert rewards(await server.rollouts(*THREE, headers=ann)) == [0.2, 0.9, 0.55]
        assert rewards(await server.rollouts(*other, headers=bob)) == [0.55, 0.9, 0.2]
        spent = [{**one, "group_id": "h", "rubric": "x"} for one in THREE]
        assert rewards(await server.rollouts(*spent, headers=bob)) == [None] * 3
        assert rewards(await server.rollouts(*spent, headers=ann)) == [0.2, 0.9, 0.55]
        page = await server.get("/metrics", headers=ann)
        assert "calipers_server_rollouts_waiting 0.0" in page.text
        assert (await server.get("/metrics")).status == 401
        assert (await server.get("/healthz")).body["status"] == "ok"
    assert {one.name for one in os.scandir(tmp_path)} >= {"ann.l.db", "bob.l.db"}
    assert "l.db" not in {one.name for one in os.scandir(tmp_path)}


async def test_the_judge_and_the_end_are_part_of_readiness(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty) as server:
        assert (await server.get("/readyz")).body == {"status": "ready", "reason": None}
        server.service.draining = True
        reply = await server.get("/readyz")
        assert (reply.status, reply.body["reason"]) == (503, "it is about to end")
        server.service.draining = False


async def test_whole_groups_are_results_of_a_result_file_and_judged_once(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(worth())
    group = {
        "context": PROMPT,
        "trajectories": [{"id": str(n), "messages": one["messages"]} for n, one in enumerate(THREE)],
    }
    ledger = str(tmp_path / "l.db")
    async with served(faulty, ledger=ledger) as server:
        first, second = await asyncio.gather(*(server.post("/v1/groups", group) for _ in range(2)))
        assert first.text == second.text
        assert [one["reward"] for one in first.body["trajectories"]] == [0.2, 0.9, 0.55]
        assert "served" not in first.body
    async with served(faulty, ledger=ledger) as server:
        assert (await server.post("/v1/groups", group)).body == first.body
        named = {**group, "group_id": "g", "run": "r"}
        assert (await server.post("/v1/groups", named)).body["group_id"] == "g"
        assert (await server.post("/v1/groups", {"trajectories": []})).status == 422
        infinite = b'{"trajectories": [{"messages": [], "metadata": {"z": 1e999}}]}'
        assert (await server.post("/v1/groups", infinite)).status == 422
    assert questions(faulty) == 1


async def test_a_rollouts_policy_version_reaches_the_metrics_and_a_wrong_one_is_refused(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty) as server:
        versions: tuple[dict[str, Any], ...] = ({"policy_version": 5}, {"policy_version": [3, 4]}, {})
        bodies = [{**one, **version} for one, version in zip(THREE, versions, strict=True)]
        assert rewards(await server.rollouts(*bodies)) == [0.2, 0.9, 0.55]
        text = (await server.get("/metrics")).text
        assert "calipers_judge_staleness_max" in text
        for wrong in (-1, "5", [], True, [5, None]):
            reply = await server.post("/v1/rollouts", {**rollout(0, group="h"), "policy_version": wrong})
            assert reply.status == 422, wrong
