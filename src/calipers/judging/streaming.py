"""Judges many groups concurrently, a bounded number at a time, in bounded memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
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
        self,
        source: Iterable[S] | AsyncIterable[S],
        work: Callable[[S], Awaitable[R]],
        *,
        limit: int,
        ordered: bool,
    ) -> None:
        require_whole(concurrency=limit)
        require_above_zero(concurrency=limit)
        self._source, self._work, self._limit, self._ordered = source, work, limit, ordered
        self._news: asyncio.Queue[asyncio.Future[Any]] = asyncio.Queue()
        self._items: _AsyncItems[S] | _Items[S] | None = None
        self._running: dict[asyncio.Future[R], int] = {}
        self._early: dict[int, R] = {}
        self._begun = self._given = 0
        self._closed = False

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
        left: list[asyncio.Future[Any]] = [*self._running, *(self._items.pending if self._items else ())]
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _next(self) -> R:
        items = self._items = self._items or self._drawn()
        while self._given not in self._early:
            self._begin(items)
            if not self._running and items.exhausted:
                raise StopAsyncIteration
            done = await self._news.get()
            if done not in self._running:
                continue  # the source has a new item, or has ended
            number = self._running.pop(done)
            self._early[number if self._ordered else self._given] = done.result()
        self._given += 1
        return self._early.pop(self._given - 1)

    def _drawn(self) -> _AsyncItems[S] | _Items[S]:
        source, tell = self._source, self._news.put_nowait
        return _AsyncItems(source, tell) if isinstance(source, AsyncIterable) else _Items(source)

    def _begin(self, items: _AsyncItems[S] | _Items[S]) -> None:
        """Begin work on as many items as may run at once."""
        most_ahead = self._limit * _AHEAD
        while len(self._running) < self._limit and (not self._ordered or self._begun - self._given < most_ahead):
            if not items.take():
                return
            task = asyncio.ensure_future(self._work(items.taken))
            self._running[task] = self._begun
            task.add_done_callback(self._news.put_nowait)
            self._begun += 1


def stream_results(
    source: Iterable[S] | AsyncIterable[S], work: Callable[[S], Awaitable[R]], *, limit: int, ordered: bool = False
) -> ResultStream[S, R]:
    """Return the stream of ``work(item)`` for each item of ``source``, such as the groups when judging many groups.

    They come as they finish or (``ordered``) in input order. At most ``limit`` run at once; ``work`` is called in input
    order, in the consumer's own task. Results do not wait for a slow source. Memory stays bounded however long the
    source is and however slow the consumer. An exception of ``work`` or of the source, or closing the iterator, cancels
    what still runs. Raises ConfigError for a ``limit`` below 1: nothing would ever begin.
    """
    return ResultStream(source, work, limit=limit, ordered=ordered)


class _Items(Generic[S]):
    """The items of a plain iterable. If ``take`` returns True, ``taken`` is the next item."""

    taken: S
    pending: tuple[asyncio.Future[None], ...] = ()

    def __init__(self, source: Iterable[S]) -> None:
        self._items: Iterator[S] = iter(source)
        self.exhausted = False

    def take(self) -> bool:
        """Take the next item, such as a group to judge, into ``taken``; return False if there is none.

        Raises what the source raises.
        """
        if self.exhausted:
            return False  # an exhausted iterator must not be called again
        for item in self._items:
            self.taken = item
            return True
        self.exhausted = True
        return False


class _AsyncItems(Generic[S]):
    """The items of an asynchronous iterable, drawn one at a time by one task, and only when the next item is wanted.

    ``tell`` is called with that task when an item arrives, and when the source ends.
    """

    taken: S

    def __init__(self, source: AsyncIterable[S], tell: Callable[[asyncio.Future[None]], None]) -> None:
        self._source = source
        self._tell = tell
        self._drawn: list[S] = []
        self._wanted = asyncio.Event()
        self._drawing = asyncio.ensure_future(self._draw())
        self._drawing.add_done_callback(tell)

    @property
    def exhausted(self) -> bool:
        """Whether the source has ended and every item was taken."""
        return not self._drawn and self._drawing.done()

    @property
    def pending(self) -> tuple[asyncio.Future[None], ...]:
        """The task that draws items, which must be cancelled in the end."""
        return (self._drawing,)

    def take(self) -> bool:
        """Take the next item, such as a group to judge, into ``taken``; if none has arrived, request it.

        Returns False if none has arrived. Raises what the source raised.
        """
        if self._drawn:
            self.taken = self._drawn.pop()
            return True
        if self._drawing.done():
            self._drawing.result()
        self._wanted.set()
        return False

    async def _draw(self) -> None:
        await self._wanted.wait()
        async for item in self._source:
            self._wanted.clear()
            self._drawn.append(item)
            self._tell(self._drawing)
            await self._wanted.wait()


def readable_groups(
    groups: Iterable[object] | AsyncIterable[object], on_error: _OnError
) -> Iterator[TrajectoryGroup] | AsyncIterator[TrajectoryGroup]:
    """While judging, yield the groups that can be read; for others, pass an InputError to ``on_error``, or raise it.

    The error names the group. Raises InputError for a path, a table or one group in place of groups.
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
