"""A queue for callers of several loops."""

from __future__ import annotations

import asyncio
import threading

import pytest

from calipers.backends.limits.admission import Admission


class _Room:
    """So many places behind a gate."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.inside = 0
        self.most = 0
        self.gate: Admission[int] = Admission()

    def take(self) -> int | None:
        if self.inside == self.places:
            return None
        self.inside += 1
        self.most = max(self.most, self.inside)
        return 1

    def back(self, taken: int = 1) -> None:
        self.inside -= taken

    async def visit(self) -> None:
        await self.gate.enter(self.take, undo=self.back)
        try:
            await asyncio.sleep(0)
        finally:
            self.gate.change(self.back)


async def test_callers_pass_in_the_order_they_came() -> None:
    room = _Room(1)
    passed: list[int] = []

    async def visit(number: int) -> None:
        await room.gate.enter(room.take, undo=room.back)
        passed.append(number)
        room.gate.change(room.back)

    assert await room.gate.enter(room.take, undo=room.back) == 1
    visits = [asyncio.create_task(visit(number)) for number in range(5)]
    await asyncio.sleep(0)
    assert room.gate.has_waiters
    room.gate.change(room.back)
    await asyncio.gather(*visits)
    assert passed == [0, 1, 2, 3, 4]
    assert not room.gate.has_waiters


async def test_whoever_is_cancelled_while_waiting_or_just_let_in_leaves_no_trace() -> None:
    room = _Room(1)
    await room.gate.enter(room.take, undo=room.back)
    waiting = asyncio.create_task(room.visit())
    let_in = asyncio.create_task(room.visit())
    last = asyncio.create_task(room.visit())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    room.gate.change(room.back)  # lets the second in, which has no chance to notice
    let_in.cancel()
    await last
    with pytest.raises(asyncio.CancelledError):
        await let_in
    assert room.inside == 0


async def test_a_change_made_while_another_is_under_way_is_seen_right_after_it() -> None:
    """As when the garbage collector ends a call in the middle of a change."""
    room = _Room(2)
    for _ in range(2):
        await room.gate.enter(room.take, undo=room.back)
    visits = [asyncio.create_task(room.visit()) for _ in range(2)]
    await asyncio.sleep(0)

    def both_leave() -> None:
        room.gate.change(room.back)
        room.back()

    room.gate.change(both_leave)
    await asyncio.gather(*visits)
    assert room.inside == 0


def test_loops_in_several_threads_share_its_places() -> None:
    room = _Room(3)

    async def many() -> None:
        await asyncio.gather(*(room.visit() for _ in range(200)))

    threads = [threading.Thread(target=asyncio.run, args=(many(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert room.inside == 0
    assert room.most == 3


def test_a_caller_whose_loop_is_gone_does_not_block_the_others() -> None:
    room = _Room(1)
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(room.gate.enter(room.take, undo=room.back))
    stranded = loop.create_task(room.visit())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

    async def then() -> None:
        visit = asyncio.create_task(room.visit())
        await asyncio.sleep(0)
        room.gate.change(room.back)
        await visit

    asyncio.run(then())
    assert room.inside == 0
    stranded._log_destroy_pending = False  # type: ignore[attr-defined]  # it is meant to be lost
    stranded.get_coro().close()
