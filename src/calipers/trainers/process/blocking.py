"""Run a coroutine from synchronous code and wait for what it returns, in any thread.

One event loop for all calls of a process, in a daemon thread, so that a judge's connections serve the whole run and not
one call. Not responsible for how much runs at once: a Judge bounds its own calls.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

R = TypeVar("R")


def run(coroutine: Coroutine[Any, Any, R]) -> R:
    """What ``coroutine`` returns or raises. The calling thread waits, also if it runs an event loop of its own.

    KeyboardInterrupt, or whatever else ends the waiting, cancels the coroutine. Raises RuntimeError inside a coroutine
    that was itself started by ``run``: it would wait for itself.
    """
    loop = _background.loop()
    if _background.is_here():
        coroutine.close()
        raise RuntimeError("blocking.run was called on the event loop it would wait for: await the coroutine instead")
    waited_for: Future[R] = Future()
    try:  # from here on: an interrupt may come between any two steps
        loop.call_soon_threadsafe(_begin, coroutine, waited_for)
        return waited_for.result()
    except BaseException:
        waited_for.cancel()  # without effect when it is the coroutine that raised
        raise


def _begin(coroutine: Coroutine[Any, Any, R], waited_for: Future[R]) -> None:
    task = asyncio.ensure_future(coroutine)
    task.add_done_callback(partial(_hand_over, waited_for))
    waited_for.add_done_callback(partial(_give_up, task, asyncio.get_running_loop()))


def _hand_over(waited_for: Future[R], task: asyncio.Task[R]) -> None:
    with suppress(InvalidStateError):  # nobody waits for it any more
        if task.cancelled():
            waited_for.cancel()
        elif (error := task.exception()) is not None:
            waited_for.set_exception(error)
        else:
            waited_for.set_result(task.result())


def _give_up(task: asyncio.Task[R], loop: asyncio.AbstractEventLoop, waited_for: Future[R]) -> None:
    if waited_for.cancelled() and not task.done():
        loop.call_soon_threadsafe(task.cancel)


class _Background:
    """An event loop in a daemon thread, begun when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._orphans: list[asyncio.AbstractEventLoop] = []

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="calipers", daemon=True)
                self._thread.start()
            return self._loop

    def is_here(self) -> bool:
        return threading.current_thread() is self._thread

    def forget(self) -> None:
        """In a forked child the parent's thread is missing: its loop never runs, and its lock may be held for ever."""
        if self._loop is not None:
            self._orphans.append(self._loop)  # kept, because collecting an open loop is a warning
        self._lock = threading.Lock()
        self._loop = self._thread = None


_background = _Background()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_background.forget)
