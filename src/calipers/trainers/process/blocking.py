"""Runs a coroutine from synchronous code of a trainer, in any thread, and waits for its result.

All calls of a process share one event loop in a daemon thread, so that a judge's connections last for the whole run.
Not responsible for how much runs at once: a Judge limits its own calls.
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


def run_coroutine(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run ``coroutine`` in a trainer's process, and return what it returns or raise what it raises.

    The calling thread blocks, even if it runs an event loop. KeyboardInterrupt, or anything else that ends the wait,
    cancels the coroutine. Raises RuntimeError if the caller is itself a coroutine that this function started, because
    it would wait for itself.
    """
    loop = _background.loop()
    if _background.is_here():
        coroutine.close()
        raise RuntimeError(
            "blocking.run_coroutine was called on the event loop that it would wait for; await the coroutine instead"
        )
    result: Future[R] = Future()
    try:  # an interrupt may come between any two steps
        loop.call_soon_threadsafe(_begin, coroutine, result)
        return result.result()
    except BaseException:
        result.cancel()  # no effect if the coroutine raised
        raise


def _begin(coroutine: Coroutine[Any, Any, R], result: Future[R]) -> None:
    task = asyncio.ensure_future(coroutine)
    task.add_done_callback(partial(_copy_result, result))
    result.add_done_callback(partial(_cancel, task, asyncio.get_running_loop()))


def _copy_result(result: Future[R], task: asyncio.Task[R]) -> None:
    with suppress(InvalidStateError):  # raised if the caller no longer waits
        if task.cancelled():
            result.cancel()
        elif (error := task.exception()) is not None:
            result.set_exception(error)
        else:
            result.set_result(task.result())


def _cancel(task: asyncio.Task[R], loop: asyncio.AbstractEventLoop, result: Future[R]) -> None:
    if result.cancelled() and not task.done():
        loop.call_soon_threadsafe(task.cancel)


class _Background:
    """An event loop in a daemon thread, started when first needed."""

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
        """Forget the loop in a forked child, where its thread does not exist and its lock may be held for ever."""
        if self._loop is not None:
            self._orphans.append(self._loop)  # stored because Python warns when an open loop is garbage-collected
        self._lock = threading.Lock()
        self._loop = self._thread = None


_background = _Background()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_background.forget)
