"""Time limits for the HTTP requests of one event loop. Not responsible for sessions (``sessions``)."""

from __future__ import annotations

import asyncio
import math
from typing import Any


class Timeouts:
    """Time limits for many requests with one timer: each task has at most ``seconds`` between ``begin`` and ``end``.

    A task that takes longer is cancelled. Waits of equal length end in the order in which they began. So only the
    oldest needs a timer, and the timer almost never fires. A timer for each request, with its cancellation, would cost
    as much as reading the answer. ``ran_out`` distinguishes this cancellation from others, as ``asyncio.timeout`` does.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[asyncio.Task[Any], tuple[float, int]] = {}
        """For each task, the oldest first: the end of its time limit, and how many cancellations were pending when it
        began.
        """
        self._over: dict[asyncio.Task[Any], int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> asyncio.Task[Any]:
        """Start the time limit of this task's request and return the task. Every ``begin`` needs an ``end``."""
        task = asyncio.current_task(self._loop)
        assert task is not None  # noqa: S101 - what awaits on an event loop runs in a task
        ends = self._loop.time() + self._seconds
        self._waiting[task] = ends, task.cancelling()
        if self._timer is None:
            self._timer = self._loop.call_at(ends, self._cancel_expired)
        return task

    def end(self, task: asyncio.Task[Any]) -> None:
        """End the time limit of the request in ``task``."""
        if self._waiting.pop(task, None) is None and self._over.pop(task, None) is not None:
            task.uncancel()  # the request ended in another way just before the cancellation arrived

    def pause(self, task: asyncio.Task[Any]) -> float:
        """Stop the time limit of ``task`` during a wait that the server does not cause, and return the remaining
        seconds.
        """
        ends, _ = self._waiting.pop(task, (self._loop.time(), 0))
        return max(0.0, ends - self._loop.time())

    def resume(self, task: asyncio.Task[Any], seconds: float) -> None:
        """Continue the time limit of the request in ``task`` with ``seconds`` left.

        The task gets its own timer, because paused limits no longer end in the order in which they began.
        """
        self._waiting[task] = self._loop.time() + seconds, task.cancelling()
        self._loop.call_later(seconds, self._cancel_if_expired, task)

    def ran_out(self, task: asyncio.Task[Any]) -> bool:
        """Return whether only its request's time limit cancelled ``task``. Call this once, after the cancellation and
        before ``end``.
        """
        before = self._over.pop(task, None)
        return before is not None and task.uncancel() <= before

    def _cancel_expired(self) -> None:
        """Cancel the tasks whose time is over, and set the timer for the next one."""
        self._timer = None
        now = self._loop.time()
        while self._waiting:
            task, (ends, before) = next(iter(self._waiting.items()))
            if ends > now:
                self._timer = self._loop.call_at(ends, self._cancel_expired)
                return
            self._end(task, before)

    def _cancel_if_expired(self, task: asyncio.Task[Any]) -> None:
        ends, before = self._waiting.get(task, (math.inf, 0))
        if ends <= self._loop.time():
            self._end(task, before)

    def _end(self, task: asyncio.Task[Any], before: int) -> None:
        del self._waiting[task]
        self._over[task] = before
        task.cancel()
