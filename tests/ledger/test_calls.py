"""What makes a question another question, what of it is kept, and one call for one question."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

import zstd_codec as zstd
from asking import request
from calipers.judging.judge import Judge
from calipers.ledger import Ledger, SingleFlight, ledger_key
from calipers.testing import SimulatedJudge
from calipers.types import Completion, JudgeRequest
from calipers.types.encoding import EncodedDict
from groups import FOUR, QUALITY, group_of


def _key_of(*texts: object, **changes: Any) -> str:
    messages = tuple({"role": "user", "content": text} for text in texts)
    asked = replace(request(), messages=messages, **changes)
    return ledger_key(asked, SimulatedJudge(QUALITY))


def test_texts_that_only_join_alike_are_different_questions():
    keys = [
        _key_of("ab", "c"),
        _key_of("a", "bc"),
        _key_of("abc"),
        _key_of("abc", ""),
        _key_of(3, "abc"),
        _key_of([{"type": "text", "text": "abc"}]),
        _key_of("ab\ud83d", "c"),
        _key_of("abc", max_tokens=7),
    ]
    assert len(set(keys)) == len(keys)
    assert _key_of("ab", "c") == keys[0]


def test_a_schema_that_is_written_already_makes_no_other_question():
    schema = {"type": "object", "required": ["é"]}
    assert _key_of("a", schema=EncodedDict(schema)) == _key_of("a", schema=schema) != _key_of("a", schema=None)


MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "abc"},
    {"role": 'a "role" é', "content": "é\ud83d"},
    {"content": "abc", "role": "user"},
    {"role": None, "content": "abc"},
    {"content": "abc", "name": "b"},
    {"role": "user", "content": None},
    {"role": "user", "content": [{"type": "text", "text": "abc"}]},
    {"role": "user", "content": "abc", "name": "b"},
    {"content": "abc"},
]


def test_a_key_is_that_of_earlier_ledgers():
    """However it is put together: what was recorded must be found again."""
    judge = SimulatedJudge(QUALITY)
    for message in MESSAGES:
        asked = replace(request(), messages=({"role": "system", "content": "Judge."}, message))
        texts, apart = [], list[Any]()
        for one in asked.messages:
            is_text = isinstance(one["content"], str)
            texts += [one["content"].encode("utf-8", "surrogatepass")] if is_text else []
            apart.append([{**one, "content": len(texts[-1])}] if is_text else one)
        limits = [asked.schema, asked.max_tokens, dict(asked.params), asked.ask.sample]
        whole = [judge.endpoint, judge.model, apart, *limits]
        digest = blake2b(json.dumps(whole, separators=(",", ":")).encode(), digest_size=20)
        digest.update(b"".join(texts))
        assert ledger_key(asked, judge) == digest.hexdigest(), message


async def test_what_was_sent_is_kept_as_the_request(tmp_path: Path):
    for size in (1, 20_000):
        sent = json.dumps({"messages": "é" * size}, ensure_ascii=False).encode()

        class Sending(SimulatedJudge):
            async def complete(self, request: JudgeRequest, sent: bytes = sent) -> Completion:
                return replace(await super().complete(request), sent=sent)

        async with Judge(Sending(QUALITY), ledger=tmp_path / f"{size}.db") as judge:
            await judge.score_group(group_of(FOUR))
        with Ledger(tmp_path / f"{size}.db") as ledger:
            stored = ledger.rows("SELECT request FROM answers LIMIT 1")[0][0]
        assert (stored.encode() if isinstance(stored, str) else zstd.decompress(stored)) == sent


async def test_when_the_caller_is_cancelled_the_next_asker_calls():
    flight: SingleFlight[str] = SingleFlight()
    calls: list[str] = []

    def named(name: str) -> Callable[[], Awaitable[str]]:
        async def call() -> str:
            calls.append(name)
            if name == "first":
                await asyncio.Event().wait()
            return name

        return call

    first = asyncio.create_task(flight.run("k", named("first")))
    await asyncio.sleep(0)
    second = asyncio.create_task(flight.run("k", named("second")))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "second"
    assert calls == ["first", "second"]
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_who_is_cancelled_in_the_same_moment_as_the_caller_calls_nobody():
    """Two groups with one question have one deadline; a call begun after it would be ended by nothing."""
    flight: SingleFlight[int] = SingleFlight()
    calls = 0

    async def never() -> int:
        nonlocal calls
        calls += 1
        await asyncio.Event().wait()
        return 0

    askers = [asyncio.create_task(flight.run("k", never)) for _ in range(3)]
    await asyncio.sleep(0)
    askers[0].cancel()
    askers[1].cancel()
    done, pending = await asyncio.wait(askers[:2], timeout=10)
    assert (len(done), len(pending)) == (2, 0)
    assert all(asker.cancelled() for asker in askers[:2])
    for _ in range(3):
        await asyncio.sleep(0)
    assert calls == 2  # the third asks for itself
    askers[2].cancel()
    await asyncio.wait(askers[2:])
    assert askers[2].cancelled()


def test_a_failure_reaches_all_and_is_forgotten_and_each_event_loop_calls_for_itself() -> None:
    flight: SingleFlight[int] = SingleFlight()

    async def fails() -> int:
        await asyncio.sleep(0)
        raise ValueError("down")

    async def works() -> int:
        return 1

    async def both() -> None:
        results = await asyncio.gather(*(flight.run("k", fails) for _ in range(3)), return_exceptions=True)
        assert [type(result) for result in results] == [ValueError] * 3
        assert await flight.run("k", works) == 1

    for _ in range(2):
        asyncio.run(both())


async def test_who_was_cancelled_before_and_went_on_still_asks_after_another() -> None:
    flight: SingleFlight[str] = SingleFlight()

    async def never() -> str:
        await asyncio.Event().wait()
        return "first"

    async def at_once() -> str:
        return "second"

    async def stubborn() -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return await flight.run("k", at_once)

    first, second = asyncio.create_task(flight.run("k", never)), asyncio.create_task(stubborn())
    for task in (second, first):
        await asyncio.sleep(0)
        task.cancel()
    assert await asyncio.wait_for(second, 10) == "second"
