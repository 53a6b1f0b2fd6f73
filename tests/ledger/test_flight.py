"""Single flight: one call for one question."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from calipers.ledger import SingleFlight


async def test_many_askers_share_one_call():
    flight: SingleFlight[int] = SingleFlight()
    calls = 0
    gate = asyncio.Event()

    async def call() -> int:
        nonlocal calls
        calls += 1
        await gate.wait()
        return 7

    askers = [asyncio.create_task(flight.run("k", call)) for _ in range(5)]
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(*askers) == [7] * 5
    assert calls == 1


async def test_a_failure_reaches_all_and_is_forgotten():
    flight: SingleFlight[int] = SingleFlight()

    async def fails() -> int:
        await asyncio.sleep(0)
        raise ValueError("down")

    async def works() -> int:
        return 1

    results = await asyncio.gather(*(flight.run("k", fails) for _ in range(3)), return_exceptions=True)
    assert [type(result) for result in results] == [ValueError] * 3
    assert await flight.run("k", works) == 1


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


async def test_a_cancelled_asker_leaves_the_call_to_the_others():
    flight: SingleFlight[int] = SingleFlight()
    gate = asyncio.Event()

    async def call() -> int:
        await gate.wait()
        return 3

    first = asyncio.create_task(flight.run("k", call))
    await asyncio.sleep(0)
    second = asyncio.create_task(flight.run("k", call))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await first == 3
    with pytest.raises(asyncio.CancelledError):
        await second


def test_each_event_loop_calls_for_itself():
    flight: SingleFlight[int] = SingleFlight()

    async def call() -> int:
        return 1

    assert [asyncio.run(flight.run("k", call)) for _ in range(2)] == [1, 1]
