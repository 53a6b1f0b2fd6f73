"""Shares an event loop between judging and everything else that runs on it, such as a trainer.

All groups that are judged on an event loop together use at most ``TURN`` seconds of each of its turns, and one step
more. Then they wait for the next turn, so that connections are served and timers expire. Not responsible for dividing
work into steps (``types.steps``), which the packages that do the work know.
"""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import chain, islice
from time import perf_counter
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from calipers.types.steps import Steps

T = TypeVar("T")

TURN: Final = 0.004
"""The seconds of work in one turn of the event loop. The last step of a turn may exceed them."""
_AT_ONCE: Final = 16
"""At most this many waiting tasks are woken in one turn. Most groups take longer than a sixteenth of a turn."""


class Pace:
    """The share of an event loop's turns that judging uses. All its users run on that loop."""

    def __init__(self) -> None:
        self._ends: float | None = None
        """When the work of this turn must end; None if no work has begun in it."""
        self._begun: deque[_Waiter] = deque()
        self._new: deque[_Waiter] = deque()

    @property
    def has_waiting(self) -> bool:
        """Whether work of other groups waits for a turn of the event loop."""
        return bool(self._begun or self._new)

    async def enter(self) -> None:
        """Wait until work on another group may begin: in the order of the calls, and after all waiting steps."""
        if self.has_waiting or not self._has_time():
            await self._wait(self._new)

    async def run(self, steps: Steps[T]) -> T:
        """Return the result of ``steps`` of a group; wait before or between them if this turn's time is over.

        Steps that have begun continue before all others.
        """
        await self.pause()
        while True:
            try:
                next(steps)
            except StopIteration as finished:
                result: T = finished.value
                return result
            if not self._has_time():
                await self._wait(self._begun, first=True)

    async def pause(self) -> None:
        """Before the next step of a group, wait for a turn of the event loop if this turn's time is over."""
        if not self._has_time():
            await self._wait(self._begun)

    def _has_time(self) -> bool:
        """Whether this turn of the event loop has time for another step of a group; the first caller begins it."""
        if self._ends is None:
            self._ends = perf_counter() + TURN
            asyncio.get_running_loop().call_soon(self._next_turn)
            return True
        return perf_counter() < self._ends

    def _next_turn(self) -> None:
        self._ends = None
        for waiter in islice(chain(self._begun, self._new), _AT_ONCE):
            if not waiter.woken.done():
                waiter.woken.set_result(None)

    async def _wait(self, queue: deque[_Waiter], *, first: bool = False) -> None:
        waiter = _Waiter()
        queue.appendleft(waiter) if first else queue.append(waiter)
        try:
            while True:
                await waiter.woken
                if self._has_time():
                    return
                waiter.woken = asyncio.get_running_loop().create_future()
        finally:
            queue.remove(waiter)  # only here, so that nobody overtakes a task that was woken and has not run yet
            self._has_time()  # a task that was cancelled may be the only one that was woken


class _Waiter:
    """A task that waits for its turn on the event loop, and the future that wakes it."""

    __slots__ = ("woken",)

    def __init__(self) -> None:
        self.woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()


_paces: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Pace]] = WeakKeyDictionary()


def pace_of_loop() -> Pace:
    """Return the pace of judging on the running event loop, which all judges on it share."""
    loop = asyncio.get_running_loop()
    pace = _paces.get(loop)
    if pace is None:
        pace = _paces[loop] = Pace()
    return pace
