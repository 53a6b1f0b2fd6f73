"""The wrappers of a judge's backend in the one order in which they belong together.

Not responsible for what any of them does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from calipers.backends.adaptive import Adaptive
from calipers.backends.budget import Budget, Budgeted, Purse
from calipers.backends.circuit import Circuit
from calipers.backends.hedge import Hedged
from calipers.backends.limit import Limited
from calipers.backends.pool import Pool
from calipers.backends.prices import Priced, find_pricing
from calipers.backends.rate import Paced
from calipers.interfaces import Backend


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
    circuit: Callable[[Backend], Backend] = Circuit,
) -> Backend:
    """``backend`` with a price to its answers, at its pace, within its budget, and with bounds on what is in flight.

    A Purse is a budget that others draw on, too. ``circuit`` pauses it while it fails persistently. Each member of a pool keeps a pace of its own. Retries belong
    outside. Raises ConfigError for what cannot work.
    """
    rates: dict[str, Any] = {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}
    inner = backend
    if any(rate is not None for rate in rates.values()):
        inner = (
            Pool(backend.members, each=lambda one: Paced(one, **rates))
            if isinstance(backend, Pool)
            else Paced(backend, **rates)
        )
    pricing = find_pricing(backend.endpoint, backend.model, price=price)
    if pricing is not None:
        inner = Priced(inner, pricing=pricing)
    if budget is not None:
        # Inside the bound on what is in flight: a call that waits for its place sets nothing aside.
        drawn_on = budget if isinstance(budget, Purse) else Budget.of(budget)
        inner = Budgeted(inner, budget=drawn_on, pricing=pricing, max_tokens=max_tokens)
    inner = circuit(inner)
    if hedge is not None:
        inner = Hedged(inner, share=hedge)
    return Adaptive(inner) if concurrency == "auto" else Limited(inner, concurrency=concurrency)
