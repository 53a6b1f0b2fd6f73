"""All wrappers around a judge's backend, in the only order that works: ``wrapped`` puts them together.

Not responsible for what any of them does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from calipers.backends.limits.budget import Budget, Budgeted, SharedBudget
from calipers.backends.limits.circuit_breaker import CircuitBreaker
from calipers.backends.limits.concurrency import Adaptive, Limited
from calipers.backends.limits.hedge import Hedged
from calipers.backends.limits.metered import Metered
from calipers.backends.limits.pool import Pool
from calipers.backends.limits.prices import find_pricing
from calipers.backends.limits.rate import RateLimited
from calipers.backends.limits.retry import Retrying
from calipers.backends.limits.wrapper import HoldingWrapper
from calipers.interfaces import Backend, FullBackend, Record, full
from calipers.types import Completion, JudgeRequest


def within_bounds(  # noqa: PLR0913 - each argument is a bound
    backend: Backend,
    *,
    concurrency: int | Literal["auto"] = 64,
    budget: object = None,
    price: object = None,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    hedge: float | None = None,
    max_tokens: int | None = None,
    circuit: Callable[[Backend], Backend] = CircuitBreaker,
) -> FullBackend:
    """``backend`` with all wrappers but retries: meter, rate limit, budget, circuit breaker, hedging, concurrency.

    A SharedBudget is a budget that other backends draw on, too. Each member of a pool has a rate limit of its own.
    Raises ConfigError for bounds that cannot work.
    """
    rates: dict[str, Any] = {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}
    is_paced = any(rate is not None for rate in rates.values())
    pricing = find_pricing(backend.endpoint, backend.model, price=price)

    def each(one: Backend) -> Backend:
        """The wrappers around every single call to a server; waiting for the rate limit is no call yet."""
        metered = Metered(one, pricing=pricing)
        return RateLimited(metered, **rates) if is_paced else metered

    inner: Backend = Pool(backend.members, each=each) if isinstance(backend, Pool) else each(backend)
    if budget is not None:
        # Inside the bound on calls in flight: a call that waits for its turn sets nothing aside.
        shared = budget if isinstance(budget, SharedBudget) else Budget.of(budget)
        inner = Budgeted(inner, budget=shared, pricing=pricing, max_tokens=max_tokens)
    inner = circuit(inner)
    if hedge is not None:
        inner = Hedged(inner, share=hedge)
    return Adaptive(inner) if concurrency == "auto" else Limited(inner, concurrency=concurrency)


def wrapped(backend: Backend, *, attempts: int | None = 5, **bounds: Any) -> FullBackend:
    """``backend`` with all its wrappers: retries outside, then those of ``within_bounds``, which takes ``bounds``.

    Retries are outside because a call that waits for its next try must not count as in flight: others would wait with
    it. ``attempts`` None: no retries but those of a Retrying that is given, which are moved outside. Raises ConfigError
    for bounds that cannot work.
    """
    if isinstance(backend, Retrying) and attempts is None:
        return backend.around(lambda inner: within_bounds(inner, **bounds))
    inner = within_bounds(backend, **bounds)
    return inner if attempts is None else Retrying(inner, attempts=attempts)


class Shared(HoldingWrapper):
    """``bare`` with all its wrappers (``wrapped``), for several Judges: its bounds hold for all of them together.

    ``name`` is shown in reports and messages. A Judge adds no wrappers of its own.
    """

    def __init__(self, bare: Backend, *, name: str | None = None, attempts: int | None = 5, **bounds: Any) -> None:
        super().__init__(wrapped(bare, attempts=attempts, **bounds))
        self.bare = full(bare)
        self.name = name or type(bare).__name__
        self.warnings = self.bare.warnings

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """The answer, once it is on record. Raises what the backend raises when its tries are used up."""
        return await self._backend.complete_recorded(request, record)

    async def check(self) -> Sequence[str]:
        """The warnings of ``bare.check``; ConfigError when its server cannot be reached."""
        return await self.bare.check()
