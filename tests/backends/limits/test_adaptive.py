"""A server's capacity, found while asking. Time is virtual."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest

from backends.asking import question
from backends.virtual import now, run_virtually
from calipers.backends.limits.concurrency import Adaptive, Limited
from calipers.backends.limits.retry import Retrying
from calipers.errors import ConfigError, PermanentError, TransientError
from calipers.interfaces import Backend
from calipers.types import Completion, JudgeRequest


class _Server:
    """Works at ``slots`` questions at a time and lets the others wait, or refuses them."""

    endpoint = "here"
    model = "m"

    def __init__(self, slots: int, times: Sequence[float], *, refuses: bool = False) -> None:
        self._places = asyncio.Semaphore(slots)
        self._times = iter(times)
        self._refuses = refuses
        self.refused = 0
        self.inside = 0
        self.most = 0
        self.slots = slots
        self.queues: list[int] = []
        self.looks = 0

    async def complete(self, request: JudgeRequest) -> Completion:
        if self._refuses and self._places.locked():
            self.refused += 1
            raise TransientError("rate_limited", "too many")
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.queues.append(self.waiting)
        try:
            async with self._places:
                await asyncio.sleep(next(self._times))
        finally:
            self.inside -= 1
        return Completion("done")

    @property
    def waiting(self) -> int:
        return max(0, self.inside - self.slots)

    async def load(self) -> tuple[float, float] | None:
        """What the gauges of its metrics page say."""
        self.looks += 1
        return self.waiting, self.inside - self.waiting


def _times(count: int, *, seed: int) -> list[float]:
    """Heavy-tailed: one in a hundred takes over five times the median."""
    rng = random.Random(seed)
    return [min(rng.lognormvariate(0.0, 0.7), 8.0) for _ in range(count)]


async def _makespan(judge: Backend, count: int) -> float:
    started = now()
    await asyncio.gather(*(judge.complete(question()) for _ in range(count)))
    return now() - started


@pytest.mark.parametrize("slots", [4, 32, 128])
def test_it_comes_within_ten_percent_of_the_best_fixed_bound_without_being_told(slots: int) -> None:
    times = _times(100 * slots, seed=slots)

    async def with_bound(concurrency: int) -> float:
        return await _makespan(Limited(_Server(slots, times), concurrency=concurrency), len(times))

    async def unaided() -> float:
        return await _makespan(Adaptive(_Server(slots, times), clock=now), len(times))

    best = run_virtually(with_bound(slots))
    found = run_virtually(unaided())
    assert found <= 1.1 * best
    assert found <= 1.15 * max(sum(times) / slots, *times)


@pytest.mark.parametrize("slots", [4, 32])
def test_a_server_that_refuses_what_is_too_much_is_kept_busy_and_seldom_troubled(slots: int) -> None:
    times = _times(100 * slots, seed=1)

    async def run() -> tuple[float, int]:
        server = _Server(slots, times, refuses=True)
        judge = Retrying(
            Adaptive(server, clock=now), attempts=99, cap=2.0, deadline=None, clock=now, rng=random.Random(1)
        )
        return await _makespan(judge, len(times)), server.refused

    took, refused = run_virtually(run())
    assert took <= 1.25 * sum(times) / slots
    assert refused <= 0.1 * len(times)


async def test_failures_of_a_question_and_cancellations_give_their_place_back_and_say_nothing() -> None:
    class Refusing:
        endpoint = model = "m"

        async def complete(self, request: JudgeRequest) -> Completion:
            await asyncio.sleep(0)
            raise PermanentError("refused", "no")

    judge = Adaptive(Refusing(), start=2, most=4)
    for _ in range(3):
        with pytest.raises(PermanentError):
            await judge.complete(question())
    tasks = [asyncio.create_task(judge.complete(question())) for _ in range(5)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert judge._in_flight == 0
    assert judge.limit == 2


def test_one_judge_serves_several_loops_and_goes_on_where_it_was() -> None:
    server = _Server(32, _times(4000, seed=3))
    judge = Adaptive(server, clock=now)
    limits = []
    for _ in range(2):
        server._places = asyncio.Semaphore(32)
        run_virtually(_makespan(judge, 1000))
        limits.append(judge.limit)
    assert min(limits) >= 32
    assert (judge.endpoint, judge.model) == ("here", "m")


def test_there_are_never_more_in_flight_than_the_most() -> None:
    server = _Server(500, [1.0] * 2000)
    run_virtually(_makespan(Adaptive(server, most=50, clock=now), 2000))
    assert server.most == 50


def test_bounds_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigError, match="most=4"):
        Adaptive(_Server(1, []), start=8, most=4)


@pytest.mark.parametrize("slots", [4, 32])
def test_a_servers_own_gauges_keep_its_queue_short_and_lose_no_throughput(slots: int) -> None:
    times = _times(100 * slots, seed=slots)

    async def run(*, looks: bool) -> tuple[float, float, int]:
        server = _Server(slots, times)
        judge = Adaptive(server, clock=now, load=server.load if looks else None)
        took = await _makespan(judge, len(times))
        later = server.queues[len(times) // 2 :]  # after the search for a limit
        return took, sum(later) / len(later), server.looks

    blind, queue_blind, _ = run_virtually(run(looks=False))
    took, queue, looks = run_virtually(run(looks=True))
    assert took <= 1.02 * blind
    assert queue <= 0.5 * queue_blind
    assert queue <= max(2.0, slots / 6)
    assert looks <= took + 1


def test_two_clients_of_one_server_share_its_queue_by_their_calls() -> None:
    times = _times(6000, seed=5)

    async def run() -> tuple[_Server, list[float]]:
        server = _Server(32, times)
        judges = [Adaptive(server, clock=now, load=server.load) for _ in range(2)]
        return server, await asyncio.gather(*(_makespan(judge, 3000) for judge in judges))

    server, took = run_virtually(run())
    later = server.queues[3000:]
    assert sum(later) / len(later) <= 8
    assert max(took) <= 1.1 * sum(times) / 32


@pytest.mark.parametrize("broken", [RuntimeError("no page"), None])
def test_a_gauge_that_is_broken_or_unknown_changes_nothing(broken: Exception | None) -> None:
    times = _times(800, seed=2)

    async def load() -> tuple[float, float] | None:
        if broken is not None:
            raise broken
        return None

    async def run(*, looks: bool) -> float:
        return await _makespan(Adaptive(_Server(8, times), clock=now, load=load if looks else None), len(times))

    assert run_virtually(run(looks=True)) == run_virtually(run(looks=False))
