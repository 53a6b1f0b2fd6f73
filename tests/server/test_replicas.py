"""Several servers with one ledger in Postgres: a proxy sends all rollouts of a group to one of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("asyncpg", reason="asyncpg is not installed: pip install 'calipers[postgres]'")

from http_judge import worth
from served import THREE, questions, rewards, served
from servers.faulty_server import FaultyServer

pytestmark = [pytest.mark.heavy, pytest.mark.slow]


async def test_a_group_that_reaches_one_server_is_known_at_both(faulty: FaultyServer, postgres_url: str):
    faulty.script(worth())
    async with served(faulty, ledger=postgres_url) as one, served(faulty, ledger=postgres_url) as other:
        first = await one.rollouts(*THREE)
        assert rewards(first) == [0.2, 0.9, 0.55]
        assert [reply.body for reply in await other.rollouts(*THREE)] == [reply.body for reply in first]
    assert questions(faulty) == 1


async def test_a_group_that_is_spread_over_servers_has_no_signal(faulty: FaultyServer, postgres_url: str):
    faulty.script(worth())
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
