"""A backend with a limit on its calls in flight: a fixed number, or a limit that adapts to the server's throughput.

Not responsible for rates per minute (``rate``), nor for waiting after a refusal (``retry``, which belongs outside).
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial

from calipers.backends.limits.adaptive_limit import AdaptiveLimit, QueueCap, Ticket
from calipers.backends.limits.admission import Admission
from calipers.backends.limits.wrapper import HoldingWrapper
from calipers.errors import BackendError, ConfigError, TransientError
from calipers.interfaces import Backend, Record
from calipers.types import Completion, JudgeRequest

_log = logging.getLogger("calipers.calls")

MOST = 512
"""The default of ``most``, the upper end of an adaptive limit on calls in flight."""


class Limited(HoldingWrapper):
    """``backend`` with at most ``concurrency`` calls in flight per event loop; further calls wait in order.

    The limit is per event loop, because an asyncio semaphore belongs to one loop and trainers run several.
    """

    def __init__(self, backend: Backend, *, concurrency: int) -> None:
        if concurrency < 1:
            raise ConfigError(f"concurrency must be at least 1, not {concurrency}.")
        super().__init__(backend)
        self._concurrency = concurrency
        self._slots: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}
        self._lock = threading.Lock()

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """Return the backend's answer. The call counts as in flight until ``record`` is done. Raises what the backend
        raises.
        """
        loop = asyncio.get_running_loop()
        slots = self._slots.get(loop) or self._new_slots(loop)
        await slots.acquire()
        try:
            return await record(await self._backend.complete(request))
        finally:
            slots.release()

    def _new_slots(self, loop: asyncio.AbstractEventLoop) -> asyncio.Semaphore:
        with self._lock:
            # A semaphore with waiters refers to its loop. Stored here, it would keep closed loops from being collected.
            for closed in [known for known in self._slots if known.is_closed()]:
                del self._slots[closed]
            return self._slots.setdefault(loop, asyncio.Semaphore(self._concurrency))


class Adaptive(HoldingWrapper):
    """``backend`` with a limit on calls in flight that adapts, from 1 to ``most``, for all event loops together.

    The limit rises while a higher limit brings more answers per second. It falls when a higher limit makes answers
    slower, or when the server refuses calls (429, or any error that names a time to come back). ``load`` tells how many
    calls wait at the server and run, or None; it is asked every ``look_every`` seconds, so that few calls wait there.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        start: int = 8,
        most: int = MOST,
        load: Callable[[], Awaitable[tuple[float, float] | None]] | None = None,
        look_every: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 1 <= start <= most:
            raise ConfigError(f"start={start}, most={most}: start must be at least 1 and no more than most")
        super().__init__(backend)
        self._clock = clock
        self._allowed = AdaptiveLimit(start=start, most=most)
        self._cap = QueueCap(most=most)
        self._load, self._look_every = load, look_every
        self._look_at = -math.inf
        self._in_flight = 0
        self._admission: Admission[Ticket] = Admission()

    @property
    def limit(self) -> int:
        """Return how many calls to the judge may be in flight now."""
        return min(self._allowed.limit, self._cap.limit)

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """Return the backend's answer. The call counts as in flight until ``record`` is done. Raises what the backend
        raises.
        """
        ticket = await self._admission.enter(self._take, undo=self._leave)
        started = self._clock()
        ended: Callable[[], None] = partial(self._allowed.call_lost, ticket)
        try:
            completion = await self._backend.complete(request)
            # The latency that the backend measured comes first, because it excludes the time that the call waited on
            # our side.
            ended = partial(self._allowed.call_ended, ticket, completion.latency or self._clock() - started)
            recorded = await record(completion)
        except BackendError as error:
            if error.kind == "rate_limited" or (isinstance(error, TransientError) and error.retry_after is not None):
                ended = partial(self._allowed.call_refused, ticket)
            elif error.kind == "timeout":
                ended = partial(self._allowed.call_ended, ticket, self._clock() - started)
            raise
        finally:
            self._admission.change(partial(self._ended, ended))
        await self._look()
        return recorded

    def _take(self) -> Ticket | None:
        if self._in_flight >= self.limit:
            return None
        self._in_flight += 1
        # While the cap holds calls back, their latencies say nothing about the limit that they are measured for.
        is_measured = self._allowed.limit <= self._cap.limit
        is_full = self._in_flight >= self._allowed.limit or self._admission.has_waiters
        return self._allowed.call_began(limit_reached=is_measured and is_full)

    async def _look(self) -> None:
        """Look at the server's queue, if it is time; one caller at a time does, after its answer."""
        if self._load is None or self._clock() < self._look_at:
            return
        self._look_at = math.inf
        found = None
        try:
            found = await self._load()
        except Exception:  # noqa: BLE001 - a gauge that fails, in whatever way, must fail no judgment
            _log.debug("%s: the server's load is not known", self.endpoint, exc_info=True)
        finally:
            self._look_at = self._clock() + self._look_every
        if found is not None:
            waiting, running = found
            self._admission.change(lambda: self._cap.saw(waiting, running, in_flight=self._in_flight))

    def _leave(self, ticket: Ticket) -> None:
        self._ended(partial(self._allowed.call_lost, ticket))

    def _ended(self, record_end: Callable[[], None]) -> None:
        self._in_flight -= 1
        record_end()
