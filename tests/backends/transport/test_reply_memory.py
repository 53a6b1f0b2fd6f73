"""Room for large replies: never more than there is, always one that can go on, and nothing kept by who is gone."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.backends.transport.reply_memory import FREE, ReplyMemory, Reservation

STEP = 262_144


async def test_small_replies_take_none_of_it() -> None:
    memory = ReplyMemory(0)
    assert Reservation(memory).covers(FREE)
    assert not Reservation(memory).covers(FREE + 1)


async def test_one_may_always_go_beyond_and_the_next_waits_for_it() -> None:
    memory = ReplyMemory(2 * STEP)
    shared, beyond, waits = Reservation(memory), Reservation(memory), Reservation(memory)
    await shared.grow(STEP + 1)
    assert (memory.taken, shared.covers(2 * STEP), shared.covers(2 * STEP + 1)) == (2 * STEP, True, False)
    await beyond.grow(10 * STEP)
    assert beyond.covers(10**12)
    waiting = asyncio.create_task(waits.grow(STEP))
    await asyncio.sleep(0)
    assert not waiting.done()
    beyond.release()
    await waiting
    assert waits.covers(10**12)  # all that is shared is taken, so it is its turn to go beyond
    for reserved in (shared, waits):
        reserved.release()
    assert memory.taken == 0


async def test_who_is_cancelled_while_waiting_leaves_nothing_behind() -> None:
    memory = ReplyMemory(STEP)
    first, beyond, gone, last = (Reservation(memory) for _ in range(4))
    await first.grow(STEP)
    await beyond.grow(STEP)
    waiting = asyncio.create_task(gone.grow(STEP))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gone.release()
    for reserved in (first, beyond):
        reserved.release()
    await last.grow(STEP)
    last.release()
    assert memory.taken == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 20 * STEP), min_size=1, max_size=40), st.integers(0, 10), st.randoms())
def test_all_that_come_together_end_and_hold_no_more_than_is_shared(
    sizes: list[int], shared: int, drawn: random.Random
) -> None:
    memory = ReplyMemory(shared * STEP)
    most = 0

    async def receive(size: int) -> None:
        nonlocal most
        reserved, have = Reservation(memory), 0
        try:
            while have < size:
                have = min(size, have + drawn.randrange(1, 2 * STEP))
                if not reserved.covers(have):
                    await reserved.grow(have)
                most = max(most, memory.taken)
                await asyncio.sleep(0)
                if drawn.random() < 0.02:
                    return  # its server, or its caller, gave up
        finally:
            reserved.release()

    async def all_of_them() -> None:
        await asyncio.wait_for(asyncio.gather(*map(receive, sizes)), 60)

    asyncio.run(all_of_them())
    assert most <= shared * STEP
    assert memory.taken == 0
