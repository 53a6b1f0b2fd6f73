"""Large replies over a real socket: all of them read, in little room, and no waiting for room is a timeout."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import calipers
from backends.virtual import PassingLoop
from calipers.backends.providers.openai_compatible import read_chat_reply
from calipers.backends.transport.http import HttpClient
from calipers.backends.transport.refusals import read_refusal
from calipers.backends.transport.reply import HttpReply, Peer
from calipers.backends.transport.reply_memory import FREE, ReplyMemory, Reservation
from calipers.errors import TransientError
from groups import FOUR, group_of
from servers.faulty_server import Answer, Asked, FaultyServer, said, streamed

MB = 2**20


def verdict(asked: Asked, size: int) -> str:
    properties = asked.body["response_format"]["json_schema"]["schema"]["properties"]["scores"]["properties"]
    scores = {key: 90 - 20 * place for place, key in enumerate(properties)}
    return json.dumps({"scores": scores, "explanations": {next(iter(scores)): "It looks. " * (size // 10)}})


@pytest.mark.parametrize("concurrency", [1, 16])
async def test_large_verdicts_that_come_at_once_are_all_read_in_the_room_of_a_few(
    faulty: FaultyServer, concurrency: int
) -> None:
    faulty.script(lambda asked: said(verdict(asked, 6 * MB)))
    judge = calipers.Judge(
        "openai/judge", base_url=faulty.url, api_key="k", calls={"attempts": 1}, concurrency=concurrency
    )
    groups = [group_of(FOUR, group_id=str(n), question=f"{n}?") for n in range(16)]
    results = [result async for result in judge.score_groups(groups, ordered=True)]
    assert {result.status for result in results} == {"scored"}
    explained = [one.explanation for one in results[0].trajectories if one.explanation]
    assert len(explained[0]) < 10_000
    assert explained[0].endswith("…")


def test_waiting_for_room_is_no_timeout(faulty: FaultyServer) -> None:
    """Two replies: one gets the room, the other waits for longer than any call may take, and then goes on."""

    loop, memory = PassingLoop(), ReplyMemory(0)

    async def run() -> HttpReply:
        holder = Reservation(memory)
        await holder.grow(FREE + 1)
        faulty.script(said("x" * MB))
        client = HttpClient(faulty.url, headers={}, timeout=300, memory=memory)
        asking = asyncio.create_task(client.request("POST", "/chat/completions", body=b"{}"))
        await waits_for(memory)
        loop.let_pass(1000.0)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not asking.done()
        holder.release()
        return await asking

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        reply = runner.run(run())
    assert len(reply.body) > MB


async def test_a_reply_that_breaks_off_gives_its_room_back(faulty: FaultyServer) -> None:
    memory = ReplyMemory(0)
    holder = Reservation(memory)
    await holder.grow(FREE + 1)
    faulty.script(Answer(body=b"x" * 2 * MB, cut=MB))
    client = HttpClient(faulty.url, headers={}, timeout=300, memory=memory)
    asking = asyncio.create_task(client.request("POST", "/chat/completions", body=b"{}"))
    await waits_for(memory)
    holder.release()
    with pytest.raises(TransientError, match="broke off"):
        await asking
    other = Reservation(memory)
    await asyncio.wait_for(other.grow(10 * MB), 60)
    assert memory.taken == 0
    await client.aclose()


async def waits_for(memory: ReplyMemory) -> None:
    """Until somebody waits for it."""
    for _ in range(60_000):
        if memory.admission.has_waiters:
            return
        await asyncio.sleep(0.001)
    raise AssertionError("nobody waits for room")


async def test_a_stream_of_small_events_takes_as_much_room_as_it_says(faulty: FaultyServer) -> None:
    """16 MiB of events that say 300 kB: longer than a reply may be that is not put together on its way."""
    event: dict[str, Any] = {"choices": [{"index": 0, "delta": {"content": "ha "}}], "padding": "p" * 150}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    faulty.script(streamed(*[event] * 100_000, last))
    client = HttpClient(faulty.url, headers={}, timeout=120)
    reply = await client.request("POST", "/chat/completions", body=b"{}")
    assert len(reply.body) < MB
    assert read_chat_reply(reply, Peer("m", "K")).text == "ha " * 100_000
    await client.aclose()


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("more", [b"[],", b"{},", b"1.5,", b'"",'], ids=repr)
def test_a_reply_of_millions_of_tiny_values_is_refused_unread(more: bytes) -> None:
    body = b'{"choices": [{"message": {"content": "7"}}], "x": [' + more * (15 * MB // len(more)) + b"0]}"

    def read() -> None:
        with pytest.raises(TransientError, match="not JSON"):
            read_chat_reply(HttpReply(200, {}, body), Peer("m", "K"))

    assert peak(read) < 100 * MB


def test_braces_and_commas_inside_of_a_text_are_none() -> None:
    text = '{"a": [1, 2]}, ' * (14 * MB // 18)
    body = json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()
    assert read_chat_reply(HttpReply(200, {}, body), Peer("m", "K")).text.endswith('{"a": [1, 2]},')


def test_of_a_huge_error_the_beginning_is_enough() -> None:
    body = b'{"error": {"message": "died", "x": [' + b"[]," * (5 * MB) + b"0]}}"
    assert peak(lambda: read_refusal(HttpReply(500, {}, body), ())) < 10 * MB
    assert "died" in read_refusal(HttpReply(500, {}, body), ()).message
