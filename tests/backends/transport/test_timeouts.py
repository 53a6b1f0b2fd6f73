"""One timer for many waits: who runs out, who does not, and whose cancellation it was. Time passes by being waited
for.
"""

import asyncio

import pytest

from backends.virtual import virtually
from calipers.backends.transport.timeouts import Timeouts


async def _waits(timeouts: Timeouts, seconds: float) -> str:
    task = timeouts.begin()
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        if timeouts.ran_out(task):
            return "ran out"
        raise
    finally:
        timeouts.end(task)
    return "done"


@virtually
async def test_who_waits_too_long_runs_out_and_nobody_else_does():
    timeouts = Timeouts(0.05)
    waits = [_waits(timeouts, 10 if number % 2 else 0.001) for number in range(6)]
    assert await asyncio.gather(*waits) == ["done", "ran out"] * 3


@virtually
async def test_each_has_its_own_time():
    timeouts = Timeouts(0.1)
    first = asyncio.create_task(_waits(timeouts, 10))
    await asyncio.sleep(0.06)
    second = asyncio.create_task(_waits(timeouts, 0.07))
    assert await first == "ran out"
    assert await second == "done"


@virtually
async def test_it_goes_on_after_nobody_waited_for_a_while():
    timeouts = Timeouts(0.02)
    assert await _waits(timeouts, 0) == "done"
    await asyncio.sleep(0.05)
    assert await _waits(timeouts, 10) == "ran out"


@virtually
async def test_a_task_that_ran_out_is_not_cancelled_any_more():
    async def twice() -> tuple[str, int, str]:
        timeouts = Timeouts(0.02)
        first = await _waits(timeouts, 10)
        task = asyncio.current_task()
        assert task is not None
        return first, task.cancelling(), await _waits(timeouts, 0.001)

    assert await asyncio.create_task(twice()) == ("ran out", 0, "done")


@virtually
async def test_a_cancellation_from_elsewhere_stays_one():
    task = asyncio.create_task(_waits(Timeouts(10), 10))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@virtually
async def test_both_at_once_is_a_cancellation():
    async def stubborn(timeouts: Timeouts) -> None:
        task = timeouts.begin()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            task.cancel()  # as somebody else would, in the same turn of the loop
            assert not timeouts.ran_out(task)
            raise
        finally:
            timeouts.end(task)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(stubborn(Timeouts(0.01)))


@virtually
async def test_what_ended_in_another_way_just_then_leaves_no_cancellation_behind():
    async def fails(timeouts: Timeouts) -> int:
        task = timeouts.begin()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass  # as a library does that makes another error of it
        finally:
            timeouts.end(task)
        return task.cancelling()

    assert await asyncio.create_task(fails(Timeouts(0.01))) == 0


@virtually
async def test_a_timeout_inside_a_timeout_keeps_them_apart():
    async with asyncio.timeout(5):
        assert await _waits(Timeouts(0.01), 10) == "ran out"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await _waits(Timeouts(5), 10)


@virtually
async def test_time_that_was_stopped_is_none_of_it_and_what_is_left_goes_on():
    timeouts = Timeouts(0.05)
    task = timeouts.begin()
    left = timeouts.pause(task)
    assert 0 < left <= 0.05
    await asyncio.sleep(0.1)  # longer than its time, which stands still
    timeouts.resume(task, left)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(10)
    assert timeouts.ran_out(task)
    timeouts.end(task)


@virtually
async def test_who_ends_in_time_after_a_stop_is_left_alone():
    timeouts = Timeouts(0.05)
    others = asyncio.create_task(_waits(timeouts, 10))
    task = timeouts.begin()
    timeouts.resume(task, timeouts.pause(task))
    timeouts.end(task)
    assert await others == "ran out"
    await asyncio.sleep(0.06)
    assert task.cancelling() == 0
