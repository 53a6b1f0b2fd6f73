"""A backend with a bound on how many calls are in flight: a number, or as many as its server makes use of.

Not responsible for rates a minute (``rate``), nor for waiting after a refusal (``retry``, which belongs outside this).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial

from calipers.backends.limits.adaptive_limit import AdaptiveLimit, Ticket
from calipers.backends.limits.admission import Admission
from calipers.backends.limits.wrapper import HoldingWrapper
from calipers.errors import BackendError, ConfigError, TransientError
from calipers.interfaces import Backend, Record
from calipers.types import Completion, JudgeRequest

MOST = 512
"""Calls in flight that are never exceeded, unless another number is given."""


class Limited(HoldingWrapper):
    """At most ``concurrency`` calls of ``backend`` in flight on any one event loop; the rest wait in order.

    The bound is per loop, for asyncio's primitives belong to one and trainers bring several.
    """

    def __init__(self, backend: Backend, *, concurrency: int) -> None:
        if concurrency < 1:
            raise ConfigError(f"concurrency must be at least 1, not {concurrency}.")
        super().__init__(backend)
        self._concurrency = concurrency
        self._places: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}
        self._lock = threading.Lock()

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """The backend's answer, once there is a place, which is held until ``record`` is done. Raises what the backend
        raises.
        """
        loop = asyncio.get_running_loop()
        places = self._places.get(loop) or self._new_places(loop)
        await places.acquire()
        try:
            return await record(await self._backend.complete(request))
        finally:
            places.release()

    def _new_places(self, loop: asyncio.AbstractEventLoop) -> asyncio.Semaphore:
        with self._lock:
            # A semaphore somebody waited for holds its loop, so closed loops would never go by themselves.
            for closed in [known for known in self._places if known.is_closed()]:
                del self._places[closed]
            return self._places.setdefault(loop, asyncio.Semaphore(self._concurrency))


class Adaptive(HoldingWrapper):
    """At most as many calls of ``backend`` in flight as pay off, from 1 to ``most``, over all event loops together.

    More are allowed while that gets more answers a second, and fewer when answers take longer for it, or the server
    refuses them (429, or whatever names a time to come back). ``limit`` is what is allowed now.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        start: int = 8,
        most: int = MOST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 1 <= start <= most:
            raise ConfigError(f"start={start}, most={most}: start must be at least 1 and no more than most")
        super().__init__(backend)
        self._clock = clock
        self._allowed = AdaptiveLimit(start=start, most=most)
        self._in_flight = 0
        self._admission: Admission[Ticket] = Admission()

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return self._allowed.limit

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """The backend's answer, once there is a place, which is held until ``record`` is done. Raises what the backend
        raises.
        """
        ticket = await self._admission.enter(self._take, undo=self._leave)
        started = self._clock()
        ended: Callable[[], None] = partial(self._allowed.lost, ticket)
        try:
            completion = await self._backend.complete(request)
            # The backend's own figure where it has one: it knows of no waiting on our side.
            ended = partial(self._allowed.ended, ticket, completion.latency or self._clock() - started)
            return await record(completion)
        except BackendError as error:
            if error.kind == "rate_limited" or (isinstance(error, TransientError) and error.retry_after is not None):
                ended = partial(self._allowed.refused, ticket)
            elif error.kind == "timeout":
                ended = partial(self._allowed.ended, ticket, self._clock() - started)
            raise
        finally:
            self._admission.change(partial(self._ended, ended))

    def _take(self) -> Ticket | None:
        if self._in_flight >= self._allowed.limit:
            return None
        self._in_flight += 1
        return self._allowed.began(crowded=self._in_flight >= self._allowed.limit or self._admission.crowded)

    def _leave(self, ticket: Ticket) -> None:
        self._ended(partial(self._allowed.lost, ticket))

    def _ended(self, tell: Callable[[], None]) -> None:
        self._in_flight -= 1
        tell()
