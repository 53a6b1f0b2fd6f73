"""All wrappers around a judge's backend, in the only order that works."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

from calipers.backends.limits.budget import Budget, Budgeted, SharedBudget
from calipers.backends.limits.circuit_breaker import CircuitBreaker
from calipers.backends.limits.metered import Metered
from calipers.backends.limits.pool import Pool
from calipers.backends.limits.prices import find_pricing
from calipers.backends.limits.rate import RateLimited
from calipers.backends.limits.retry import Retrying
from calipers.backends.limits.wrapper import HoldingWrapper
from calipers.errors import ConfigError
from calipers.interfaces import Backend, FullBackend, Record, full
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


def within_bounds(
    backend: Backend,
    *,
    concurrency: int = 64,
    budget: object = None,
    price: object = None,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    max_tokens: int | None = None,
    circuit: Callable[[Backend], Backend] = CircuitBreaker,
) -> FullBackend:
    """Return a judge's ``backend`` with all wrappers except retries.

    They are: meter, rate limit, budget, circuit breaker, concurrency. Several backends spend from the
    same budget if it is a SharedBudget. Each member of a pool has its own rate limit. Raises ConfigError for bounds
    that cannot work.
    """
    rates: dict[str, Any] = {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}
    is_paced = any(rate is not None for rate in rates.values())
    pricing = find_pricing(backend.endpoint, backend.model, price=price)

    def wrap_server(server: Backend) -> Backend:
        """Return the backend ``server`` with the wrappers around every single call. A call begins only after the wait
        for the rate limit.
        """
        metered = Metered(server, pricing=pricing)
        return RateLimited(metered, **rates) if is_paced else metered

    inner: Backend = Pool(backend.members, each=wrap_server) if isinstance(backend, Pool) else wrap_server(backend)
    if budget is not None:
        # The budget is inside the bound on calls in flight, so a call that waits for its turn reserves nothing.
        shared = budget if isinstance(budget, SharedBudget) else Budget.of(budget)
        inner = Budgeted(inner, budget=shared, pricing=pricing, max_tokens=max_tokens)
    return Limited(circuit(inner), concurrency=concurrency)


def wrapped(backend: Backend, *, attempts: int | None = 5, **bounds: Any) -> FullBackend:
    """Return a judge's ``backend`` with all its wrappers: those of ``within_bounds``, with ``bounds``, and retries
    outside.

    Retries are outside because a call that waits for its next attempt must not count as in flight: it would block other
    calls. If ``attempts`` is None, calipers adds no retries. If ``backend`` is a Retrying, its retries are moved
    outside. Raises ConfigError for bounds that cannot work.
    """
    if isinstance(backend, Retrying) and attempts is None:
        return backend.around(lambda inner: within_bounds(inner, **bounds))
    inner = within_bounds(backend, **bounds)
    return inner if attempts is None else Retrying(inner, attempts=attempts)


class Shared(HoldingWrapper):
    """A judge's backend with all its wrappers (``wrapped``). Several Judges that use it share its bounds.

    ``bare`` is the backend without wrappers. ``name`` appears in reports and messages. A Judge that gets a Shared adds
    no wrappers.
    """

    def __init__(self, bare: Backend, *, name: str | None = None, attempts: int | None = 5, **bounds: Any) -> None:
        super().__init__(wrapped(bare, attempts=attempts, **bounds))
        self.bare = full(bare)
        self.name = name or type(bare).__name__
        self.warnings = self.bare.warnings

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """Return the backend's answer, once it is recorded. Raises what the backend raises after its last attempt."""
        return await self._backend.complete_recorded(request, record)

    async def check(self) -> Sequence[str]:
        """Return the warnings of the backend's ``bare.check``. Raises ConfigError when the server cannot be reached."""
        return await self.bare.check()
