"""A backend with limits on requests and tokens per minute."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

from calipers.backends.context_window import question_bytes
from calipers.backends.limits.wrapper import Wrapper
from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.types import Completion, JudgeRequest

_LEARNING = 0.1
"""The weight of the newest answer in the estimates of tokens."""


class EvenSpacing:
    """Spaces requests evenly: each request reserves its ``amount`` of ``per_minute``.

    So no minute, wherever it begins, holds more than ``per_minute``, and providers that enforce the limit per second do
    not refuse. Unused time is not saved for later. It is safe to use from several threads.
    """

    def __init__(self, per_minute: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds_each = 60.0 / per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._free_at = clock()

    def reserve(self, amount: float = 1.0) -> float:
        """Reserve ``amount`` of the rate limit of a judge's server for a request and return the seconds that the
        request has to wait.
        """
        with self._lock:
            now = self._clock()
            turn = max(now, self._free_at)
            self._free_at = turn + amount * self._seconds_each
            return turn - now

    def correct(self, by: float) -> None:
        """Correct the last reservation of the server's rate limit by ``by``, which is below 0 if the request used less
        than it reserved.
        """
        with self._lock:
            self._free_at += by * self._seconds_each


class RateLimited(Wrapper):
    """``backend`` within ``requests_per_minute`` and ``tokens_per_minute``, over all event loops together.

    The tokens of the question and of the answer both count. They are estimated from the question's length and from
    earlier answers, and corrected by the server's token counts. Raises what the backend raises, and ConfigError for
    limits not above 0.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        for name, limit in (("requests_per_minute", requests_per_minute), ("tokens_per_minute", tokens_per_minute)):
            if limit is not None and not limit > 0:
                raise ConfigError(f"{name}={limit!r}: it must be a number above 0")
        super().__init__(backend)
        self._requests = None if requests_per_minute is None else EvenSpacing(requests_per_minute, clock=clock)
        self._tokens = None if tokens_per_minute is None else EvenSpacing(tokens_per_minute, clock=clock)
        self._sleep = sleep
        self._tokens_a_byte = 0.25
        self._reply_tokens = 500.0

    async def complete(self, request: JudgeRequest) -> Completion:
        """Wait until the rate limits allow ``request``, then return the backend's answer."""
        size = question_bytes(request) if self._tokens is not None else 0
        reserved = size * self._tokens_a_byte + self._reply_tokens
        wait = 0.0 if self._requests is None else self._requests.reserve()
        if self._tokens is not None:
            wait = max(wait, self._tokens.reserve(reserved))
        if wait > 0:
            await self._wait(wait, reserved)
        completion = await self._backend.complete(request)
        if self._tokens is not None:
            self._learn(completion, size, reserved, self._tokens)
        return completion

    async def _wait(self, seconds: float, reserved: float) -> None:
        try:
            await self._sleep(seconds)
        except asyncio.CancelledError:  # the request was not sent, so its reservation is released
            if self._requests is not None:
                self._requests.correct(-1)
            if self._tokens is not None:
                self._tokens.correct(-reserved)
            raise

    def _learn(self, completion: Completion, size: int, reserved: float, tokens: EvenSpacing) -> None:
        usage = completion.usage
        if (
            usage.input_tokens + usage.output_tokens == 0
        ):  # without the server's token counts the estimate is not corrected
            return
        tokens.correct(usage.input_tokens + usage.output_tokens - reserved)
        self._reply_tokens += _LEARNING * (usage.output_tokens - self._reply_tokens)
        if usage.input_tokens and size:
            self._tokens_a_byte += _LEARNING * (usage.input_tokens / size - self._tokens_a_byte)
