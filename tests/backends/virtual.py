"""An event loop whose time passes only by being waited for: hours of calls run in a moment, the same each time."""

from __future__ import annotations

import asyncio
import functools
import json
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from calipers.errors import BackendError
from calipers.interfaces import FullBackend
from calipers.types import Completion, JudgeRequest, Usage

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """``time()`` is in seconds since the start, and jumps to the next thing due when nothing else is ready."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Skipping(self))

    def time(self) -> float:
        return self._now

    def skip(self, seconds: float) -> None:
        self._now += seconds


class _Skipping(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everything waits, and nothing will happen")
        if timeout > 0:
            self._loop.skip(timeout)
        return super().select(0)


class PassingLoop(asyncio.SelectorEventLoop):
    """A loop with real sockets, whose time also passes when a test says so: no deadline is met for a machine's
    slowness.
    """

    _passed = 0.0

    def time(self) -> float:
        return super().time() + self._passed

    def let_pass(self, seconds: float) -> None:
        """So much time is over, whatever a clock says. From any thread."""
        self.call_soon_threadsafe(self._pass, seconds)

    def _pass(self, seconds: float) -> None:
        self._passed += seconds


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtually(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine, run on such a loop."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        run_virtually(test(*arguments, **named))

    return run


def now() -> float:
    return asyncio.get_running_loop().time()


class Server(FullBackend):
    """Fails at once with ``always``, where that is set, or takes ``seconds`` and fails with the next of ``errors``,
    or scores the attempts as they stand.
    """

    model = "m"

    def __init__(
        self,
        *errors: BackendError,
        always: BackendError | None = None,
        endpoint: str = "here",
        seconds: float = 1.0,
        usage: Usage | None = None,
    ) -> None:
        self.errors, self.always = list(errors), always
        self.endpoint, self.seconds, self.usage = endpoint, seconds, usage or Usage()
        self.began: list[float] = []
        """When each call began."""
        self.inside = self.most = 0
        """How many calls are in flight, and the most that were."""

    async def complete(self, request: JudgeRequest) -> Completion:
        self.began.append(now())
        if self.always is not None:
            raise self.always
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.inside -= 1
        if self.errors:
            raise self.errors.pop(0)
        scores = {key: 90 - 10 * place for place, key in enumerate(request.keys)}
        return Completion(json.dumps({"scores": scores}), model=self.endpoint, usage=self.usage, latency=9.0)
