"""A backend with a bound on how many calls are in flight.

Not responsible for rates per minute, nor for waiting after a refusal (``retry``, which belongs outside this).
"""

from __future__ import annotations

import asyncio
import threading

from calipers.backends.limits.wrapper import HoldingWrapper
from calipers.errors import ConfigError
from calipers.interfaces import Backend, Record
from calipers.types import Completion, JudgeRequest


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
        """The backend's answer, once there is a place, which is held until ``record`` is done. Raises what the backend raises."""
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
