"""Groups that several servers gather together in Postgres: nothing is lost, and one of them judges each group."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("asyncpg", reason="asyncpg is not installed: pip install 'calipers[postgres]'")

from calipers.errors import LedgerError
from calipers.ledger import open_ledger
from calipers.ledger.gatherings import Arrival, Closed, Gatherings, Joining
from calipers.ledger.postgres import gatherings as implementation
from calipers.ledger.tables import GROUPS
from servers.postgres_server import PostgresServer

pytestmark = pytest.mark.heavy


def arrival(place: int, *, name: str = "g", size: int = 3, **more: Any) -> Arrival:
    values: dict[str, Any] = {"seen": b"%d" % place, "body": b"[%d]" % place, "wait": 60.0, "needed": 2} | more
    return Arrival(name, size, b"same", b"{}", place, **values)


@asynccontextmanager
async def servers(url: str, count: int) -> AsyncIterator[list[Gatherings]]:
    """So many servers' views of one ledger."""
    ledgers = [open_ledger(url) for _ in range(count)]
    try:
        found = [one.gatherings() for one in ledgers]
        yield [one for one in found if one is not None]
    finally:
        for ledger in ledgers:
            await asyncio.to_thread(ledger.close)


async def test_a_group_is_closed_once_by_the_server_that_gets_its_last_rollout(postgres_url: str) -> None:
    async with servers(postgres_url, 2) as (one, two):
        first = await one.join([arrival(0), arrival(1)])
        assert (first.closed, [found.number > 0 for found in first.joined]) == ([], [True, True])
        assert await one.join([arrival(0)]) == replace_joined(first, 0)  # the same again changes nothing
        last = await two.join([arrival(2)])
        assert last.closed == [
            Closed("g", 3, b"same", b"{}", {n: b"[%d]" % n for n in range(3)}, {n: b"%d" % n for n in range(3)}, 0)
        ]
        number = first.joined[0].number
        assert await one.ended({"g": number}) == []
        assert (await one.join([arrival(1)])).closed == []
        assert await one.close_due(9) == [] == await two.close_due(9)
        await two.end(["g"], {}, [])
        assert [found.why for found in await one.ended({"g": number})] == [None]


def replace_joined(joining: Joining, place: int) -> Joining:
    return Joining([joining.joined[place]])


async def test_what_contradicts_is_refused_and_the_late_are_told(postgres_url: str) -> None:
    async with servers(postgres_url, 2) as (one, two):
        await one.join([arrival(0), arrival(1)])
        wrong = [arrival(0, seen=b"other"), arrival(0, size=4), replace(arrival(0), seen_shared=b"other")]
        assert [found.refused for found in (await two.join(wrong)).joined] == ["messages", "size", "shared"]
        await two.join([arrival(2, body=None)])  # reported lost
        (late,) = (await one.join([arrival(2, name="h", wait=0.01), arrival(3, name="h", wait=0.01)])).joined[:1]
        assert late.refused is None
        await asyncio.sleep(0.05)
        (closed,) = await two.close_due(9)
        assert (closed.name, sorted(closed.bodies)) == ("h", [2, 3])
        assert (await one.join([arrival(0, name="h")])).joined[0].late
        absent = (await one.join([replace(arrival(0, name="k"), shared=None)])).joined
        assert absent[0].refused == "absent"


async def test_too_many_lost_rollouts_close_a_group_before_its_deadline(postgres_url: str) -> None:
    async with servers(postgres_url, 1) as (one,):
        joined = await one.join([arrival(0), arrival(1, body=None), arrival(2, body=None)])
        assert [(closed.lost, list(closed.bodies)) for closed in joined.closed] == [(2, [0])]
        await one.end([], {"g": ("too few came", 0.2)}, [])
        assert [found.why for found in await one.ended({"g": joined.joined[0].number})] == ["too few came"]
        assert (await one.join([arrival(0)])).joined[0].ended == "too few came"
        await asyncio.sleep(0.3)
        assert await one.close_due(9) == []  # it also forgets
        assert (await one.join([arrival(0)])).joined[0].ended is None


async def test_a_recorded_group_does_not_begin_anew(postgres_url: str) -> None:
    with open_ledger(postgres_url) as ledger:
        ledger.insert(
            "INSERT INTO runs (version, settings, learned, started_at) VALUES (?, ?, ?, ?)", ("0", "{}", "[]", "")
        )
        ledger.put(GROUPS.insert_or_replace, (1, 0, "g\0", "{}", "{}"))
        await ledger.commit()
        found = ledger.gatherings()
        assert found is not None
        joined = await found.join([arrival(0, name="g\0"), arrival(0, name="h")])
        assert [one.recorded for one in joined.joined] == [True, False]
        assert (await found.join([replace(arrival(0, name="g\0"), shared=None)])).joined[0].recorded
        assert (await found.join([arrival(0, name="g\0", replaces=True)])).joined[0].number > 0


async def test_the_groups_of_a_worker_that_is_gone_are_judged_by_another(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(implementation, "_ORPHAN_SECONDS", 0.1)
    async with servers(postgres_url, 1) as (living,):
        gone = open_ledger(postgres_url)
        found = gone.gatherings()
        assert found is not None
        assert len((await found.join([arrival(place) for place in range(3)])).closed) == 1
        assert await living.close_due(9) == []
        await asyncio.to_thread(gone.close)
        assert await living.close_due(9) == []  # it may only have lost its connection
        await asyncio.sleep(0.15)
        assert [one.name for one in await living.close_due(9)] == ["g"]
        await living.end([], {}, ["g"])  # it cannot judge it either
        assert [one.name for one in await living.close_due(9)] == ["g"]


@pytest.mark.parametrize("seed", range(3))
async def test_servers_that_join_at_once_never_lock_each_other_out_and_close_each_group_once(
    postgres: PostgresServer, postgres_url: str, seed: int
) -> None:
    draw = random.Random(seed)
    names = [f"g{number}" for number in range(60)]
    everything = [arrival(place, name=name) for name in names for place in range(3)] * 2
    draw.shuffle(everything)
    closed: list[str] = []

    async def send(server: Gatherings, part: list[Arrival]) -> None:
        while part:
            batch, part = part[:7], part[7:]
            found = await server.join(batch)
            closed.extend(one.name for one in found.closed)
            assert all(one.refused is None or one.refused == "absent" for one in found.joined)
            if found.closed:
                await server.end([], {one.name: ("done", 60.0) for one in found.closed}, [])

    async with servers(postgres_url, 3) as all_servers:
        await asyncio.gather(
            *(send(server, everything[number::3]) for number, server in enumerate(all_servers)),
        )
        assert sorted(closed) == sorted(names)
        before = postgres.run("psql", "-Atc", "SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'")
        assert before.stdout.strip() == b"0"


async def test_a_database_that_is_away_is_an_error_and_joins_go_on_when_it_is_back(
    postgres: PostgresServer, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with servers(postgres_url, 1) as (one,):
        await one.join([arrival(0)])
        monkeypatch.setattr(one._connection, "_patience", 0.3)  # type: ignore[attr-defined]
        postgres.stop()
        try:
            with pytest.raises(LedgerError, match="cannot be written"):
                await one.join([arrival(1)])
        finally:
            postgres.start()
        with suppress(LedgerError):  # the first try may meet a server that is still starting
            await one.join([arrival(1)])
        assert len((await one.join([arrival(1), arrival(2)])).closed) == 1
