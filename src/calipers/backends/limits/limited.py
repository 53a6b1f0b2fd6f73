"""A judge's backend with its limits: retries, calls in flight, calls a minute, a budget, prices, and a circuit breaker.

Retries are outside everything else, so that a call that waits for its next attempt does not count as in flight. Inside
the bound are the breaker, which so refuses waiting calls too, and the budget, in which a waiting call reserves nothing.
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from calipers.backends.limits.budget import NOTHING, Amount, Purse, find_pricing, report_failed_call
from calipers.backends.limits.pool import Pool
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from calipers.interfaces import Backend, FullBackend, Record, full
from calipers.types import Completion, FailureKind, JudgeRequest, Usage

_log = logging.getLogger("calipers.calls")

_LONGEST_WAIT: Final = 30.0
_UNREADABLE_REPLIES: Final = 2
"""The most calls for a request that may end in an unusable reply, because each of them may be billed."""

_DEAD: Final[frozenset[FailureKind]] = frozenset({"unreachable", "timeout", "server", "bad_reply"})
"""Failures of a server that is down. A rate limit is not among them, because only a working server sends it."""
_ALIVE: Final[frozenset[FailureKind]] = frozenset({"context_window", "refused", "bad_request"})
"""Failures of a single request to a judge that works."""


class Limited(FullBackend):
    """``backend`` with limits. Several Judges that are given one Limited share them; a Judge adds none to it.

    A request gets up to ``attempts`` calls, with waits of up to ``base`` seconds that double, at least as long as the
    server asks for, and no wait that would end after ``deadline`` seconds; with None, calipers tries only once and
    leaves the count of attempts to ``backend``. At most ``concurrency`` calls are in flight per event loop, and
    ``requests_per_minute`` of them begin, evenly spaced. ``budget`` is a Purse, a Budget or a mapping, and ``price``
    that of a million tokens of input and output. With ``pauses``, a judge whose calls all fail is paused. Raises
    ConfigError for limits that cannot work.
    """

    def __init__(  # noqa: PLR0913 - constructor arguments are the configuration
        self,
        backend: Backend,
        *,
        name: str | None = None,
        attempts: int | None = 5,
        concurrency: int | None = 64,
        requests_per_minute: float | None = None,
        budget: object = None,
        price: object = None,
        max_tokens: int | None = None,
        deadline: float | None = 900.0,
        pauses: bool = True,
        base: float = 0.5,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        for option, number in (("attempts", attempts), ("concurrency", concurrency)):
            if number is not None and number < 1:
                raise ConfigError(f"{option} must be at least 1, not {number}.")
        if requests_per_minute is not None and not requests_per_minute > 0:
            raise ConfigError(f"requests_per_minute={requests_per_minute!r}: it must be a number above 0")
        self.bare = full(backend)
        self.endpoint, self.model = backend.endpoint, backend.model
        self.name = name or type(backend).__name__
        self.warnings = self.bare.warnings
        pool = self.bare if isinstance(self.bare, Pool) else None
        self._send = partial(self._ask, self.bare) if pool is None else partial(pool.complete_with, self._ask)
        self._attempts, self._deadline, self._base = attempts, deadline, base
        self._concurrency = concurrency
        self._slots: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}
        self._pricing = find_pricing(backend.endpoint, backend.model, price=price)
        is_free = self._pricing is not None and self._pricing(Usage(10**6, 10**6)) == 0
        self._unknown_cost = NOTHING if is_free else None
        self._purse = None if budget is None else budget if isinstance(budget, Purse) else Purse(budget)
        if self._purse is not None:
            self._purse.require_enough(self.model, self._pricing, max_tokens)
        self._spacing = None if requests_per_minute is None else 60.0 / requests_per_minute
        self._free_at = clock()
        self._breaker = _Breaker(f"{self.model} at {self.endpoint}", clock) if pauses else None
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        # Unseeded, because processes with the same seed would all call again at once. No result depends on the waits.
        self._draw: Callable[[float, float], float] = random.Random().uniform  # noqa: S311 - spreads load, guards nothing

    async def check(self) -> Sequence[str]:
        """Return the warnings of the backend's own check. Raises ConfigError when the server cannot be reached."""
        return await self.bare.check()

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the backend's answer. Raises BackendError after the last attempt."""
        return await self.complete_recorded(request, _as_it_is)

    async def complete_recorded(self, request: JudgeRequest, record: Record) -> Completion:
        """Return the backend's answer after it is recorded; until then the call counts as in flight.

        The completion's ``latency`` is the time in seconds from the first call on. Raises BackendError after the last
        attempt, or once the time for attempts is used up; its message states the number of attempts.
        """
        started, asked = self._clock(), float("inf")
        slots = self._slots.get(asyncio.get_running_loop()) or self._new_slots()
        unreadable = attempt = 0
        while True:
            attempt += 1
            try:
                async with slots:
                    asked = min(asked, self._clock())
                    completion = await self._call(request)
                    if self._attempts is not None:
                        completion = replace(completion, attempts=attempt, latency=self._clock() - asked)
                    return await record(completion)
            except TransientError as error:
                if self._attempts is None:
                    raise
                unreadable += error.kind == "bad_reply"
                if attempt == self._attempts or unreadable == _UNREADABLE_REPLIES:
                    raise _given_up(error, attempt) from error
                wait = self._wait(error, attempt, started)
                error.counted = False  # a backend may raise the same error object for another call
            except PermanentError as error:
                raise _given_up(error, attempt) from error
            await self._sleep(wait)  # outside the except block, so that the error is freed

    def _new_slots(self) -> asyncio.Semaphore:
        """Return the places for calls in flight of this event loop. A semaphore belongs to one loop, and trainers run
        several.
        """
        with self._lock:
            # A semaphore with waiters refers to its loop, and would keep a closed one from being collected.
            for closed in [slot for slot in self._slots if slot.is_closed()]:
                del self._slots[closed]
            loop = asyncio.get_running_loop()
            return self._slots.setdefault(loop, asyncio.Semaphore(self._concurrency or sys.maxsize))

    def _wait(self, error: TransientError, attempt: int, started: float) -> float:
        """Return the seconds to wait before the next call. Raises BackendError if the wait would end after the
        deadline.
        """
        drawn = self._draw(0.0, min(_LONGEST_WAIT, self._base * 2 ** (attempt - 1)))
        # A random time is added to the server's own wait, too, because the server names the same moment to all clients.
        wait = drawn if error.retry_after is None else error.retry_after + drawn
        if self._deadline is not None and self._clock() + wait > started + self._deadline:
            left = max(0.0, started + self._deadline - self._clock())
            why = f"the next try is {wait:.1f} s away, with {left:.1f} s left"
            raise _given_up(error, attempt, because=why) from error
        _log.debug(
            "%s at %s: a call failed (%s), attempt %d of %s; the next in %.1f s",
            *(self.model, self.endpoint, error.kind, attempt, self._attempts, wait),
        )
        return wait

    async def _call(self, request: JudgeRequest) -> Completion:
        """Make one call, unless the judge is paused or the budget is spent. Raises BackendError."""
        breaker = self._breaker
        if breaker is not None and breaker.why is not None:
            breaker.enter()
        if self._spacing is not None:
            await self._turn(self._spacing)
        try:
            completion = await (self._send(request) if self._purse is None else self._send_within(self._purse, request))
        except BackendError as error:
            if breaker is not None:
                breaker.count(error)
            raise
        if breaker is not None and breaker.failed:
            breaker.close()
        return completion

    async def _send_within(self, purse: Purse, request: JudgeRequest) -> Completion:
        """Make one call within the budget of ``purse``. A call that is broken off counts in full."""
        claim = spent = Amount.at_most(request, self._pricing)
        await purse.reserve(claim)
        try:
            completion = await self._send(request)
            spent = claim.after(completion.usage)
        except BackendError as error:
            spent = claim.after_failure(error)
            raise
        finally:
            purse.charge(claim, spent)
        return completion

    async def _turn(self, spacing: float) -> None:
        """Wait until this request may begin: evenly spaced, so that a limit per second holds as well."""
        with self._lock:
            now = self._clock()
            wait = max(0.0, self._free_at - now)
            self._free_at = now + wait + spacing
        if wait:
            await self._sleep(wait)

    async def _ask(self, server: Backend, request: JudgeRequest) -> Completion:
        """Send ``request`` to ``server``, with the cost filled in; a call that fails is reported to the request."""
        try:
            completion = await server.complete(request)
            if not isinstance(completion, Completion):
                raise TypeError(f"complete() must return a Completion, not {type(completion).__name__}")  # noqa: TRY301
            if not isinstance(completion.text, str) or not isinstance(completion.usage, Usage):
                raise TypeError("a Completion needs text as its text and a Usage as its usage")  # noqa: TRY301
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, BackendError) and error.usage is not None:
                error.usage = self._priced(error.usage)
            report_failed_call(request, error, unknown=self._unknown_cost)
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and not task.cancelling():
                raise RuntimeError("it cancelled its own call") from error
            raise
        if self._pricing is None:
            return completion
        usage = self._priced(completion.usage)
        return completion if usage is completion.usage else replace(completion, usage=usage)

    def _priced(self, usage: Usage) -> Usage:
        # An answer is not free only because the server reports no tokens for it.
        if self._pricing is None or usage.cost_usd is not None or not (usage.input_tokens or usage.output_tokens):
            return usage
        return replace(usage, cost_usd=self._pricing(usage))


class _Breaker:
    """Pauses a ``judge`` that fails persistently, so that not every group goes through all its retries first.

    It opens after ten failed calls in a row over at least ten seconds (retries cover a restart), or after three fatal
    failures in a row (a revoked key, a model that is gone). Then calls at once raise a fatal PermanentError of the
    kind that opened it, except for one call every fifteen seconds, which tests the judge. The first answer closes it.
    Safe to use from several event loops.
    """

    FAILURES, SECONDS, FATAL, PAUSE = 10, 10.0, 3, 15.0

    def __init__(self, judge: str, clock: Callable[[], float]) -> None:
        self._judge, self._clock, self._lock = judge, clock, threading.Lock()
        self.failed = self._fatal = 0
        self._since = self._test_at = 0.0
        self.why: BackendError | None = None
        """The failure for which calls are paused, or None."""

    def enter(self) -> None:
        """Let a call through that may test the paused judge. Raises PermanentError if no test is due."""
        with self._lock:
            why, now = self.why, self._clock()
            if why is None:
                return
            if now >= self._test_at:
                self._test_at = now + self.PAUSE  # the next test does not wait for this one, which may hang
                return
        paused = f"{self._judge} is paused, because all recent calls failed; it is tested from time to time. "
        raise PermanentError(why.kind, f"{paused}The failure that paused it: {why}", fatal=True) from why

    def count(self, error: BackendError) -> None:
        """Note a failed call to the judge."""
        if error.kind in _ALIVE:
            return self.close()
        fatal = isinstance(error, PermanentError) and error.fatal and error.kind != "budget"
        if not fatal and error.kind not in _DEAD:
            return None
        with self._lock:
            now = self._clock()
            self._since = self._since if self.failed else now
            self.failed += 1
            self._fatal = self._fatal + 1 if fatal else 0
            long = self.failed >= self.FAILURES and now - self._since >= self.SECONDS
            if self.why is not None or not (long or self._fatal >= self.FATAL):
                return None
            self.why = error.reworded(str(error))  # without a traceback, which would hold the call's data in memory
            self._test_at = now + self.PAUSE
        _log.warning(
            "%s is paused, because %d calls in a row failed (the last: %s); a call tests it every %.0f s",
            *(self._judge, self.failed, error.kind, self.PAUSE),
        )
        return None

    def close(self) -> None:
        """Forget all failures, because the judge answers."""
        with self._lock:
            self.failed = self._fatal = 0
            paused, self.why = self.why is not None, None
        if paused:
            _log.warning("%s answers again, and is no longer paused", self._judge)


class Wrapper(FullBackend):
    """A backend around ``backend``, with its endpoint and model, and without its optional abilities."""

    def __init__(self, backend: Backend) -> None:
        self._backend = full(backend)
        self.endpoint = backend.endpoint
        self.model = backend.model


def _given_up(error: BackendError, attempts: int, *, because: str = "") -> BackendError:
    """Return ``error`` with the number of attempts in its message, or unchanged after a single attempt."""
    if attempts == 1 and not because:
        return error
    from calipers.types.encoding import with_remark  # noqa: PLC0415 - only a call that was given up needs it

    tries = f"{attempts} attempt{'s' if attempts > 1 else ''}"
    return error.reworded(with_remark(str(error), f"gave up after {tries}{': ' + because if because else ''}"))


async def _as_it_is(completion: Completion) -> Completion:
    return completion
