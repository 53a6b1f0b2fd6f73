"""Asking so that an answer is safe before another call takes its place in flight.

Not responsible for making it safe (``ledger``) nor for the places (``limit``, ``adaptive``).
"""

from __future__ import annotations

from typing import cast

from calipers.interfaces import Backend, Keep, Keeper
from calipers.types import Completion, JudgeRequest


async def complete_kept(backend: Backend, request: JudgeRequest, keep: Keep) -> Completion:
    """``backend``'s answer after ``keep``, which a Keeper's place is held for; others have no places to hold."""
    if hasattr(backend, "complete_kept"):  # an isinstance of a protocol takes longer than all else here
        return await cast("Keeper", backend).complete_kept(request, keep)
    return await keep(await backend.complete(request))


async def as_it_is(completion: Completion) -> Completion:
    """For who keeps nothing."""
    return completion
