"""Judges many groups concurrently, a bounded number at a time, in bounded memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from calipers.config.arguments import require_above_zero, require_whole
from calipers.errors import InputError
from calipers.inputs import as_group
from calipers.inputs.plain import type_in_words
from calipers.types import TrajectoryGroup

_OnError: TypeAlias = Callable[[InputError], None] | None
S = TypeVar("S")
R = TypeVar("R")

_AHEAD = 16
"""The limit, as a multiple of ``limit``, on results in input order that wait for a slow result before them.

No more work begins when it is reached.
"""


class ResultStream(AsyncIterator[R], Generic[S, R]):
    """The results of ``stream_results``. Close it with ``aclose``, as ``contextlib.aclosing`` does.

    It is no asynchronous generator: an event loop that ends closes all of those at once, each inside another as well,
    and reports that it cannot.
    """

    def __init__(
        self, source: Iterable[S] | AsyncIterable[S], work: Callable[[S], Awaitable[R]], *, limit: int, ordered: bool
    ) -> None:
        require_whole(concurrency=limit)
        require_above_zero(concurrency=limit)
        self._source, self._work, self._limit, self._ordered = source, work, limit, ordered
        self._items = None if isinstance(source, AsyncIterable) else iter(source)
        self._drawing: asyncio.Future[None] | None = None
        self._wanted = asyncio.Event()
        self._news: asyncio.Queue[asyncio.Future[Any]] = asyncio.Queue()
        self._running: dict[asyncio.Future[R], int] = {}
        self._early: dict[int, R] = {}
        self._begun = self._given = 0
        self._exhausted = self._closed = False

    async def __anext__(self) -> R:
        """Return the next result. Raises what the work or the source raises, once what still ran is cancelled."""
        if self._closed:
            raise StopAsyncIteration
        try:
            return await self._next()
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Cancel what still runs, and wait until it has ended."""
        self._closed = True
        left: list[asyncio.Future[Any]] = [*self._running, *([] if self._drawing is None else [self._drawing])]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _next(self) -> R:
        while self._given not in self._early:
            self._begin_more()
            if not self._running and self._exhausted:
                raise StopAsyncIteration
            done = await self._news.get()
            if done is self._drawing:
                done.result()
                self._exhausted = True
            else:
                number = self._running.pop(done)
                self._early[number if self._ordered else self._given] = done.result()
        self._given += 1
        return self._early.pop(self._given - 1)

    def _begin_more(self) -> None:
        """Begin work on as many items of a plain iterable as may run at once, or let the asynchronous one go on."""
        while not self._exhausted and self._has_room():
            if self._items is None:
                if self._drawing is None:
                    self._drawing = asyncio.ensure_future(self._draw())
                    self._drawing.add_done_callback(self._news.put_nowait)
                self._wanted.set()
                return
            for item in self._items:
                self._begin(item)
                break
            else:
                self._exhausted = True  # an exhausted iterator must not be called again

    def _has_room(self) -> bool:
        ahead = self._begun - self._given
        return len(self._running) < self._limit and (not self._ordered or ahead < self._limit * _AHEAD)

    def _begin(self, item: S) -> None:
        task = asyncio.ensure_future(self._work(item))
        self._running[task] = self._begun
        task.add_done_callback(self._news.put_nowait)
        self._begun += 1

    async def _draw(self) -> None:
        """Begin work on the items of an asynchronous source, which is drawn from in this task, when they are wanted."""
        await self._wanted.wait()
        async for item in self._source:  # type: ignore[union-attr]
            self._begin(item)
            if not self._has_room():
                self._wanted.clear()
            await self._wanted.wait()


def stream_results(
    source: Iterable[S] | AsyncIterable[S], work: Callable[[S], Awaitable[R]], *, limit: int, ordered: bool = False
) -> ResultStream[S, R]:
    """Return the stream of ``work(item)`` for each item of ``source``, as they finish or (``ordered``) in input order.

    At most ``limit`` run at once; ``work`` is called in input order. Results do not wait for a slow source. Memory
    stays bounded however long the source is and however slow the consumer. An exception of ``work`` or of the source,
    or closing the iterator, cancels what still runs. Raises ConfigError for a ``limit`` below 1.
    """
    return ResultStream(source, work, limit=limit, ordered=ordered)


def readable_groups(
    groups: Iterable[object] | AsyncIterable[object], on_error: _OnError
) -> Iterator[TrajectoryGroup] | AsyncIterator[TrajectoryGroup]:
    """Yield the groups that can be read; for others, pass an InputError that names them to ``on_error``, or raise it.

    Raises InputError for a path, a table or one group in place of groups.
    """
    _require_groups(groups)
    return _readable_async(groups, on_error) if isinstance(groups, AsyncIterable) else _readable(groups, on_error)


def _require_groups(groups: object) -> None:
    if isinstance(groups, str | bytes | os.PathLike):
        raise InputError("score_groups() takes groups and not a path; read the file with calipers.read_groups(PATH)")
    if isinstance(groups, TrajectoryGroup) or (isinstance(groups, Mapping) and "trajectories" in groups):
        raise InputError("score_groups() takes several groups; score_group(group) judges one")
    if isinstance(groups, Mapping) or (hasattr(groups, "itertuples") and hasattr(groups, "columns")):
        kind = type(groups).__name__
        raise InputError(f"score_groups() takes groups and not a {kind}; read them with calipers.read_groups(...)")
    if not isinstance(groups, Iterable | AsyncIterable):
        raise InputError(f"score_groups() takes an iterable of groups, not {type_in_words(groups)}")


def _readable(groups: Iterable[object], on_error: _OnError) -> Iterator[TrajectoryGroup]:
    for number, group in enumerate(groups, start=1):
        if (read := _read(group, number, on_error)) is not None:
            yield read


async def _readable_async(groups: AsyncIterable[object], on_error: _OnError) -> AsyncIterator[TrajectoryGroup]:
    number = 0
    async for group in groups:
        number += 1
        if (read := _read(group, number, on_error)) is not None:
            yield read


def _read(group: object, number: int, on_error: _OnError) -> TrajectoryGroup | None:
    try:
        return as_group(group)
    except InputError as error:
        name = group.get("group_id") if isinstance(group, Mapping) else None
        named = InputError(f"group {number}{'' if name is None else f' ({name})'}: {error}")
        if on_error is None:
            raise named from error
        on_error(named)
        return None
