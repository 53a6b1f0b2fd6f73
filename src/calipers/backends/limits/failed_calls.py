"""Counts the calls for a request that brought no answer, so that every call that may be billed is in a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from calipers.errors import BackendError
from calipers.types import NO_FAILED_CALLS, FailedCall, FailedCalls, FailureKind, JudgeRequest, Usage

COSTS_NOTHING: Final[frozenset[FailureKind]] = frozenset(
    {"unreachable", "unauthorized", "not_found", "rate_limited", "bad_request", "context_window", "not_recorded"}
)
"""Kinds of failure that happen before the judge does any work, and so cost nothing."""

NOTHING: Final = Usage(cost_usd=0.0)


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


def report_failed_call(request: JudgeRequest, error: BaseException, *, unknown: Usage | None) -> None:
    """Report the call that ended with ``error`` to its ``request``, once even if several backends see the error.

    ``unknown`` is reported as its usage if the server stated none and may have billed it.
    """
    if getattr(error, "counted", False):
        return
    error.counted = True  # type: ignore[attr-defined]  # as a BackendError has
    if request.on_failed_call is None:
        return
    if not isinstance(error, BackendError):
        request.on_failed_call(FailedCall("internal" if isinstance(error, Exception) else "broken_off", unknown))
    elif error.usage is not None:
        request.on_failed_call(FailedCall(error.kind, error.usage if error.usage.is_nonzero else NOTHING))
    else:
        free = error.kind in COSTS_NOTHING or error.kind == "server"
        request.on_failed_call(FailedCall(error.kind, NOTHING if free else unknown))
