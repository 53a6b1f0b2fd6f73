"""Rollouts that arrive one at a time over real sockets: judged once, each caller answered with its own reward."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

from calipers.ledger.sqlite import Ledger
from calipers.server import collector
from http_judge import worth
from served import GROUP, THREE, questions, rewards, rollout, served, until
from servers.faulty_server import Answer, Asked, FaultyServer, error


async def test_a_whole_group_is_judged_once_and_each_caller_gets_its_own_reward(faulty: FaultyServer):
    async with served(faulty) as server:
        replies = await server.rollouts(*reversed(THREE))
        assert rewards(replies) == [0.55, 0.9, 0.2]
        assert replies[0].body == {
            "group_id": "g", "index": 2, "status": "scored", "reward": 0.55, "score": 0.55, "stderr": None,
            "reason": None, "rewarded": 3,
        }  # fmt: skip
        assert questions(faulty) == 1
        assert server.waiting == 0


async def test_the_same_rollout_twice_is_one_rollout(faulty: FaultyServer, location: str):
    async with served(faulty, ledger=location) as server:
        assert (await server.post("/v1/rollouts", THREE[0], headers={"Prefer": "wait=1"})).body == {"status": "waiting"}
        replies = await server.rollouts(THREE[0], *THREE, THREE[1])
        assert rewards(replies) == [0.2, 0.2, 0.9, 0.55, 0.9]
        assert rewards(await server.rollouts(*THREE)) == [0.2, 0.9, 0.55]
        assert questions(faulty) == 1


async def test_at_the_deadline_a_quorum_is_judged_and_less_than_a_quorum_gets_no_number(faulty: FaultyServer):
    async with served(faulty, wait=0.3) as server:
        alone = await server.held(rollout(0, group="alone"))
        assert rewards(await server.rollouts(*THREE[:2])) == [0.2, 0.9]
        (late,), (lost,) = await server.rollouts(THREE[2]), await alone
        for reply, status, words in ((late, "late", "closed"), (lost, "not_judged", "1 of 3")):
            assert (reply.status, reply.body["status"], reply.body["reward"]) == (200, status, None)
            assert words in reply.body["reason"]
        assert (questions(faulty), server.waiting) == (1, 0)


async def test_the_siblings_of_a_lost_rollout_do_not_wait(faulty: FaultyServer, tmp_path: Path):
    lost, ledger = {**THREE[2], "messages": []}, str(tmp_path / "l.db")
    async with served(faulty, ledger=ledger) as server:
        replies = await server.rollouts(THREE[0], THREE[1], lost)
        assert rewards(replies) == [0.2, 0.9, None]
        assert replies[2].body["status"] == "not_judged"
        (after_all,) = await server.rollouts(THREE[2])
        assert after_all.body["status"] == "late"
        all_lost = ({**one, "group_id": "h", "messages": []} for one in THREE)
        assert rewards(await server.rollouts(*all_lost)) == [None, None, None]
        await until(lambda: server.waiting == 0)
    async with served(faulty, ledger=ledger) as server:
        assert [one.body for one in await server.rollouts(lost, THREE[2])] == [replies[2].body, after_all.body]


async def test_a_failed_judgment_is_never_a_number(faulty: FaultyServer):
    for never, down, statuses, numbers in [
        ([55], None, ["scored", "scored", "abstained"], [0.2, 0.9, None]),
        ([55, 90], None, ["too_few", "abstained", "abstained"], [None] * 3),
        ([], "Tell a joke", ["failed"] * 3, [None] * 3),
    ]:
        faulty.script(worth(never=never, down=down))
        async with served(faulty) as server:
            replies = await server.rollouts(*THREE)
            assert (rewards(replies), [one.body["status"] for one in replies]) == (numbers, statuses)
            assert all((one.body["reward"] is None) == bool(one.body["reason"]) for one in replies)


@pytest.mark.parametrize("answered", [False, True])
async def test_what_contradicts_or_cannot_be_read_is_refused(faulty: FaultyServer, *, answered: bool):
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"messages": rollout(0, 1)["messages"]}, 409, "arrived before with other messages"),
        ({"group_size": 4}, 409, "has group_size 3"),
        ({"context": [{"role": "user", "content": "Other?"}]}, 409, "another context"),
        ({"rubric": "Be brief."}, 409, "another context, tools or rubric"),
        ({"index": 3}, 422, "index 3 is not below group_size 3"),
        ({"index": -1}, 422, "$.index"),
        ({"group_size": "3"}, 422, "Expected `int`"),
        ({"group_id": ""}, 422, "$.group_id"),
        ({"rubrik": "x"}, 422, "rubrik"),
        ({"run": "a b"}, 422, "$.run"),
        ({"index": 1, "messages": [{"role": "assistant", "content": 5}]}, 422, "content"),
        ({"policy_version": [5, None]}, 422, "$.policy_version"),
    ]
    async with served(faulty) as server:
        for bad in ({"context": [{"role": "user", "content": 5}]}, {"rubric": {"criteria": 3}}):
            assert (await server.rollouts({**THREE[0], **bad}))[0].status == 422
        assert server.waiting == 0
        waiting = None if answered else await server.held(THREE[0])
        if answered:
            await server.rollouts(*THREE)
        replies = [(await server.rollouts({**THREE[0], **changed}))[0] for changed, _, _ in cases]
        assert [
            (changed, reply.text)
            for (changed, status, reason), reply in zip(cases, replies, strict=True)
            if reply.status != status or reason not in reply.body["error"]
        ] == []
        assert [one for one in replies if one.body["request_id"] != one.headers["x-request-id"]] == []
        assert rewards(await server.rollouts(*THREE)) == [0.2, 0.9, 0.55]
        assert waiting is None or rewards(await waiting) == [0.2]
        assert questions(faulty) == 1


async def test_equal_groups_of_two_runs_and_equal_prompts_of_two_groups_stay_apart(faulty: FaultyServer):
    async with served(faulty) as server:
        second = [{**one, "run": "b", "messages": THREE[2 - place]["messages"]} for place, one in enumerate(THREE)]
        third = [{**one, "group_id": "h"} for one in THREE]
        replies = await server.rollouts(*THREE, *second, *third)
        assert rewards(replies) == [0.2, 0.9, 0.55, 0.55, 0.9, 0.2, 0.2, 0.9, 0.55]


def test_two_groups_never_share_a_name_in_the_ledger():
    runs, groups = ("", "a", "b", "a:b", "a%3Ab", ":"), ("a:b", "b", ":b", "a:a:b", "", ":")
    assert len({collector.recorded_name(run, group) for run in runs for group in groups}) == len(runs) * len(groups)


# --- after a restart --------------------------------------------------------------------------------------------------


async def test_a_restart_loses_nothing_that_was_answered(faulty: FaultyServer, tmp_path: Path):
    faulty.script(worth(never=[55]))
    ledger, named = str(tmp_path / "ledger.db"), [{**one, "run": "b"} for one in THREE]
    async with served(faulty, ledger=ledger) as server:
        before = await server.rollouts(*THREE, *named)
    async with served(faulty, ledger=ledger) as server:
        asked = questions(faulty)
        again = await server.rollouts(*THREE, *named)
        assert [one.text for one in again] == [one.text for one in before]
        (other,) = await server.rollouts({**THREE[0], "messages": THREE[1]["messages"]})
        assert other.status == 409
        assert questions(faulty) == asked


async def test_a_group_that_failed_is_judged_after_a_restart(
    faulty: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    ledger = str(tmp_path / "ledger.db")
    for judge, statuses in ((error(404, "no such model"), {503}), (worth(down="Tell a joke"), {200})):
        faulty.script(judge)
        async with served(faulty, ledger=ledger) as server:
            replies = await server.rollouts(*THREE)
            assert {one.status for one in replies} == statuses
    async with served(faulty, ledger=ledger, wait=0.3, patience=1) as server:  # only this answer never arrived
        assert [one.body for one in await server.rollouts(THREE[1])] == [replies[1].body]
        assert server.service.tenants["default"].run.ended is None
    faulty.script(worth())
    async with served(faulty, ledger=ledger) as server:
        assert rewards(await server.rollouts(*THREE)) == [0.2, 0.9, 0.55]
    assert "judged by" not in caplog.text
    async with served(faulty, ledger=ledger, judge={"judge": "openai/other"}) as server:
        assert rewards(await server.rollouts(*THREE)) == [0.2, 0.9, 0.55]
    assert "judged by judge: sent again, they get its answers" in caplog.text


async def test_old_answers_come_from_the_ledger(faulty: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(collector, "_REMEMBERED", 1)
    async with served(faulty, ledger=str(tmp_path / "ledger.db")) as server:
        for group in "abcabc":
            assert rewards(await server.rollouts(*({**one, "group_id": group} for one in THREE))) == [0.2, 0.9, 0.55]


async def test_a_group_is_judged_to_its_end_when_the_server_ends(faulty: FaultyServer, tmp_path: Path):
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
        released.set()
    async with served(faulty, ledger=ledger) as server:
        assert rewards(await server.rollouts(*THREE)) == [0.2, 0.9, 0.55]
    assert questions(faulty) == 1


# --- other forms ------------------------------------------------------------------------------------------------------


async def test_no_body_however_broken_is_more_than_a_refusal(faulty: FaultyServer):
    async with served(faulty) as server:
        for body in (b"", b"{", b"[]", b"\xff", b"null", b"[" * 100_000):
            for path in ("/v1/rollouts", "/v1/groups", "/openrlhf", "/slime/remote_rm", "/verify"):
                reply = await server.post(path, body)
                assert reply.status in {400, 422}, (path, reply.text)
        for other in (b'{"index": NaN}', '{"index": 0}'.encode("utf-16")):
            assert "surrogate" not in (await server.post("/v1/rollouts", other)).text
        for half in (b'{"group_id": "\\ud800"}', b'{"group_id": "\\udfffabcdefghi"}'):
            reply = await server.post("/v1/rollouts", half)
            assert (reply.status, "half of a surrogate pair" in reply.body["error"]) == (400, True), reply.text
        for path, status in (("/v1/nothing", 404), ("/healthz", 405)):
            reply = await server.post(path, {})
            assert (reply.status, reply.body["request_id"]) == (status, reply.headers["x-request-id"])


async def test_whole_groups_are_results_of_a_result_file_and_judged_once(faulty: FaultyServer, tmp_path: Path):
    ledger = str(tmp_path / "l.db")
    async with served(faulty, ledger=ledger) as server:
        first, second = await asyncio.gather(*(server.post("/v1/groups", GROUP) for _ in range(2)))
        assert first.text == second.text
        assert [one["reward"] for one in first.body["trajectories"]] == [0.2, 0.9, 0.55]
        assert "served" not in first.body
    async with served(faulty, ledger=ledger) as server:
        assert (await server.post("/v1/groups", GROUP)).body == first.body
        named = {**GROUP, "group_id": "g", "run": "r"}
        assert (await server.post("/v1/groups", named)).body["group_id"] == "g"
        infinite = b'{"trajectories": [{"messages": [], "metadata": {"z": 1e999}}]}'
        bodies: tuple[Any, ...] = ({"trajectories": []}, infinite)
        assert [(await server.post("/v1/groups", one)).status for one in bodies] == [422, 422]
    assert questions(faulty) == 1


async def test_an_id_names_one_group_of_its_run_however_it_came(faulty: FaultyServer, tmp_path: Path):
    ledger, whole = str(tmp_path / "l.db"), {**GROUP, "group_id": "whole"}
    other = {**whole, "trajectories": whole["trajectories"][:2]}
    refused = [("/v1/groups", other), ("/v1/groups", {**GROUP, "group_id": "g"})]
    refused += [("/v1/rollouts", {**THREE[0], "group_id": "whole"})]
    with contextlib.closing(Ledger(ledger)) as of_another_command:
        first: list[str] = []
        for _ in range(2):
            async with served(faulty, ledger=ledger) as server:
                answers = [*(await server.rollouts(*THREE)), await server.post("/v1/groups", whole)]
                answers.append(await server.post("/v1/groups", {**other, "run": "b"}))
                first = first or [one.text for one in answers]
                assert [one.text for one in answers] == first
                assert [(await server.post(*one)).body["kind"] for one in refused] == ["conflict"] * 3
            row = ("whole", '{"trajectories": []}', "{}")
            of_another_command.put("INSERT INTO groups SELECT max(run), max(position) + 1, ?, ?, ?, 0 FROM groups", row)
            await of_another_command.commit()
    assert questions(faulty) == 2


async def test_a_rollouts_policy_version_reaches_the_metrics(faulty: FaultyServer):
    async with served(faulty) as server:
        versions: tuple[dict[str, Any], ...] = ({"policy_version": 5}, {"policy_version": [3, 4]}, {})
        bodies = [{**one, **version} for one, version in zip(THREE, versions, strict=True)]
        assert rewards(await server.rollouts(*bodies)) == [0.2, 0.9, 0.55]
        assert "calipers_judge_staleness_max" in (await server.get("/metrics")).text


# --- several servers with one ledger in Postgres ----------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.slow
async def test_a_group_that_reaches_one_server_is_known_at_both(faulty: FaultyServer, postgres_url: str):
    async with served(faulty, ledger=postgres_url) as one, served(faulty, ledger=postgres_url) as other:
        first = await one.rollouts(*THREE)
        assert rewards(first) == [0.2, 0.9, 0.55]
        assert [reply.body for reply in await other.rollouts(*THREE)] == [reply.body for reply in first]
    assert questions(faulty) == 1


@pytest.mark.heavy
@pytest.mark.slow
async def test_a_group_that_is_spread_over_servers_has_no_signal(faulty: FaultyServer, postgres_url: str):
    shared: dict[str, Any] = {"ledger": postgres_url, "wait": 1.0}
    async with served(faulty, **shared) as one, served(faulty, **shared) as other:
        parts = await asyncio.gather(one.rollouts(*THREE[:2]), other.rollouts(THREE[2]))
        replies = [reply for part in parts for reply in part]
        assert rewards(replies) == [None] * 3
        assert [reply.body["reason"] for reply in replies if "X-Group-Id" not in reply.body["reason"]] == []
        assert (await one.rollouts(THREE[0]))[0].body == replies[0].body
        lost = [{**body, "group_id": "lost", "messages": body["messages"] if n else []} for n, body in enumerate(THREE)]
        assert rewards(await one.rollouts(*lost)) == [None, 0.9, 0.55]
    assert questions(faulty) == 1
