"""A backend that tries again: exponential backoff with full jitter around another backend.

Only TransientErrors are retried. The wrapper belongs outside all bounds, so that a call that waits does not count as in
flight (``bounds``).
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Self

from calipers.backends.limits.metered import report_error
from calipers.backends.limits.wrapper import HoldingWrapper
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from calipers.interfaces import Backend, Record, full
from calipers.types import Completion, JudgeRequest

_log = logging.getLogger("calipers.calls")


class Retrying(HoldingWrapper):
    """Makes up to ``attempts`` calls of ``backend`` for a request, at most ``reply_attempts`` of them after unusable
    replies.

    Before call k + 1 it waits a random time of up to ``base * 2**(k - 1)`` seconds, at most ``cap``. It never waits
    less than the server asks for. ``deadline`` limits the seconds for all calls and waits of one request: no wait
    begins that would end after it. The completion's ``latency`` is the time in seconds for all calls and waits. The
    message of the raised error states the number of attempts.
    """

    def __init__(  # noqa: PLR0913 - constructor arguments are the configuration
        self,
        backend: Backend,
        *,
        attempts: int = 5,
        reply_attempts: int = 2,
        base: float = 0.5,
        cap: float = 30.0,
        deadline: float | None = 900.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        if attempts < 1 or reply_attempts < 1:
            raise ConfigError("attempts and reply_attempts must be at least 1.")
        super().__init__(backend)
        self._attempts = attempts
        self._reply_attempts = reply_attempts
        self._base = base
        self._cap = cap
        self._deadline = deadline
        self._clock = clock
        self._sleep = sleep
        # Unseeded, because processes with the same seed would all call again at once. No result depends on the waits.
        self._rng = rng or random.Random()  # noqa: S311 - spreads load, guards nothing

    def around(self, wrap: Callable[[Backend], Backend]) -> Self:
        """Return the same retries of requests around ``wrap(backend)``. Wrappers that are added later belong inside the
        retries.
        """
        twin = copy(self)
        twin._backend = full(wrap(self._backend))  # noqa: SLF001 - its own
        return twin

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """Return the backend's answer after it is recorded. Until then the call keeps its place among the calls in
        flight.

        Raises BackendError after the last attempt, or once the time for attempts is used up.
        """
        started = self._clock()
        bad_replies = 0
        for attempt in range(1, self._attempts + 1):
            try:
                return await self._backend.complete_recorded(request, partial(self._record, record, attempt, started))
            except TransientError as error:
                bad_replies += error.kind == "bad_reply"
                if attempt == self._attempts or bad_replies == self._reply_attempts:
                    raise _final(error, attempt) from error
                wait = self._wait(error, attempt, started)
                _log.debug(
                    "%s at %s: a call failed (%s), attempt %d of %d; the next in %.1f s",
                    *(self.model, self.endpoint, error.kind, attempt, self._attempts, wait),
                )
                report_error(request, error)
                error.counted = False  # a backend may raise the same error object for another call
            except PermanentError as error:
                raise _final(error, attempt) from error
            await self._sleep(wait)  # outside the except block, so that the error is freed
        raise AssertionError("the last attempt returns or raises")

    def _record(self, record: Record, attempt: int, started: float, completion: Completion) -> Awaitable[Completion]:
        return record(replace(completion, attempts=attempt, latency=self._clock() - started))

    def _wait(self, error: TransientError, attempt: int, started: float) -> float:
        """Return the seconds to wait before the next call. Raises BackendError if the wait would end after the
        deadline.
        """
        drawn = self._rng.uniform(0.0, min(self._cap, self._base * 2 ** (attempt - 1)))
        # A random time is added to the server's own wait, too, because the server names the same moment to all clients.
        wait = drawn if error.retry_after is None else error.retry_after + drawn
        if self._deadline is not None and self._clock() + wait > started + self._deadline:
            left = max(0.0, started + self._deadline - self._clock())
            why = f"the next try is {wait:.1f} s away, with {left:.1f} s left"
            raise _final(error, attempt, because=why) from error
        return wait


def _final(error: BackendError, attempts: int, *, because: str = "") -> BackendError:
    """Return ``error`` with the number of attempts in its message, or unchanged after a single attempt."""
    if attempts == 1 and not because:
        return error
    from calipers.types.encoding import with_remark  # noqa: PLC0415 - only a call that was given up needs it

    tries = f"{attempts} attempt{'s' if attempts > 1 else ''}"
    return error.reworded(with_remark(str(error), f"gave up after {tries}{': ' + because if because else ''}"))
