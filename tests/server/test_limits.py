"""The server at its limits: of time at its end, of memory, and of what several tenants or servers share."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import sqlite3
import threading
import time
from hashlib import sha256
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="the server's packages are not installed: pip install 'calipers[server]'")
pytest.importorskip("uvicorn", reason="the server's packages are not installed: pip install 'calipers[server]'")

import msgspec

from calipers.errors import ConfigError, LedgerError
from calipers.ledger.sqlite import Ledger
from calipers.server.collector import recorded_name
from calipers.server.limits import Room, wait_of
from calipers.server.tenants import TenantSettings
from http_judge import worth
from served import rollout, served, until
from servers.faulty_server import Answer, Asked, FaultyServer

THREE = (rollout(0, 20), rollout(1, 90), rollout(2, 55))


async def test_a_lost_rollout_gets_the_same_answer_after_a_restart(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(worth())
    ledger, lost = str(tmp_path / "ledger.db"), {**THREE[2], "messages": []}
    async with served(faulty, ledger=ledger) as server:
        before = (await server.rollouts(THREE[0], THREE[1], lost))[2].body
        assert before["status"] == "not_judged"
    async with served(faulty, ledger=ledger) as server:
        assert (await server.rollouts(lost))[0].body == before


async def test_groups_whose_judge_is_slower_than_the_grace_are_sent_away_in_the_described_form(
    faulty: FaultyServer, caplog: pytest.LogCaptureFixture
) -> None:
    answer, released, held = worth(), threading.Event(), []

    def slow(asked: Asked) -> Answer:
        if "Score these attempts" in str(asked.body):
            held.append(asked)
            released.wait(10)
        return answer(asked)

    faulty.script(slow)
    async with served(faulty, grace=1.0) as server:
        waiting = asyncio.ensure_future(server.rollouts(*THREE))
        await until(lambda: len(held) == 1)
        server.ends.set()
        replies = await waiting
        released.set()
        assert {(one.status, one.headers["retry-after"], one.body["kind"]) for one in replies} == {
            (503, "1", "draining")
        }
        await server.ended()
    # The judge of this test, which is cut off as well, logs that in its own name.
    assert [one for one in caplog.records if one.exc_info and one.name.startswith(("uvicorn", "calipers"))] == []


async def test_a_request_that_does_not_arrive_is_refused_and_does_not_delay_the_end(
    faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = b"POST /v1/rollouts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
    async with served(faulty, grace=1.0) as server:
        host, port = server.url.removeprefix("http://").split(":")
        monkeypatch.setattr("calipers.server.limits.TO_READ", 0.2)
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(half)
        refused = (await reader.read()).decode()
        assert refused.startswith("HTTP/1.1 408 ")
        assert '"too_slow"' in refused
        writer.close()
        monkeypatch.setattr("calipers.server.limits.TO_READ", 60.0)
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(half)
        await until(lambda: server.service.counts.in_flight == 1)
        server.ends.set()
        assert '"draining"' in (await reader.read()).decode()
        writer.close()
        await server.ended(10.0)


@pytest.mark.parametrize("groups", [1, 2])
async def test_what_never_fits_is_refused_for_good_and_not_sent_away_to_come_again(
    faulty: FaultyServer, groups: int
) -> None:
    big = [{"role": "assistant", "content": "x" * (2500 // groups)}]
    async with served(faulty, size=1000, body=4000) as server:
        *waiting, last = (
            asyncio.ensure_future(server.post("/v1/rollouts", {**one, "messages": big})) for one in THREE[:groups]
        )
        refused = await (await asyncio.wait([*waiting, last], return_when="FIRST_COMPLETED"))[0].pop()
        assert (refused.status, refused.body["kind"]) == (413, "too_large")
        assert "--max-waiting-mb" in refused.body["error"]
        server.ends.set()
        await asyncio.gather(*waiting, last)


def test_room_for_less_than_one_request_is_refused_at_the_start() -> None:
    Room(rollouts=1, size=10).require_fits(10)
    with pytest.raises(ConfigError, match="raise --max-waiting-mb or lower --max-body-mb"):
        Room(rollouts=1, size=10).require_fits(11)


async def test_the_lost_run_of_one_of_several_tenants_is_no_reason_not_to_be_ready(faulty: FaultyServer) -> None:
    faulty.script(worth())
    two = [TenantSettings(name, sha256(name.encode()).digest()) for name in ("ann", "bob")]
    for tenants, status in ((two, 200), (two[:1], 503)):
        async with served(faulty, tenants=tenants, patience=1) as server:
            key = {"Authorization": "Bearer ann"}
            server.service.tenant_of(b"Bearer ann").run.lost_before_judging("g", "nobody came")
            assert (await server.post("/v1/rollouts", THREE[0], headers=key)).body["kind"] == "judge"
            assert (await server.get("/readyz")).status == status


async def test_a_server_is_ready_while_the_ledger_of_any_of_its_tenants_can_be_read(
    faulty: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    faulty.script(worth())
    two = [TenantSettings(name, sha256(name.encode()).digest()) for name in ("ann", "bob")]
    ann, bob = ({"Authorization": f"Bearer {name}"} for name in ("ann", "bob"))
    async with served(faulty, tenants=two, ledger=str(tmp_path / "l.db")) as server:
        ledgers = [server.service.tenant_of(f"Bearer {name}".encode()).ledger for name in ("ann", "bob")]
        assert ledgers[0] is not None
        assert ledgers[1] is not None
        ledgers[0].close()
        assert (await server.get("/readyz")).status == 200
        assert "tenant ann is not ready: " in caplog.text
        assert (await server.post("/v1/rollouts", THREE[0], headers=ann)).body["kind"] == "ledger"
        assert {one.status for one in await server.rollouts(*THREE, headers=bob)} == {200}
        ledgers[1].close()
        reply = await server.get("/readyz")
        assert (reply.status, reply.body["reason"]) == (503, "the ledger cannot be used; the server's log says why")


async def test_a_request_may_wait_begin_and_be_coded_in_other_ways(faulty: FaultyServer) -> None:
    async with served(faulty) as server:
        for wait, applied in (("Wait=1", "wait=1"), ("respond-async, wait = 1", "wait=1")):
            reply = await server.post("/v1/rollouts", THREE[0], headers={"Prefer": wait})
            assert (reply.status, reply.headers["preference-applied"]) == (202, applied)
        packed = gzip.compress(msgspec.json.encode(THREE[0]))
        reply = await server.post("/v1/rollouts", packed, headers={"Content-Encoding": "gzip"})
        assert (reply.status, reply.body["kind"]) == (415, "compressed")
    assert wait_of({"headers": [(b"prefer", b"wait=99999999")]}) == 86_400


async def test_a_system_without_open_files_is_a_reason_to_come_again_and_the_search_needs_none(
    faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: object) -> None:
        raise OSError(24, "Too many open files")

    searched: list[object] = []
    monkeypatch.setattr("calipers.server.service.find_attacks", searched.append)
    async with served(faulty) as server:
        assert searched
        monkeypatch.setattr(server.service.tenant_of(None).own, "of_rollout", failing)
        reply = await server.post("/v1/rollouts", THREE[0])
        assert (reply.status, reply.headers["retry-after"], reply.body["kind"]) == (503, "1", "internal")


async def test_without_tokens_only_requests_of_this_machine_are_answered(faulty: FaultyServer) -> None:
    async with served(faulty) as server:
        paths = ("/v1/rollouts", "/metrics", "/healthz", "/nothing")
        foreign = ({"Host": "rebound.example"}, {"Origin": "https://page.example"}, {"Origin": "null"})
        for path in paths:
            for headers in foreign:
                ask = (
                    server.post(path, THREE[0], headers=headers) if "v1" in path else server.get(path, headers=headers)
                )
                assert (await ask).status == 403, (path, headers)
        near = {"Host": "localhost:80", "Origin": "http://127.0.0.1:3000", "Prefer": "wait=1"}
        assert (await server.post("/v1/rollouts", THREE[0], headers=near)).status == 202
    tenant = [TenantSettings("ann", sha256(b"ann").digest())]
    async with served(faulty, tenants=tenant) as server:
        assert (await server.get("/healthz", headers={"Host": "judge.example"})).status == 200


async def test_headers_and_idle_connections_are_bounded(faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cut(*parts: bytes) -> bool:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            return await asyncio.wait_for(reader.read(), 5) == b""
        except ConnectionError:
            return True
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async with served(faulty) as server:
        host, port = server.url.removeprefix("http://").split(":")
        assert await cut(b"GET /healthz HTTP/1.1\r\n", *(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(400)))
        monkeypatch.setattr("calipers.server.limits.HEADER_SECONDS", 0.2)
        assert await cut()
        assert await cut(b"GET /healthz HTTP/1.1\r\nHost:")


async def test_bodies_that_are_being_sent_are_bounded_together(faulty: FaultyServer) -> None:
    async with served(faulty, size=2**18, body=2**18) as server:
        host, port = server.url.removeprefix("http://").split(":")
        head = b"POST /v1/rollouts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 250000\r\n\r\n"
        opened = [await asyncio.open_connection(host, port) for _ in range(6)]
        for _, writer in opened:
            writer.write(head + b" " * 200_000)
        refused = [asyncio.ensure_future(reader.read(12)) for reader, _ in opened]
        first = (await asyncio.wait(refused, return_when="FIRST_COMPLETED"))[0].pop().result()
        assert first == b"HTTP/1.1 429"
        for _, writer in opened:
            writer.close()
        await until(lambda: server.service.room.arriving == 0)


async def test_the_room_of_a_tenant_is_its_own(faulty: FaultyServer) -> None:
    faulty.script(worth())
    two = [TenantSettings(name, sha256(name.encode()).digest()) for name in ("ann", "bob")]
    ann, bob = ({"Authorization": f"Bearer {name}"} for name in ("ann", "bob"))
    async with served(faulty, tenants=two, rollouts=6) as server:
        many = [rollout(0, group=str(n)) for n in range(4)]
        waiting = [asyncio.ensure_future(server.post("/v1/rollouts", one, headers=ann)) for one in many]
        refused = (await asyncio.wait(waiting, return_when="FIRST_COMPLETED"))[0].pop().result()
        assert refused.status == 429
        assert [one.status for one in await server.rollouts(*THREE, headers=bob)] == [200] * 3
        server.ends.set()
        await asyncio.gather(*waiting)


def test_two_groups_never_share_a_name_in_the_ledger() -> None:
    pairs = [
        (run, group) for run in ("", "a", "b", "a:b", "a%3Ab", ":") for group in ("a:b", "b", ":b", "a:a:b", "", ":")
    ]
    assert len({recorded_name(*pair) for pair in pairs}) == len(pairs)


async def test_neither_a_locked_ledger_nor_one_that_cannot_be_written_stops_others_or_costs_a_question(
    faulty: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty.script(worth())
    async with served(faulty, ledger=str(tmp_path / "l.db")) as server:
        with contextlib.closing(sqlite3.connect(tmp_path / "l.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.ensure_future(server.rollouts(*THREE))
            for _ in range(10):
                began = time.perf_counter()
                assert (await server.get("/healthz")).status == 200
                assert time.perf_counter() - began < 1
                await asyncio.sleep(0.05)
            assert not waiting.done()
            other.execute("ROLLBACK")
        assert [one.body["reward"] for one in await waiting] == [0.2, 0.9, 0.55]
        asked = len(faulty.posts)

        async def full(_: object) -> None:
            raise LedgerError("the disk is full")

        monkeypatch.setattr(Ledger, "require_writable", full)
        replies = await server.rollouts(*({**one, "group_id": "h", "rubric": "x"} for one in THREE))
        assert {(one.status, one.body["kind"]) for one in replies} == {(503, "ledger")}
        assert len(faulty.posts) == asked
        assert (await server.get("/readyz")).status == 503


async def test_what_a_group_announces_takes_no_place_of_others(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty, rollouts=5000) as server:
        tiny = [rollout(0, group=f"tiny {n}", size=4096) for n in range(4)]
        waiting = [asyncio.ensure_future(server.post("/v1/rollouts", one)) for one in tiny]
        await until(lambda: server.waiting == 4)
        assert [one.status for one in await server.rollouts(*THREE)] == [200] * 3
        server.ends.set()
        await asyncio.gather(*waiting)


@pytest.mark.slow
async def test_megabytes_of_hostile_text_keep_nobody_waiting(faulty: FaultyServer) -> None:
    faulty.script(worth())
    async with served(faulty, wait=1.0, quorum=3) as server:
        for text in ("<|im_start|>", "a\u200b", "a\u202eb "):
            body = {**THREE[0], "group_id": text, "messages": [{"role": "assistant", "content": text * 300_000}]}
            waiting = asyncio.ensure_future(server.post("/v1/rollouts", io.BytesIO(msgspec.json.encode(body))))
            longest = 0.0
            while not waiting.done():
                began = time.perf_counter()
                await server.get("/healthz")
                longest = max(longest, time.perf_counter() - began)
            assert (await waiting).status == 200
            assert longest < 1, text
