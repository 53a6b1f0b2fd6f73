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


def test_each_event_loop_calls_for_itself():
    flight: SingleFlight[int] = SingleFlight()

    async def call() -> int:
        return 1

    assert [asyncio.run(flight.run("k", call)) for _ in range(2)] == [1, 1]


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


async def test_who_was_cancelled_before_and_went_on_still_asks_after_another():
    flight: SingleFlight[str] = SingleFlight()

    async def never() -> str:
        await asyncio.Event().wait()
        return "first"

    async def at_once() -> str:
        return "second"

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await flight.run("k", at_once)
        return ""

    first = asyncio.create_task(flight.run("k", never))
    second = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.sleep(0)
    first.cancel()
    assert await asyncio.wait_for(second, 10) == "second"
