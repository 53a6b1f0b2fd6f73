"""A backend that stops calling a judge whose calls all fail, and tests from time to time whether the judge works again.

Without it, every further group would go through all its retries before it fails.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from calipers.backends.limits.wrapper import Wrapper
from calipers.errors import BackendError, ConfigError, PermanentError
from calipers.interfaces import Backend
from calipers.types import Completion, FailureKind, JudgeRequest

_log = logging.getLogger("calipers.calls")

_DEAD: Final[frozenset[FailureKind]] = frozenset({"unreachable", "timeout", "server", "bad_reply"})
"""Failures of a server that is down. A rate limit is not among them, because only a working server sends it."""
_ALIVE: Final[frozenset[FailureKind]] = frozenset({"context_window", "refused", "bad_request"})
"""Failures of a single request to a judge that works."""


class CircuitBreaker(Wrapper):
    """Calls ``backend``, but pauses while it fails persistently (the circuit is open). Then only single test calls
    pass.

    The circuit opens after ``failures`` failed calls in a row over at least ``seconds`` (retries cover a restart), or
    after ``refusals`` fatal failures in a row (a revoked key, a model that is gone). While it is open, calls at once
    raise PermanentError, which is fatal and has the kind of the failure that opened the circuit. After ``pause``
    seconds one call is let through. The pause doubles after each further failure, up to ``longest``. The first answer
    closes the circuit.

    It belongs inside the bound on calls in flight, so that waiting calls are refused, too. It is safe to use from
    several event loops.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        failures: int = 10,
        seconds: float = 10.0,
        refusals: int = 3,
        pause: float = 5.0,
        longest: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if failures < 1 or refusals < 1 or seconds < 0 or not 0 < pause <= longest:
            raise ConfigError(
                "circuit breaker: failures and refusals must be at least 1, seconds at least 0, and pause above 0 "
                "and at most longest"
            )
        super().__init__(backend)
        self._failures = failures
        self._seconds = seconds
        self._refusals = refusals
        self._first_pause = self._pause = pause
        self._longest = longest
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = self._refused = 0
        self._since = 0.0
        self._why: BackendError | None = None
        self._again_at = 0.0

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the backend's answer. Raises its BackendError, or PermanentError without a call while the circuit is
        open.
        """
        trial = self._enter()
        try:
            completion = await self._backend.complete(request)
        except BackendError as error:
            self._note(error, trial=trial)
            raise
        self._close()
        return completion

    def _enter(self) -> bool:
        """Return True if this call tests a paused judge, False if the circuit is closed.

        Raises PermanentError while the circuit is open.
        """
        with self._lock:
            why = self._why
            if why is None:
                return False
            now = self._clock()
            if now >= self._again_at:
                # The next test does not wait until this test ends, because this test may hang.
                self._again_at = now + self._pause
                return True
        raise PermanentError(
            why.kind,
            f"{self.model} is paused, because all recent calls failed; it is tested from time to time. "
            f"The failure that paused it: {why}",
            fatal=True,
        ) from why

    def _note(self, error: BackendError, *, trial: bool) -> None:
        if error.kind in _ALIVE:
            self._close()
        elif isinstance(error, PermanentError) and error.fatal and error.kind != "budget":
            self._count(error, trial=trial, fatal=True)
        elif error.kind in _DEAD:
            self._count(error, trial=trial, fatal=False)

    def _count(self, error: BackendError, *, trial: bool, fatal: bool) -> None:
        opened = False
        with self._lock:
            now = self._clock()
            if not self._failed:
                self._since = now
            self._failed += 1
            self._refused = self._refused + 1 if fatal else 0
            why = error.reworded(str(error))  # without a traceback, which would hold the call's data in memory
            if self._why is not None:
                self._why = why
                if trial:
                    self._pause = min(self._longest, self._pause * 2)
                    self._again_at = now + self._pause
            elif self._refused >= self._refusals or self._is_dead(now):
                self._why = why
                self._pause = self._first_pause
                self._again_at = now + self._pause
                opened = True
            failed, pause = self._failed, self._pause
        if opened:
            _log.warning(
                "%s at %s: %d calls in a row failed (%s last): it is paused, and tested every %.0f s or less often",
                *(self.model, self.endpoint, failed, error.kind, pause),
            )
        elif trial:
            _log.info(
                "%s at %s: still down (%s); the next test in %.0f s", self.model, self.endpoint, error.kind, pause
            )

    def _is_dead(self, now: float) -> bool:
        return self._failed >= self._failures and now - self._since >= self._seconds

    def _close(self) -> None:
        with self._lock:
            self._failed = self._refused = 0
            paused, self._why = self._why is not None, None
        if paused:
            _log.warning("%s at %s: it answers again, and calls go on", self.model, self.endpoint)
