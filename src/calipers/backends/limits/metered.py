"""A backend that fills in the cost of every single call and reports every failed call.

An answer states the usage of its own call only. A caller that sees only the answer, or only the last failure, would
miss earlier calls that may be billed: a reply that could not be used, or a call that was cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from calipers.backends.limits.prices import Pricing
from calipers.backends.limits.wrapper import Wrapper
from calipers.errors import BackendError
from calipers.interfaces import Backend, plain
from calipers.types import NO_FAILED_CALLS, Completion, FailedCall, FailedCalls, FailureKind, JudgeRequest, Usage

COSTS_NOTHING: Final[frozenset[FailureKind]] = frozenset(
    {"unreachable", "unauthorized", "not_found", "rate_limited", "bad_request", "context_window", "not_recorded"}
)
"""Kinds of failure that happen before the judge does any work, and so cost nothing."""

_NOTHING: Final = Usage(cost_usd=0.0)


class Meter:
    """Collects the failed calls for one request. Set ``add`` as the request's ``on_failed_call``.

    ``add`` passes each failed call on to ``then``.
    """

    __slots__ = ("_then", "calls")

    def __init__(self, then: Callable[[FailedCall], None] | None = None) -> None:
        self.calls: list[FailedCall] = []
        self._then = then

    def add(self, call: FailedCall) -> None:
        """Record a call to the judge's server that failed."""
        self.calls.append(call)
        if self._then is not None:
            self._then(call)

    @property
    def total(self) -> FailedCalls:
        """Return the number and the summed usage of the request's failed calls."""
        return FailedCalls.of(self.calls) if self.calls else NO_FAILED_CALLS


class Metered(Wrapper):
    """Calls ``backend``, computes the cost by ``pricing`` if the server states none, and reports every failed call.

    The report goes to the request's ``on_failed_call``, with the usage that the server stated. This wrapper belongs
    around every single call: inside any wrapper that retries, asks another server, or asks twice. A failure of the
    server is not billed. If a call timed out, was cancelled, or brought a reply without usage, its usage is unknown,
    unless ``pricing`` shows that the model is free.
    """

    def __init__(self, backend: Backend, *, pricing: Pricing | None = None) -> None:
        super().__init__(backend)
        self._asked = plain(backend)
        self._pricing = pricing

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the backend's answer with its cost. Raises what the backend raises."""
        try:
            completion = _require_completion(await self._asked.complete(request))
        except BackendError as error:
            if error.usage is not None:
                error.usage = self._priced(error.usage)
            report_error(request, error, unknown=self._unknown())
            raise
        except (Exception, asyncio.CancelledError) as error:
            if not getattr(error, "counted", False):
                error.counted = True  # type: ignore[union-attr]  # as a BackendError has; it may pass another Metered
                kind = "broken_off" if isinstance(error, asyncio.CancelledError) else "internal"
                report_failed_call(request, FailedCall(kind, self._unknown()))
            if isinstance(error, asyncio.CancelledError) and not _is_cancelled():
                raise RuntimeError("it cancelled its own call") from error
            raise
        usage = self._priced(completion.usage)
        return completion if usage is completion.usage else replace(completion, usage=usage)

    def _priced(self, usage: Usage) -> Usage:
        # An answer is not free only because the server reports no tokens for it.
        if self._pricing is None or usage.cost_usd is not None or not (usage.input_tokens or usage.output_tokens):
            return usage
        return replace(usage, cost_usd=self._pricing(usage))

    def _unknown(self) -> Usage | None:
        free = self._pricing is not None and self._pricing(Usage(10**6, 10**6)) == 0
        return _NOTHING if free else None


def _require_completion(value: object) -> Completion:
    """Return what a user's backend gave as the judge's answer. Raises TypeError if it is none."""
    if not isinstance(value, Completion):
        raise TypeError(f"complete() must return a Completion, not {type(value).__name__}")
    if not isinstance(value.text, str) or not isinstance(value.usage, Usage):
        raise TypeError("a Completion needs text as its text and a Usage as its usage")
    return value


def _is_cancelled() -> bool:
    """Whether somebody cancels the task that asks the judge; otherwise its backend raised CancelledError by itself."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def report_failed_call(request: JudgeRequest, call: FailedCall) -> None:
    """Pass a failed call to the judge's server on to the ``on_failed_call`` of ``request``, if it has any."""
    if request.on_failed_call is not None:
        request.on_failed_call(call)


def report_error(request: JudgeRequest, error: BackendError, *, unknown: Usage | None = None) -> None:
    """Report the call to the judge's server that ended with ``error`` to its ``request``, only once even if several
    wrappers see the error.

    ``unknown`` is the reported usage if the server stated none.
    """
    if error.counted:
        return
    error.counted = True
    if error.usage is not None:
        usage: Usage | None = error.usage if error.usage.is_nonzero else _NOTHING
    else:
        usage = _NOTHING if error.kind in COSTS_NOTHING or error.kind == "server" else unknown
    report_failed_call(request, FailedCall(error.kind, usage))
