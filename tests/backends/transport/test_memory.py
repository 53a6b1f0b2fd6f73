"""Room for large replies: never more than there is, always one that can go on, and nothing kept by who is gone."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.backends.transport.memory import FREE, Room

STEP = 262_144


async def test_small_replies_take_none_of_it() -> None:
    room = Room(0)
    assert room.claim().covers(FREE)
    assert not room.claim().covers(FREE + 1)


async def test_one_may_always_go_beyond_and_the_next_waits_for_it() -> None:
    room = Room(2 * STEP)
    shared, beyond, waits = room.claim(), room.claim(), room.claim()
    await room.grow(shared, STEP + 1)
    assert (room.taken, shared.covers(2 * STEP), shared.covers(2 * STEP + 1)) == (2 * STEP, True, False)
    await room.grow(beyond, 10 * STEP)
    assert beyond.covers(10**12)
    waiting = asyncio.create_task(room.grow(waits, STEP))
    await asyncio.sleep(0)
    assert not waiting.done()
    beyond.leave()
    await waiting
    assert waits.covers(10**12)  # all that is shared is taken, so it is its turn to go beyond
    for claim in (shared, waits):
        claim.leave()
    assert room.taken == 0


async def test_who_is_cancelled_while_waiting_leaves_nothing_behind() -> None:
    room = Room(STEP)
    first, beyond, gone, last = (room.claim() for _ in range(4))
    await room.grow(first, STEP)
    await room.grow(beyond, STEP)
    waiting = asyncio.create_task(room.grow(gone, STEP))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gone.leave()
    for claim in (first, beyond):
        claim.leave()
    await room.grow(last, STEP)
    last.leave()
    assert room.taken == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 20 * STEP), min_size=1, max_size=40), st.integers(0, 10), st.randoms())
def test_all_that_come_together_end_and_hold_no_more_than_is_shared(
    sizes: list[int], shared: int, drawn: random.Random
) -> None:
    room = Room(shared * STEP)
    most = 0

    async def receive(size: int) -> None:
        nonlocal most
        claim, have = room.claim(), 0
        try:
            while have < size:
                have = min(size, have + drawn.randrange(1, 2 * STEP))
                if not claim.covers(have):
                    await room.grow(claim, have)
                most = max(most, room.taken)
                await asyncio.sleep(0)
                if drawn.random() < 0.02:
                    return  # its server, or its caller, gave up
        finally:
            claim.leave()

    async def all_of_them() -> None:
        await asyncio.wait_for(asyncio.gather(*map(receive, sizes)), 60)

    asyncio.run(all_of_them())
    assert most <= shared * STEP
    assert room.taken == 0
