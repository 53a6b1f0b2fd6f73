"""Shares an event loop between judging and everything else that runs on it, such as a trainer.

All groups that are judged on an event loop together use at most ``TURN`` seconds of each of its turns, and one step
more. Then they wait for the next turn, so that connections are served and timers expire.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar
from itertools import chain, islice
from time import perf_counter
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from calipers.types.steps import Steps, run_steps

T = TypeVar("T")

TURN: Final = 0.004
"""The seconds of work in one turn of the event loop. The last step of a turn may exceed them."""
PIECE: Final = 0.001
"""The seconds of work in one turn of the event loop for what no group waits for."""
STEPS_ARE_LONG: Final = ContextVar("STEPS_ARE_LONG", default=False)
"""Whether the steps of this task's group may take long, and run in a thread."""
_AT_ONCE: Final = 16
"""At most this many waiting tasks are woken in one turn. Most groups take longer than a sixteenth of a turn."""
_GATHERED_TURNS: Final = 16
"""At most so many turns in a row begin work on new groups, before all of these groups go on to their next stage."""


class Pace:
    """The share of an event loop's turns that judging uses. All its users run on that loop."""

    def __init__(self) -> None:
        self._ends: float | None = None
        """When the work of this turn must end; None if no work has begun in it."""
        self._begun: deque[_Waiter] = deque()
        self._gathered: deque[_Waiter] = deque()
        self._new: deque[_Waiter] = deque()
        self._gathering = _GATHERED_TURNS
        """How many more turns begin work on new groups; 0 while gathered groups go on."""

    @property
    def has_waiting(self) -> bool:
        """Whether work of other groups waits for a turn of the event loop."""
        return bool(self._begun or self._gathered or self._new)

    async def enter(self) -> None:
        """Wait until work on another group may begin: in the order of the calls, and after all waiting steps."""
        if self._begun or self._gathered or self._new or not self._has_time():
            await self._wait(self._new)

    async def run(self, steps: Steps[T]) -> T:
        """Return the result of ``steps`` of a group; wait before or between them if this turn's time is over.

        Steps that have begun continue before all others.
        """
        if STEPS_ARE_LONG.get():
            return await asyncio.to_thread(run_steps, steps)
        await self.pause()
        while True:
            try:
                next(steps)
            except StopIteration as finished:
                result: T = finished.value
                return result
            if (self._ends is None or perf_counter() >= self._ends) and not self._has_time():
                await self._wait(self._begun, first=True)

    async def gather(self) -> None:
        """After the first stage of a group, wait until the groups that arrived with it have passed that stage, too.

        One stage for many groups in a row takes a fifth less CPU than all stages for each group. The wait ends after
        ``_GATHERED_TURNS`` turns.
        """
        if self._gathered or (self._new and self._gathering) or not self._has_time():
            await self._wait(self._gathered)

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
        self._gathering = max(0, self._gathering - 1) if self._gathered else _GATHERED_TURNS
        waiting = (self._new, self._gathered) if self._gathering else (self._gathered, self._new)
        for waiter in islice(chain(self._begun, *waiting), _AT_ONCE):
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


async def run_in_pieces(steps: Steps[T]) -> T:
    """Return the result of ``steps`` that no group waits for, with ``PIECE`` seconds of them in a turn, and one step
    more. Judging has its own share of these turns.
    """
    ends = perf_counter() + PIECE
    while True:
        try:
            next(steps)
        except StopIteration as finished:
            result: T = finished.value
            return result
        if perf_counter() >= ends:
            await asyncio.sleep(0)
            ends = perf_counter() + PIECE


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
