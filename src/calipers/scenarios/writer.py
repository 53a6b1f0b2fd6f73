"""The model that writes scenarios, connected as a judge is: retries, limits, budget, and a ledger of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calipers.backends.connect import connect
from calipers.backends.limits.bounds import wrapped
from calipers.config.flat_names import judge_arguments
from calipers.config.grouped_options import Calls
from calipers.config.options import options_in_group
from calipers.interfaces import Backend, FullBackend, Store
from calipers.judging.judge import Judge
from calipers.ledger import WritableLedger


@dataclass(frozen=True, slots=True)
class Writer:
    """A connected writer of scenarios: its ``backend``, the ``store`` of its answers, and its request parameters."""

    backend: FullBackend
    store: Store
    params: Mapping[str, Any]


def connected_writer(
    model: str | Backend,
    *,
    ledger: WritableLedger | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Writer:
    """Return a writer of scenarios by a judge's name or a Backend, with the ``options`` of ``Judge.of`` for calls.

    Raises ConfigError for a model that cannot be reached and for options that do not apply.
    """
    chosen = {"judge": model, "base_url": base_url, "api_key": api_key, "ledger": ledger, **(options or {})}
    calls: Calls = options_in_group("calls", judge_arguments(chosen).get("calls"))
    bare = connect(model, base_url=base_url, api_key=api_key, timeout=calls.timeout)
    backend = wrapped(bare, attempts=calls.attempts if isinstance(model, str) else None)
    limit = {} if calls.max_tokens is None else {"max_tokens": calls.max_tokens}
    return Writer(backend, Judge.of(chosen).store, {**limit, **(calls.params or {})})
