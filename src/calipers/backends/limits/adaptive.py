"""A backend with as many calls in flight as its server makes use of, which is found out while asking.

Not responsible for rates a minute (``rate``) nor for waiting after a refusal (``retry``, which belongs outside this).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from calipers.backends.limits.climb import Climb, Ticket
from calipers.backends.limits.gate import Gate
from calipers.backends.limits.wrapper import HoldingWrapper
from calipers.errors import BackendError, ConfigError, TransientError
from calipers.interfaces import Backend, Record
from calipers.types import Completion, JudgeRequest

MOST = 512
"""Calls in flight that are never exceeded, unless said otherwise."""


class Adaptive(HoldingWrapper):
    """At most as many calls of ``backend`` in flight as pay off, from 1 to ``most``, over all event loops together.

    More are allowed while that gets more answers a second, and fewer when answers take longer for it, or the server
    refuses them (429, or whatever names a time to come back). ``limit`` is what is allowed now.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        start: int = 8,
        most: int = MOST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 1 <= start <= most:
            raise ConfigError(f"start={start}, most={most}: start must be at least 1 and no more than most")
        super().__init__(backend)
        self._clock = clock
        self._climb = Climb(start=start, most=most)
        self._in_flight = 0
        self._gate: Gate[Ticket] = Gate()

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return self._climb.limit

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """The backend's answer, once there is a place, which is held until ``record`` is done. Raises what the backend raises."""
        ticket = await self._gate.enter(self._take, undo=self._leave)
        started = self._clock()
        ended: Callable[[], None] = partial(self._climb.lost, ticket)
        try:
            completion = await self._backend.complete(request)
            # The backend's own figure where it has one: it knows of no waiting on our side.
            ended = partial(self._climb.ended, ticket, completion.latency or self._clock() - started)
            return await record(completion)
        except BackendError as error:
            if error.kind == "rate_limited" or (isinstance(error, TransientError) and error.retry_after is not None):
                ended = partial(self._climb.refused, ticket)
            elif error.kind == "timeout":
                ended = partial(self._climb.ended, ticket, self._clock() - started)
            raise
        finally:
            self._gate.change(partial(self._ended, ended))

    def _take(self) -> Ticket | None:
        if self._in_flight >= self._climb.limit:
            return None
        self._in_flight += 1
        return self._climb.began(crowded=self._in_flight >= self._climb.limit or self._gate.crowded)

    def _leave(self, ticket: Ticket) -> None:
        self._ended(partial(self._climb.lost, ticket))

    def _ended(self, tell: Callable[[], None]) -> None:
        self._in_flight -= 1
        tell()
