"""Judges many groups concurrently, a bounded number at a time, in bounded memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from itertools import count
from typing import Any, Final, Generic, TypeVar

from calipers.config.arguments import require_above_zero, require_whole
from calipers.errors import InputError
from calipers.inputs import as_group
from calipers.inputs.plain import type_in_words
from calipers.types import GroupResult, TrajectoryGroup

S = TypeVar("S")
R = TypeVar("R")

_AHEAD: Final = 16
"""How many results in input order may wait for a slow one before them, as a multiple of ``limit``."""


class ResultStream(AsyncIterator[R], Generic[S, R]):
    """The results of ``work(item)`` for each item of ``source``, as they finish or (``ordered``) in input order.

    An item for which ``work`` returns None is skipped. At most ``limit`` run at once; ``work`` is called in input
    order. Results do not wait for a slow source. Memory
    stays bounded however long the source is and however slow the consumer. An exception of ``work`` or of the source,
    or closing the stream with ``aclose``, cancels what still runs. Raises ConfigError for a ``limit`` below 1.

    It is no asynchronous generator: an event loop that ends closes all of those at once, each inside another as well,
    and reports that it cannot.
    """

    def __init__(
        self,
        source: Iterable[S] | AsyncIterable[S],
        work: Callable[[S], Awaitable[R] | None],
        *,
        limit: int,
        ordered: bool = False,
    ) -> None:
        require_whole(concurrency=limit)
        require_above_zero(concurrency=limit)
        self._source, self._work, self._limit, self._ordered = source, work, limit, ordered
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
        if self._drawing is None:
            self._drawing = asyncio.ensure_future(self._draw())
            self._drawing.add_done_callback(self._news.put_nowait)
        while self._given not in self._early:
            if self._has_room():
                self._wanted.set()
            if not self._running and self._exhausted:
                raise StopAsyncIteration
            finished = await self._news.get()
            if finished is self._drawing:
                finished.result()
                self._exhausted = True
            else:
                number = self._running.pop(finished)
                self._early[number if self._ordered else self._given] = finished.result()
        self._given += 1
        return self._early.pop(self._given - 1)

    def _has_room(self) -> bool:
        ahead = self._begun - self._given
        return len(self._running) < self._limit and (not self._ordered or ahead < self._limit * _AHEAD)

    async def _draw(self) -> None:
        """Begin work on the items of the source, which is drawn from in this task, when they are wanted."""
        await self._wanted.wait()
        if isinstance(self._source, AsyncIterable):
            async for item in self._source:
                await self._begin(item)
        else:
            for item in self._source:
                await self._begin(item)

    async def _begin(self, item: S) -> None:
        """Begin work on an item, and wait until another is wanted."""
        begun = self._work(item)
        if begun is None:
            return
        task = asyncio.ensure_future(begun)
        self._running[task] = self._begun
        task.add_done_callback(self._news.put_nowait)
        self._begun += 1
        if not self._has_room():
            self._wanted.clear()
        await self._wanted.wait()


def stream_groups(
    groups: Iterable[object] | AsyncIterable[object],
    judge: Callable[[TrajectoryGroup], Awaitable[GroupResult]],
    *,
    limit: int,
    ordered: bool,
    on_error: Callable[[InputError], None] | None = None,
) -> ResultStream[object, GroupResult]:
    """Return the stream of the results of ``groups``.

    A group that cannot be read is passed to ``on_error`` as an InputError that names it, and skipped; without
    ``on_error``, the error is raised. Raises InputError for a path, a table or one group in place of groups.
    """
    if isinstance(groups, str | bytes | os.PathLike):
        raise InputError("score_groups() takes groups and not a path; read the file with calipers.read_groups(PATH)")
    if isinstance(groups, TrajectoryGroup) or (isinstance(groups, Mapping) and "trajectories" in groups):
        raise InputError("score_groups() takes several groups; score_group(group) judges one")
    if isinstance(groups, Mapping) or (hasattr(groups, "itertuples") and hasattr(groups, "columns")):
        kind = type(groups).__name__
        raise InputError(f"score_groups() takes groups and not a {kind}; read them with calipers.read_groups(...)")
    if not isinstance(groups, Iterable | AsyncIterable):
        raise InputError(f"score_groups() takes an iterable of groups, not {type_in_words(groups)}")
    numbers = count(1)

    def begin(group: object) -> Awaitable[GroupResult] | None:
        number = next(numbers)
        try:
            read = as_group(group)
        except InputError as error:
            name = group.get("group_id") if isinstance(group, Mapping) else None
            named = InputError(f"group {number}{'' if name is None else f' ({name})'}: {error}")
            if on_error is None:
                raise named from error
            on_error(named)
            return None
        return judge(read)

    return ResultStream(groups, begin, limit=limit, ordered=ordered)
