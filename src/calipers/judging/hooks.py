"""The functions ``before`` and ``after``, called around judging: to wake a judge's server, or to free its GPU."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

Hook: TypeAlias = Callable[[], Any]


def hooks_around(before: Hook | None, after: Hook | None) -> AbstractAsyncContextManager[None] | None:
    """Return what is entered while groups are judged, or None without functions to call."""
    return None if before is None and after is None else _Hooks(before, after)


class _Hooks(AbstractAsyncContextManager[None]):
    """Calls ``before`` when judging begins while none is under way, and ``after`` when the last has ended.

    Both are called in a thread, one at a time, so they may block. What ``before`` raises ends the judging that waits
    for it. Safe to use from several threads and event loops.
    """

    def __init__(self, before: Hook | None, after: Hook | None) -> None:
        self._before, self._after = before, after
        self._lock = threading.Lock()
        self._inside = 0

    async def __aenter__(self) -> None:
        entering = asyncio.ensure_future(asyncio.to_thread(self._enter))
        try:
            await asyncio.shield(entering)
        except asyncio.CancelledError:
            await entering
            await asyncio.to_thread(self._leave)
            raise

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(asyncio.to_thread(self._leave))

    def _enter(self) -> None:
        with self._lock:
            if self._inside == 0 and self._before is not None:
                self._before()
            self._inside += 1

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._after is not None:
                self._after()
