"""What makes a question another question, and one call for one question."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from asking import request
from calipers.ledger import SingleFlight, ledger_key
from calipers.testing import SimulatedJudge
from calipers.types.encoding import EncodedDict
from groups import QUALITY


def _key_of(*contents: object, **changes: Any) -> str:
    messages = tuple(one if isinstance(one, dict) else {"role": "user", "content": one} for one in contents)
    return ledger_key(replace(request(), messages=messages, **changes), SimulatedJudge(QUALITY))


def test_texts_that_only_join_alike_are_different_questions():
    different: list[tuple[object, ...]] = [
        ("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), (3, "abc"), ([{"type": "text", "text": "abc"}],),
        ("ab\ud83d", "c"), (None,), ({"role": "system", "content": "abc"},), ({"role": None, "content": "abc"},),
        ({"content": "abc"},), ({"content": "abc", "name": "b"},), ({"role": "user", "content": "abc", "name": "b"},),
        ({"role": 'a "role" é', "content": "abc"},),
    ]  # fmt: skip
    keys = [*(_key_of(*one) for one in different), _key_of("abc", max_tokens=7)]
    assert len(set(keys)) == len(keys)
    assert _key_of("ab", "c") == keys[0]


def test_a_schema_that_is_written_already_makes_no_other_question():
    schema = {"type": "object", "required": ["é"]}
    assert _key_of("a", schema=EncodedDict(schema)) == _key_of("a", schema=schema) != _key_of("a", schema=None)


async def test_when_the_caller_is_cancelled_the_next_asker_calls():
    flight: SingleFlight[str] = SingleFlight()
    first = asyncio.create_task(flight.run("k", never))
    await asyncio.sleep(0)
    second = asyncio.create_task(flight.run("k", at_once))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "answer"
    with pytest.raises(asyncio.CancelledError):
        await first


async def never() -> str:
    await asyncio.Event().wait()
    raise AssertionError


async def at_once() -> str:
    return "answer"


async def test_who_is_cancelled_in_the_same_moment_as_the_caller_calls_nobody():
    """Two groups with one question have one deadline; a call begun after it would be ended by nothing."""
    flight: SingleFlight[str] = SingleFlight()
    calls = 0

    async def counted() -> str:
        nonlocal calls
        calls += 1
        return await never()

    askers = [asyncio.create_task(flight.run("k", counted)) for _ in range(3)]
    await asyncio.sleep(0)
    askers[0].cancel()
    askers[1].cancel()
    await asyncio.wait(askers[:2], timeout=10)
    assert [asker.cancelled() for asker in askers] == [True, True, False]
    for _ in range(3):
        await asyncio.sleep(0)
    assert calls == 2  # the third asks for itself
    askers[2].cancel()
    await asyncio.wait(askers[2:])
    assert askers[2].cancelled()


def test_a_failure_reaches_all_and_is_forgotten_and_each_event_loop_calls_for_itself():
    flight: SingleFlight[str] = SingleFlight()

    async def fails() -> str:
        await asyncio.sleep(0)
        raise ValueError("down")

    async def both() -> None:
        results = await asyncio.gather(*(flight.run("k", fails) for _ in range(3)), return_exceptions=True)
        assert [type(result) for result in results] == [ValueError] * 3
        assert await flight.run("k", at_once) == "answer"

    for _ in range(2):
        asyncio.run(both())


async def test_who_was_cancelled_before_and_went_on_still_asks_after_another():
    flight: SingleFlight[str] = SingleFlight()

    async def stubborn() -> str:
        with suppress(asyncio.CancelledError):
            await never()
        return await flight.run("k", at_once)

    first, second = asyncio.create_task(flight.run("k", never)), asyncio.create_task(stubborn())
    for task in (second, first):
        await asyncio.sleep(0)
        task.cancel()
    assert await asyncio.wait_for(second, 10) == "answer"
