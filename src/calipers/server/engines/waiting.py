"""Waits for the results of an engine's rollouts on the server, and notes who left before they were sent."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence

from calipers.server.engines.seats import Seat, Seats
from calipers.server.operations import CallerGoneError, Gone
from calipers.trainers.cohorts import MemberResult


async def results_of(seats: Seats, taken: Sequence[tuple[Hashable, Seat]], gone: Gone) -> list[MemberResult]:
    """Return the results of an engine's rollouts on the server once all are known.

    Raises CallerGoneError if the caller leaves before, and what the judge raises.
    """
    given = False
    left = asyncio.ensure_future(gone())
    results = asyncio.gather(*(asyncio.shield(seat.result) for _, seat in taken))
    try:
        await asyncio.wait((results, left), return_when=asyncio.FIRST_COMPLETED)
        if left.done():
            raise CallerGoneError
        found = await results
        given = True
        return found
    finally:
        left.cancel()
        results.cancel()
        if results.done() and not results.cancelled():
            results.exception()  # marks it as retrieved: every caller gets it from its own seat
        for key, seat in taken:
            seats.leave(key, seat, given=given)
