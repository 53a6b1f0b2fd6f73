"""A backend that sends its slowest requests a second time and takes the first answer (hedged requests).

Not responsible for trying again after a failure (``retry``). The second call costs as much as any other.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from calipers.backends.limits.metered import report_failed_call
from calipers.backends.limits.wrapper import Wrapper
from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.types import Completion, FailedCall, JudgeRequest

_LEAST = 20
"""Slow calls are recognised only after this number of answers."""
_RECENT = 200
_MARGIN = 1.1
"""A slow call exceeds the quantile by this factor. So no call counts as slow if all take about the same time."""


class Hedged(Wrapper):
    """Sends the slowest ``share`` (0-0.5) of all requests a second time, and never more than that share.

    A request is slow once it takes longer than all but ``share`` of the recent requests did. After the first answer,
    the other call is cancelled. If both calls are answered at the same moment, the second answer's usage is reported as
    that of a failed call. Raises what the backend raises when both calls failed.
    """

    def __init__(self, backend: Backend, *, share: float, clock: Callable[[], float] = time.monotonic) -> None:
        if not 0 < share <= 0.5:
            raise ConfigError(f"hedge={share!r}: the share of questions asked twice is above 0 and at most 0.5")
        super().__init__(backend)
        self._share = share
        self._clock = clock
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._asked = 0
        self.second_calls = 0
        """How many requests were sent twice so far."""

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the backend's first answer to ``request``, from the first or the second call."""
        self._asked += 1
        started = self._clock()
        slow_after = self._slow_after()
        completion = await (
            self._backend.complete(request) if slow_after is None else self._race(request, slow_after=slow_after)
        )
        self._recent.append(self._clock() - started)
        return completion

    def _slow_after(self) -> float | None:
        """Return the seconds after which a request counts as slow, or None while there are too few answers."""
        if len(self._recent) < _LEAST:
            return None
        return _MARGIN * sorted(self._recent)[int((1 - self._share) * (len(self._recent) - 1))]

    async def _race(self, request: JudgeRequest, *, slow_after: float) -> Completion:
        calls = [asyncio.ensure_future(self._backend.complete(request))]
        won: asyncio.Future[Completion] | None = None
        try:
            done, _ = await asyncio.wait(calls, timeout=slow_after)
            if not done and self.second_calls + 1 <= self._share * self._asked:
                self.second_calls += 1
                calls.append(asyncio.ensure_future(self._backend.complete(request)))
            running = set(calls)
            while True:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                won = next((call for call in done if call.exception() is None), None)
                if won is not None or not running:
                    return (won or calls[0]).result()
        finally:
            for call in calls:
                call.cancel()
            ended = await asyncio.gather(*calls, return_exceptions=True)
            for call, answer in zip(calls, ended, strict=True):
                if call is not won and isinstance(answer, Completion):
                    report_failed_call(
                        request, FailedCall("broken_off", answer.usage if answer.usage.is_nonzero else None)
                    )
