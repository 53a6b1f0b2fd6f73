"""A backend with a limit on its calls in flight.

Not responsible for rates per minute (``rate``), nor for waiting after a refusal (``retry``, which belongs outside).
"""

from __future__ import annotations

import asyncio
import threading

from calipers.backends.limits.wrapper import HoldingWrapper
from calipers.errors import ConfigError
from calipers.interfaces import Backend, Record
from calipers.types import Completion, JudgeRequest


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
