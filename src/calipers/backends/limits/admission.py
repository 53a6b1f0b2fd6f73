"""A queue for a shared resource, for callers of any event loop or thread.

The owner of the queue decides which caller may pass. This module only makes callers wait. asyncio's own primitives
belong to one event loop each, but trainers run several.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Admission(Generic[T]):
    """A queue of callers who wait for a shared resource, in the order of their arrival.

    A caller passes once its ``take`` returns something other than None. ``take``, and every change that may let others
    pass, run under one lock, so the owner's counts need no lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Waiter[T]] = deque()
        self._changes: deque[Callable[[], None]] = deque()

    async def enter(self, take: Callable[[], T | None], *, undo: Callable[[T], None]) -> T:
        """Wait for the caller's turn under a backend's limit and return the result of ``take``.

        ``undo`` is called with that result if the caller is cancelled just as it is admitted.
        """
        waiter: _Waiter[T] | None = None
        with self._lock:
            taken = None if self._waiting else take()
            if taken is None:
                waiter = _Waiter(take)
                self._waiting.append(waiter)
        self._catch_up()
        if waiter is None:
            assert taken is not None  # noqa: S101 - else there is a waiter
            return taken
        try:
            return await waiter.admitted
        except asyncio.CancelledError:
            self.change(lambda: self._leave(waiter, undo))
            raise

    def change(self, apply: Callable[[], None]) -> None:
        """Apply a change to the counts of a backend's limit, and admit the callers that can pass now."""
        self._changes.append(apply)
        self._catch_up()

    @property
    def has_waiters(self) -> bool:
        """Whether any caller waits in the queue."""
        return bool(self._waiting)

    def _catch_up(self) -> None:
        # This never waits for the lock. The garbage collector may end a call in a thread that already holds the lock,
        # and would wait for itself. That thread applies the change right after.
        while self._changes and self._lock.acquire(blocking=False):
            try:
                while self._changes:
                    self._changes.popleft()()
                self._admit()
            finally:
                self._lock.release()

    def _leave(self, waiter: _Waiter[T], undo: Callable[[T], None]) -> None:
        if waiter.taken is None:
            self._waiting.remove(waiter)
        else:
            undo(waiter.taken)

    def _admit(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            if first.loop.is_closed():  # the caller's event loop is closed
                self._waiting.popleft()
                continue
            first.taken = first.take()
            if first.taken is None:
                return
            self._waiting.popleft()
            first.loop.call_soon_threadsafe(first.wake)


class _Waiter(Generic[T]):
    def __init__(self, take: Callable[[], T | None]) -> None:
        self.take = take
        self.taken: T | None = None
        self.loop = asyncio.get_running_loop()
        self.admitted: asyncio.Future[T] = self.loop.create_future()

    def wake(self) -> None:
        if not self.admitted.done() and self.taken is not None:
            self.admitted.set_result(self.taken)
