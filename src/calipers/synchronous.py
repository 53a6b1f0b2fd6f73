"""``calipers.run``: runs asynchronous work to its end from synchronous code, in a script or in a notebook.

``asyncio.run`` refuses to work where an event loop runs already, as in every cell of a notebook. There, the work gets a
thread and an event loop of its own, and the caller waits.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Final, Generic, TypeVar, cast, overload

T = TypeVar("T")

_LOOK_UP: Final = 0.2
"""The caller looks up from its waiting this often in seconds, to see whether its own task has been cancelled."""


@overload
def run(work: Coroutine[Any, Any, T]) -> T: ...
@overload
def run(work: AsyncIterable[T]) -> list[T]: ...
def run(work: Coroutine[Any, Any, T] | AsyncIterable[T]) -> T | list[T]:
    """Run ``work`` to its end, with or without a running event loop, and return its result or raise its error.

    ``work`` is a coroutine, as in ``calipers.run(judge.score_group(group))``, or an asynchronous iterator such as
    ``judge.score_groups(groups)``, whose items are returned as a list. Without a running event loop this is
    ``asyncio.run``. With one, as in a notebook, the work runs in a thread and an event loop of its own, and the caller
    blocks. Ctrl-C (in a notebook: interrupt) cancels the work, waits until it has ended, and raises KeyboardInterrupt;
    a second one does not wait. Inside a coroutine, await the work instead. Raises TypeError for anything else.
    """
    if isinstance(work, AsyncIterable):
        main: Coroutine[Any, Any, T | list[T]] = _items(work)
    elif inspect.iscoroutine(work):
        main = work
    else:
        hint = "; call the function first, as in calipers.run(judge.score_group(group))" if callable(work) else ""
        hint = "; it belongs to an event loop: await it there" if isinstance(work, asyncio.Future) else hint
        raise TypeError(f"calipers.run() takes a coroutine or an asynchronous iterator, not {work!r:.80}{hint}")
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main)
    return _Aside(main).result()


async def _items(source: AsyncIterable[T]) -> list[T]:
    return [item async for item in source]


class _Aside(Generic[T]):
    """Work in a thread and an event loop of its own, with the context variables of the caller."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._outcome: tuple[T | None, BaseException | None] = (None, None)
        self._task: asyncio.Task[T] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._cancelled = False
        self._ended = threading.Event()  # an interrupted Thread.join takes the thread for ended (before Python 3.13)
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._end_to_end,), name="calipers.run", daemon=True
        )

    def result(self) -> T:
        """Wait for the work, and return its result or raise its error; what interrupts the wait cancels the work."""
        caller = asyncio.current_task()
        before = 0 if caller is None else caller.cancelling()
        try:
            self._thread.start()
            while not self._ended.wait(_LOOK_UP):
                # asyncio.run does not raise KeyboardInterrupt at Ctrl-C: it cancels its main task, which is this one.
                if caller is not None and caller.cancelling() > before:
                    raise asyncio.CancelledError  # noqa: TRY301 - treated like an interrupt
        except BaseException:
            self._cancel()
            if self._thread.ident is not None:  # the system may have no thread to give
                self._ended.wait()
            raise
        self._thread.join()
        value, error = self._outcome
        if error is not None:
            raise error
        return cast("T", value)

    def _end_to_end(self) -> None:
        try:
            self._outcome = (asyncio.run(self._main()), None)
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            self._outcome = (None, error)
        finally:
            self._ended.set()

    async def _main(self) -> T:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._cancelled:  # before the task was known
            self._work.close()
            raise asyncio.CancelledError
        return await self._work

    def _cancel(self) -> None:
        self._cancelled = True
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # raised if the loop is closed: the work has ended
                self._loop.call_soon_threadsafe(self._task.cancel)
