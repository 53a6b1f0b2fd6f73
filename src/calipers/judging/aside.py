"""Does work beside judging, on a thread of its own with an event loop: it never delays or fails what hands it over."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Aside(Generic[T]):
    """Hands items to ``work``, one by one, on a thread that begins with the first. At most ``room`` of them wait.

    ``on_error`` is called, on that thread, with whatever ``work`` raises: SystemExit, too, would end only the thread.
    """

    def __init__(
        self, work: Callable[[T], Awaitable[None]], *, name: str, room: int, on_error: Callable[[BaseException], None]
    ) -> None:
        self._work, self._name, self._on_error = work, name, on_error
        self._waiting: queue.Queue[tuple[T] | None] = queue.Queue(room)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.closed = False

    def offer(self, item: T) -> bool:
        """Queue an item for the work beside judging; False if there is no room, or after ``close``. Never waits."""
        if self.closed:
            return False
        try:
            self._waiting.put_nowait((item,))
        except queue.Full:
            return False
        with self._lock:
            if self._thread is None and not self.closed:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        return True

    def close(self, timeout: float | None) -> None:
        """Take no more items, and wait at most ``timeout`` seconds until the work beside judging is done."""
        with self._lock:
            self.closed = True
            thread = self._thread
        if thread is None:
            return
        try:
            self._waiting.put(None, timeout=timeout)
        except queue.Full:
            return  # the work hangs; its thread is a daemon and ends with the process
        thread.join(timeout)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while (waiting := self._waiting.get()) is not None:
                try:
                    runner.run(_awaited(self._work(waiting[0])))
                except BaseException as error:  # noqa: BLE001 - a user's function may fail in any way, and fails no group
                    self._on_error(error)


async def _awaited(work: Awaitable[None]) -> None:
    await work
