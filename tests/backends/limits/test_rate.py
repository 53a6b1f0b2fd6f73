"""Requests and tokens a minute. Time is virtual."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.asking import question
from backends.virtual import now, run_virtually
from calipers.backends.limits.rate import EvenSpacing, RateLimited
from calipers.errors import ConfigError, TransientError
from calipers.types import Completion, JudgeRequest, Usage
from effort import reference

UNCOUNTED = Usage()


@dataclass
class _Server:
    """Answers at once, and notes when it was asked and how many tokens it counted."""

    usage: Usage = Usage()
    endpoint: str = "here"
    model: str = "m"
    asked: list[float] = field(default_factory=list)

    async def complete(self, request: JudgeRequest) -> Completion:
        self.asked.append(now())
        return Completion("done", usage=self.usage)


def _asked(count: int, *, usage: Usage = UNCOUNTED, text: str = "x" * 400, **limits: Any) -> list[float]:
    async def run() -> list[float]:
        server = _Server(usage)
        judge = RateLimited(server, clock=now, **limits)
        await asyncio.gather(*(judge.complete(question(text)) for _ in range(count)))
        return server.asked

    return run_virtually(run())


@given(st.integers(1, 600), st.integers(1, 60))
def test_requests_are_spaced_evenly_and_none_waits_longer_than_it_must(per_minute: int, count: int) -> None:
    times = _asked(count, requests_per_minute=per_minute)
    assert times == pytest.approx([number * 60 / per_minute for number in range(count)])


def test_tokens_a_minute_are_kept_as_the_server_counts_them_whatever_the_estimate_was() -> None:
    """The estimate begins at 600 tokens a call; the server counts 5,000, and then 50."""

    async def run(usage: Usage) -> list[float]:
        server = _Server(usage)
        judge = RateLimited(server, tokens_per_minute=60_000, clock=now)
        for _ in range(60):
            await judge.complete(question("x" * 400))
        return server.asked

    heavy = run_virtually(run(Usage(4500, 500)))
    assert heavy[-1] == pytest.approx(59 * 5.0)
    light = run_virtually(run(Usage(40, 10)))
    assert 59 * 0.05 <= light[-1] <= 59 * 0.05 + 0.6


def test_many_at_once_are_paced_by_what_was_learned_of_earlier_ones() -> None:
    async def run() -> float:
        server = _Server(Usage(2000, 1000))
        judge = RateLimited(server, tokens_per_minute=60_000, clock=now)
        for _ in range(40):
            await judge.complete(question("x" * 400))
        started = now()
        await asyncio.gather(*(judge.complete(question("x" * 400)) for _ in range(20)))
        return server.asked[-1] - max(started, server.asked[40])

    assert run_virtually(run()) == pytest.approx(19 * 3.0, rel=0.1)


def test_without_counted_tokens_the_estimate_stands() -> None:
    assert _asked(3, tokens_per_minute=60_000) == pytest.approx([0.0, 0.6, 1.2])


def test_the_stricter_limit_holds() -> None:
    assert _asked(3, requests_per_minute=60, tokens_per_minute=6e9) == pytest.approx([0.0, 1.0, 2.0])
    assert _asked(3, requests_per_minute=6000, tokens_per_minute=6000) == pytest.approx([0.0, 6.0, 12.0])


def test_a_turn_that_is_given_up_goes_to_others() -> None:
    async def run() -> list[float]:
        server = _Server()
        judge = RateLimited(server, requests_per_minute=60, tokens_per_minute=36_000, clock=now)
        calls = [asyncio.create_task(judge.complete(question("x" * 400))) for _ in range(10)]
        await asyncio.sleep(0)
        for call in calls[1:]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await judge.complete(question("x" * 400))
        return server.asked

    assert run_virtually(run()) == pytest.approx([0.0, 1.0])


def test_a_failed_call_took_its_turn() -> None:
    class Failing(_Server):
        async def complete(self, request: JudgeRequest) -> Completion:
            await super().complete(request)
            raise TransientError("server", "died")

    async def run() -> list[float]:
        server = Failing()
        judge = RateLimited(server, requests_per_minute=60, clock=now)
        for _ in range(3):
            with pytest.raises(TransientError):
                await judge.complete(question())
        return server.asked

    assert run_virtually(run()) == pytest.approx([0.0, 1.0, 2.0])


def test_time_that_goes_by_unused_is_not_saved_up() -> None:
    moment = 0.0
    pace = EvenSpacing(60, clock=lambda: moment)
    assert pace.reserve() == 0.0
    moment = 100.0
    assert [pace.reserve(), pace.reserve()] == [0.0, 1.0]


def test_threads_never_get_the_same_turn() -> None:
    pace = EvenSpacing(60, clock=lambda: 0.0)
    waits: list[float] = []
    threads = [threading.Thread(target=lambda: waits.extend(pace.reserve() for _ in range(500))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [float(number) for number in range(2000)]


async def test_limits_cost_next_to_nothing_a_call() -> None:
    """Less than a tenth of a millisecond, where the reference takes five."""
    from calipers.backends.limits.bounds import within_bounds  # noqa: PLC0415 - all of them together

    class Instant(_Server):
        async def complete(self, request: JudgeRequest) -> Completion:
            return Completion("done", usage=Usage(100, 10))

    limits: dict[str, Any] = {"requests_per_minute": 6e12, "tokens_per_minute": 6e15, "price": (1.0, 2.0)}
    judge = within_bounds(Instant(), budget={"usd": 1e9}, max_tokens=100, **limits)
    asked = question("x" * 10_000)
    best = min([await _cpu(lambda: judge.complete(asked)) for _ in range(5)])
    assert best < reference() / 40


async def _cpu(call: Callable[[], Any]) -> float:
    started = time.process_time()
    for _ in range(500):
        await call()
    return (time.process_time() - started) / 500


@pytest.mark.parametrize("limit", ["requests_per_minute", "tokens_per_minute"])
def test_a_limit_is_above_zero(limit: str) -> None:
    with pytest.raises(ConfigError, match=limit):
        RateLimited(_Server(), **{limit: 0.0})  # type: ignore[arg-type]  # one of the two
