"""Several servers with one ledger in Postgres: a group's rollouts may arrive at any of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the server's packages are not installed: pip install 'calipers[server]'")
pytest.importorskip("uvicorn", reason="the server's packages are not installed: pip install 'calipers[server]'")
pytest.importorskip("asyncpg", reason="asyncpg is not installed: pip install 'calipers[postgres]'")

from calipers.ledger.postgres import gatherings
from calipers.server import AsyncClient
from calipers.server import shared_rollouts as implementation
from http_judge import worth
from served import PROMPT, Reply, Served, questions, rollout, served, until
from servers.faulty_server import FaultyServer, error
from servers.postgres_server import PostgresServer

pytestmark = pytest.mark.heavy

THREE = (rollout(0, 20), rollout(1, 90), rollout(2, 55))


@asynccontextmanager
async def two(faulty: FaultyServer, url: str, **options: Any) -> AsyncIterator[tuple[Served, Served]]:
    async with served(faulty, ledger=url, **options) as one, served(faulty, ledger=url, **options) as other:
        yield one, other


async def spread(one: Served, other: Served, *bodies: Any) -> list[Reply]:
    """The replies to rollouts of which every second one goes to the other server."""
    sent = ((other if place % 2 else one).post("/v1/rollouts", body) for place, body in enumerate(bodies))
    return await asyncio.gather(*sent)


def rewards(replies: list[Reply]) -> list[float | None]:
    assert {one.status for one in replies} == {200}, replies
    return [one.body["reward"] for one in replies]


async def test_rollouts_that_arrive_at_two_servers_are_one_group_and_known_at_both(
    faulty: FaultyServer, postgres_url: str
) -> None:
    faulty.script(worth())
    async with two(faulty, postgres_url) as (one, other):
        first = await spread(one, other, *THREE)
        assert rewards(first) == [0.2, 0.9, 0.55]
        again = await spread(other, one, *THREE)
        assert [reply.body for reply in again] == [reply.body for reply in first]
        assert questions(faulty) == 1
        await until(lambda: one.waiting == other.waiting == 0)
    async with served(faulty, ledger=postgres_url) as third:
        assert [reply.body for reply in await third.rollouts(*THREE)] == [reply.body for reply in first]
    assert questions(faulty) == 1


async def test_many_groups_at_once_are_each_judged_once(faulty: FaultyServer, postgres_url: str) -> None:
    faulty.script(worth())
    points = [(group, index, (group * 7 + index * 23) % 100) for group in range(60) for index in range(3)]
    bodies = [
        rollout(index, worth, group=f"g{group}", context=[*PROMPT, {"role": "user", "content": f"Task {group}."}])
        for group, index, worth in points
    ]
    async with two(faulty, postgres_url) as (one, other):
        found = await spread(one, other, *bodies, *bodies)
        assert rewards(found) == [worth / 100 for _, _, worth in points] * 2
        assert questions(faulty) == 60


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"messages": [{"role": "assistant", "content": "other worth 1"}]}, "arrived before with other messages"),
        ({"group_size": 4}, "has group_size 3"),
        ({"rubric": "Be brief."}, "another context, tools or rubric"),
    ],
)
async def test_what_contradicts_a_rollout_at_the_other_server_is_refused(
    faulty: FaultyServer, postgres_url: str, changed: dict[str, Any], said: str
) -> None:
    faulty.script(worth())
    async with two(faulty, postgres_url) as (one, other):
        waiting = asyncio.ensure_future(one.rollouts(*THREE[:2]))
        await until(lambda: one.waiting == 3)
        await other.rollouts(THREE[0], headers={"Prefer": "wait=1"})
        (refused,) = await other.rollouts({**THREE[0], **changed})
        assert (refused.status, said in refused.body["error"]) == (409, True), refused.text
        assert rewards(await other.rollouts(THREE[2])) == [0.55]
        assert rewards(await waiting) == [0.2, 0.9]


async def test_deadlines_quorums_and_late_rollouts_are_as_with_one_server(
    faulty: FaultyServer, postgres_url: str
) -> None:
    faulty.script(worth())
    async with two(faulty, postgres_url, wait=1.0) as (one, other):
        alone = asyncio.ensure_future(other.rollouts(rollout(0, group="alone")))
        lost = spread(one, other, *({**body, "group_id": "lost", "messages": []} for body in THREE))
        assert rewards(await spread(one, other, *THREE[:2])) == [0.2, 0.9]
        (late,) = await other.rollouts(THREE[2])
        assert (late.body["status"], late.body["reward"]) == ("late", None)
        assert rewards(await lost) == [None] * 3
        (given_up,) = await alone
        (again,) = await one.rollouts(rollout(0, group="alone"))
        assert given_up.body == again.body
        assert (given_up.body["status"], "1 of 3" in given_up.body["reason"]) == ("not_judged", True)
        (too_late,) = await one.rollouts(rollout(1, group="alone"))
        assert too_late.body["status"] == "late"
    assert questions(faulty) == 1


async def test_rollouts_that_are_reported_lost_at_either_server_are_not_waited_for_at_both(
    faulty: FaultyServer, postgres_url: str
) -> None:
    faulty.script(worth())
    gone = [{**body, "messages": []} for body in THREE]
    async with two(faulty, postgres_url, quorum=2) as (one, other):  # and without a deadline
        held = asyncio.ensure_future(spread(one, other, *THREE[:2]))
        await until(lambda: one.waiting == other.waiting == 3)
        (lost,) = await other.rollouts(gone[2])
        assert (lost.body["reward"], "no messages" in lost.body["reason"]) == (None, True)
        assert rewards(await held) == [0.2, 0.9]
        few = [{**body, "group_id": "few"} for body in (THREE[0], *gone[1:])]
        replies = await spread(one, other, *few)
        assert rewards(replies) == [None] * 3
        assert "1 of 3, with 2 lost and 0 still missing" in replies[0].body["reason"]
        again = await spread(other, one, gone[2], *few)
        assert [reply.body for reply in again] == [lost.body, *(reply.body for reply in replies)]
    assert questions(faulty) == 1


async def test_a_refusal_of_the_judge_reaches_the_callers_at_both_servers(
    faulty: FaultyServer, postgres_url: str
) -> None:
    faulty.script(error(401, "scripted: wrong key"))
    async with two(faulty, postgres_url) as (one, other):
        replies = await spread(one, other, *THREE)
    assert {(reply.status, reply.body["kind"]) for reply in replies} == {(503, "judge")}, replies


async def test_callers_of_a_server_that_ends_come_again_at_the_other(faulty: FaultyServer, postgres_url: str) -> None:
    faulty.script(worth())
    async with served(faulty, ledger=postgres_url) as other:
        async with served(faulty, ledger=postgres_url) as one:
            waiting = asyncio.ensure_future(one.rollouts(*THREE[:2]))
            await until(lambda: one.waiting == 3)
            await asyncio.sleep(0.2)
            one.ends.set()
            assert {reply.status for reply in await waiting} == {503}
        # The rollouts themselves are still in their group: the last one makes it whole.
        assert rewards(await other.rollouts(THREE[2])) == [0.55]
        assert rewards(await other.rollouts(*THREE[:2])) == [0.2, 0.9]
        assert questions(faulty) == 1


async def test_a_group_whose_server_ends_while_it_judges_is_judged_by_the_other(
    faulty: FaultyServer, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gatherings, "_ORPHAN_SECONDS", 0.2)
    monkeypatch.setattr(implementation, "_DUE_EVERY", 0.1)
    answer = worth()
    hanging = True

    def scripted(asked: Any) -> Any:
        from servers.faulty_server import Answer  # noqa: PLC0415 - for one test

        return Answer(hang=True) if hanging and "Score these" in str(asked.body["messages"]) else answer(asked)

    faulty.script(scripted)
    async with served(faulty, ledger=postgres_url) as other:
        held = asyncio.ensure_future(other.rollouts(THREE[0]))
        await until(lambda: other.waiting == 3)
        await asyncio.sleep(0.2)
        async with served(faulty, ledger=postgres_url, grace=1.0) as one:
            lost = [asyncio.ensure_future(one.post("/v1/rollouts", body)) for body in THREE[1:]]
            await until(lambda: questions(faulty) == 1)
            hanging = False
        await asyncio.gather(*lost, return_exceptions=True)
        assert rewards(await held) == [0.2]
        assert rewards(await other.rollouts(*THREE[1:])) == [0.9, 0.55]
    assert questions(faulty) == 2  # the one that was in flight was asked again


async def test_while_the_database_is_away_requests_get_503_and_later_their_answers(
    faulty: FaultyServer, postgres: PostgresServer, postgres_url: str
) -> None:
    faulty.script(worth())
    async with two(faulty, postgres_url) as (one, other):
        connections = [
            connection
            for server in (one, other)
            for tenant in server.service._tenants.values()
            for connection in _connections(tenant.ledger)
        ]
        usual = [connection._patience for connection in connections]
        for connection in connections:  # so that what is asked while the database is away fails soon
            connection._patience = 0.5
        waiting = asyncio.ensure_future(one.rollouts(THREE[0]))
        await until(lambda: one.waiting == 3)
        await asyncio.sleep(0.2)
        postgres.stop()
        try:
            (reply,) = await other.rollouts(THREE[1])
            assert (reply.status, reply.body["kind"], reply.headers["retry-after"]) == (503, "ledger", "1")
            assert "nothing recorded is lost" in reply.body["error"]
            assert "Traceback" not in reply.text
            assert (await other.get("/healthz")).status == 200
            ready = await other.get("/readyz")
            assert (ready.status, "the ledger cannot be read" in ready.body["reason"]) == (503, True)
        finally:
            postgres.start()
        for connection, patience in zip(connections, usual, strict=True):  # a busy machine needs it
            connection._patience = patience
        async with AsyncClient(other.url, timeout=80) as client:
            sent = (client.score_rollout("g", 3, n, THREE[n]["messages"], context=PROMPT) for n in (1, 2))
            assert [found.reward for found in await asyncio.gather(*sent)] == [0.9, 0.55]
        assert rewards(await waiting) == [0.2]
        assert questions(faulty) == 1


def _connections(ledger: Any) -> tuple[Any, ...]:
    return ledger._writer, ledger._reader, ledger.gatherings()._connection
