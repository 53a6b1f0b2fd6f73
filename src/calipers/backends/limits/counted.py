"""A backend that tells of its calls that bring no answer.

It stands around every single call: inside whatever tries again, asks another server, or asks twice. Not responsible for
what an answer took, which it says itself, nor for what calls cost (``prices``, inside of it).
"""

from __future__ import annotations

import asyncio
from typing import Final

from calipers.backends.limits.meter import tell
from calipers.backends.limits.prices import Pricing
from calipers.errors import BackendError
from calipers.interfaces import Backend
from calipers.types import Completion, FailedCall, FailureKind, JudgeRequest, Usage

COSTS_NOTHING: Final[frozenset[FailureKind]] = frozenset(
    {"unreachable", "unauthorized", "not_found", "rate_limited", "bad_request", "context_window", "not_recorded"}
)
"""Failures before any work of the judge's."""

_NOTHING: Final = Usage(cost_usd=0.0)


class Counted:
    """``backend``; every call that fails is told to the request's ``on_failed_call``, with what its server said it took.

    A server's own breakdown is not billed. For a call that timed out, was broken off, or brought a reply without a
    count, what it took is unknown, unless ``pricing`` says that it costs nothing anyway.
    """

    def __init__(self, backend: Backend, *, pricing: Pricing | None = None) -> None:
        self.endpoint = backend.endpoint
        self.model = backend.model
        self._backend = backend
        self._pricing = pricing

    async def complete(self, request: JudgeRequest) -> Completion:
        """The backend's answer. Raises what the backend raises."""
        try:
            return await self._backend.complete(request)
        except BackendError as error:
            tell_failed(request, error, unknown=self._unknown())
            raise
        except (Exception, asyncio.CancelledError) as error:
            if not getattr(error, "counted", False):
                error.counted = True  # type: ignore[union-attr]  # as a BackendError has it; it may pass another of us
                kind = "broken_off" if isinstance(error, asyncio.CancelledError) else "internal"
                tell(request, FailedCall(kind, self._unknown()))
            raise

    def _unknown(self) -> Usage | None:
        free = self._pricing is not None and self._pricing(Usage(10**6, 10**6)) == 0
        return _NOTHING if free else None


def tell_failed(request: JudgeRequest, error: BackendError, *, unknown: Usage | None = None) -> None:
    """Tell of the call that ended with ``error``, once however many wrappers it passes; ``unknown``: what it took if nobody says."""
    if error.counted:
        return
    error.counted = True
    if error.usage is not None:
        usage: Usage | None = error.usage if error.usage.is_nonzero else _NOTHING
    else:
        usage = _NOTHING if error.kind in COSTS_NOTHING or error.kind == "server" else unknown
    tell(request, FailedCall(error.kind, usage))
