"""A judge that fails persistently is paused, says so, and is found again when it is back."""

from __future__ import annotations

import asyncio

import pytest

from backends.asking import question
from calipers.backends.limits.circuit_breaker import CircuitBreaker
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from calipers.types import Completion, JudgeRequest

DOWN = TransientError("unreachable", "nothing answers there")
REVOKED = PermanentError("unauthorized", "the key is not accepted", fatal=True)


class _Judge:
    """Answers, or fails as told, and counts."""

    endpoint = "here"
    model = "m"

    def __init__(self) -> None:
        self.fails: BackendError | None = None
        self.calls = 0
        self.wait: asyncio.Event | None = None

    async def complete(self, request: JudgeRequest) -> Completion:
        self.calls += 1
        fails = self.fails
        if self.wait is not None:
            await self.wait.wait()
        if fails is not None:
            raise fails
        return Completion("done")


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def judge() -> _Judge:
    return _Judge()


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


def _is_open(circuit: CircuitBreaker) -> bool:
    return circuit._why is not None


async def _fail(circuit: CircuitBreaker, times: int = 1) -> BackendError:
    for _ in range(times):
        with pytest.raises(BackendError) as caught:
            await circuit.complete(question())
    return caught.value


async def test_a_dead_judge_is_asked_no_more_after_ten_failures_over_ten_seconds(judge: _Judge, clock: _Clock) -> None:
    circuit = CircuitBreaker(judge, clock=clock)
    judge.fails = DOWN
    await _fail(circuit, 30)
    assert not _is_open(circuit)  # half a second of restart is the retries' business
    clock.now += 10
    await _fail(circuit)
    assert _is_open(circuit)
    assert judge.calls == 31
    error = await _fail(circuit, 50)
    assert judge.calls == 31
    assert isinstance(error, PermanentError)
    assert error.kind == "unreachable"
    assert error.fatal
    assert "paused" in str(error)
    assert "nothing answers there" in str(error)


async def test_seconds_alone_open_nothing(judge: _Judge, clock: _Clock) -> None:
    circuit = CircuitBreaker(judge, clock=clock)
    judge.fails = DOWN
    for _ in range(9):
        await _fail(circuit)
        clock.now += 10
    assert not _is_open(circuit)


async def test_one_answer_in_between_starts_the_count_over(judge: _Judge, clock: _Clock) -> None:
    circuit = CircuitBreaker(judge, failures=3, seconds=0, clock=clock)
    for _ in range(5):
        judge.fails = DOWN
        await _fail(circuit, 2)
        judge.fails = None
        await circuit.complete(question())
    assert not _is_open(circuit)


async def test_a_revoked_key_opens_at_the_third_refusal_and_mending_it_closes(judge: _Judge, clock: _Clock) -> None:
    circuit = CircuitBreaker(judge, clock=clock)
    judge.fails = REVOKED
    await _fail(circuit, 2)
    assert not _is_open(circuit)
    await _fail(circuit)
    assert _is_open(circuit)
    judge.fails = None
    assert "the key is not accepted" in str(await _fail(circuit))  # mended, but not yet tried
    clock.now += 5
    assert (await circuit.complete(question())).text == "done"
    assert not _is_open(circuit)
    assert (await circuit.complete(question())).text == "done"


async def test_one_call_is_let_through_at_a_time_and_pauses_grow_to_a_minute(judge: _Judge, clock: _Clock) -> None:
    circuit = CircuitBreaker(judge, refusals=1, clock=clock)
    judge.fails = REVOKED
    await _fail(circuit)
    tried_at = []
    start = clock.now
    for _ in range(400):
        clock.now += 1
        before = judge.calls
        await _fail(circuit, 3)
        if judge.calls > before:
            assert judge.calls == before + 1
            tried_at.append(clock.now - start)
    assert tried_at == [5, 15, 35, 75, 135, 195, 255, 315, 375]


async def test_a_trial_that_hangs_does_not_keep_the_next_from_being_made(judge: _Judge, clock: _Clock) -> None:
    circuit = CircuitBreaker(judge, refusals=1, clock=clock)
    judge.fails = REVOKED
    await _fail(circuit)
    judge.wait = asyncio.Event()
    clock.now += 5
    hanging = asyncio.create_task(circuit.complete(question()))
    await asyncio.sleep(0)
    judge.wait = judge.fails = None
    clock.now += 5
    assert (await circuit.complete(question())).text == "done"
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)


async def test_late_failures_of_calls_begun_before_do_not_lengthen_the_pause(judge: _Judge, clock: _Clock) -> None:
    circuit = CircuitBreaker(judge, refusals=1, clock=clock)
    judge.fails, gate = REVOKED, asyncio.Event()
    judge.wait = gate
    late = [asyncio.create_task(circuit.complete(question())) for _ in range(20)]
    await asyncio.sleep(0)
    judge.wait = None
    await _fail(circuit)
    gate.set()
    await asyncio.gather(*late, return_exceptions=True)
    judge.fails = None
    clock.now += 5
    assert (await circuit.complete(question())).text == "done"


@pytest.mark.parametrize(
    "error",
    [
        TransientError("rate_limited", "slower", retry_after=1.0),
        PermanentError("context_window", "too long"),
        PermanentError("refused", "no"),
        PermanentError("bad_request", "odd"),
        PermanentError("budget", "spent", fatal=True),
    ],
    ids=lambda error: error.kind,
)
async def test_what_a_living_judge_says_opens_nothing(judge: _Judge, clock: _Clock, error: BackendError) -> None:
    circuit = CircuitBreaker(judge, clock=clock)
    judge.fails = error
    for _ in range(100):
        await _fail(circuit)
        clock.now += 10
    assert not _is_open(circuit)
    assert judge.calls == 100


def test_numbers_that_cannot_be_meant_are_refused(judge: _Judge) -> None:
    for wrong in ({"failures": 0}, {"refusals": 0}, {"seconds": -1.0}, {"pause": 0.0}, {"pause": 9.0, "longest": 1.0}):
        with pytest.raises(ConfigError, match="circuit"):
            CircuitBreaker(judge, **wrong)
