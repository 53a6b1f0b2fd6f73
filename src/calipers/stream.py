"""Work on many things at once, a bounded number at a time, with nothing piling up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar

S = TypeVar("S")
R = TypeVar("R")

_AHEAD = 16
"""In input order, how many times ``limit`` results may wait for a slow one before no more work is begun."""


async def stream(
    source: Iterable[S] | AsyncIterable[S], work: Callable[[S], Awaitable[R]], *, limit: int, ordered: bool = False
) -> AsyncGenerator[R, None]:
    """Yield ``work(item)`` for each item of ``source``, as they finish or (``ordered``) in input order.

    At most ``limit`` run at once; ``work`` is called in input order, in the consumer's own task. Memory stays bounded
    however long the source is and however slow the consumer. An exception of ``work`` or of the source, or closing
    the iterator, cancels what still runs.
    """
    items = aiterate(source)
    finished: asyncio.Queue[tuple[int, asyncio.Task[R]]] = asyncio.Queue()
    running: dict[int, asyncio.Task[R]] = {}
    early: dict[int, R] = {}
    begun = given = 0
    exhausted = False
    try:
        while True:
            while not exhausted and len(running) < limit and (not ordered or begun - given < limit * _AHEAD):
                try:
                    item = await anext(items)
                except StopAsyncIteration:
                    exhausted = True
                    break
                task = asyncio.ensure_future(work(item))
                running[begun] = task
                task.add_done_callback(partial(_report, finished, begun))
                begun += 1
            if not running:
                return
            number, done = await finished.get()
            del running[number]
            if not ordered:
                given += 1
                yield done.result()
                continue
            early[number] = done.result()
            while given in early:
                given += 1
                yield early.pop(given - 1)
    finally:
        for task in running.values():
            task.cancel()
        await asyncio.gather(*running.values(), return_exceptions=True)


def _report(finished: asyncio.Queue[tuple[int, asyncio.Task[R]]], number: int, task: asyncio.Task[R]) -> None:
    finished.put_nowait((number, task))


async def aiterate(source: Iterable[S] | AsyncIterable[S]) -> AsyncIterator[S]:
    """Any iterable as an asynchronous one."""
    if isinstance(source, AsyncIterable):
        async for item in source:
            yield item
    else:
        for item in source:
            yield item
