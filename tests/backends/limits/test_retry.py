"""Trying again: how often, how long to wait, and when it is hopeless. No test waits."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.asking import question
from calipers.backends.limits.retry import Retrying
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from calipers.types import Completion, FailedCall, JudgeRequest, Usage


class _World:
    """A clock that only sleeping moves, and a backend that fails as listed before it answers."""

    endpoint = "here"
    model = "m"

    def __init__(self, *errors: BackendError) -> None:
        self.errors = list(errors)
        self.now = 100.0
        self.slept: list[float] = []
        self.calls = 0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def complete(self, request: JudgeRequest) -> Completion:
        self.calls += 1
        self.now += 1.0
        if self.errors:
            raise self.errors.pop(0)
        return Completion("done", latency=9.0)

    def retrying(self, **options: Any) -> Retrying:
        return Retrying(self, clock=self.clock, sleep=self.sleep, rng=random.Random(1), **options)


def _server(retry_after: float | None = None) -> TransientError:
    return TransientError("server", "died", retry_after=retry_after)


async def test_it_is_the_same_judge_by_name() -> None:
    world = _World()
    assert (world.retrying().endpoint, world.retrying().model) == ("here", "m")


async def test_what_is_recorded_tells_of_all_tries_and_what_is_on_record_then_is_the_answer() -> None:
    world = _World(_server())
    kept: list[Completion] = []

    async def keep(completion: Completion) -> Completion:
        kept.append(completion)
        return Completion("what is on record")

    completion = await world.retrying().complete_recorded(question(), keep)
    assert completion.text == "what is on record"
    assert [(one.text, one.attempts, one.latency) for one in kept] == [("done", 2, world.now - 100.0)]


async def test_a_failure_that_passes_costs_an_attempt_and_the_time() -> None:
    world = _World(_server(), _server())
    completion = await world.retrying().complete(question())
    assert (completion.text, completion.attempts) == ("done", 3)
    assert completion.latency == pytest.approx(3.0 + sum(world.slept))


async def test_what_asking_again_cannot_help_is_not_asked_again() -> None:
    world = _World(PermanentError("unauthorized", "bad key", fatal=True))
    with pytest.raises(PermanentError, match=r"^bad key$") as caught:
        await world.retrying().complete(question())
    assert caught.value.fatal
    assert world.calls == 1


async def test_the_last_error_says_how_often_was_tried() -> None:
    world = _World(*(_server(1.0) for _ in range(9)))
    with pytest.raises(TransientError, match=r"died \(gave up after 3 attempts\)") as caught:
        await world.retrying(attempts=3).complete(question())
    assert world.calls == 3
    assert len(world.slept) == 2
    assert (caught.value.kind, caught.value.retry_after) == ("server", 1.0)


async def test_a_permanent_error_after_others_keeps_its_nature() -> None:
    world = _World(_server(), PermanentError("not_found", "gone", fatal=True))
    with pytest.raises(PermanentError, match=r"gone .*2 attempts") as caught:
        await world.retrying().complete(question())
    assert caught.value.fatal


async def test_a_bad_reply_was_paid_for_and_is_retried_once() -> None:
    world = _World(*(TransientError("bad_reply", "nothing said") for _ in range(9)))
    with pytest.raises(TransientError, match="2 attempts"):
        await world.retrying().complete(question())
    assert world.calls == 2


@given(st.integers(0, 2**32), st.floats(0.01, 10), st.floats(0.01, 60))
async def test_waits_stay_within_a_doubling_bound(seed: int, base: float, cap: float) -> None:
    world = _World(*(_server() for _ in range(5)))
    judge = Retrying(
        world, attempts=6, base=base, cap=cap, clock=world.clock, sleep=world.sleep, rng=random.Random(seed)
    )
    await judge.complete(question())
    assert all(0 <= wait <= min(cap, base * 2**n) for n, wait in enumerate(world.slept))


@given(st.floats(0, 100), st.integers(0, 2**32))
async def test_no_wait_is_shorter_than_the_server_asked_for(asked: float, seed: int) -> None:
    world = _World(_server(asked))
    await Retrying(world, clock=world.clock, sleep=world.sleep, rng=random.Random(seed)).complete(question())
    assert world.slept[0] >= asked


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    world = _World(_server(60.0))
    with pytest.raises(
        TransientError, match=r"gave up after 1 attempt: the next try is 60\.\d s away, with 9\.0 s left"
    ):
        await world.retrying(deadline=10.0).complete(question())
    assert world.slept == []


async def test_without_a_deadline_it_waits_as_long_as_told() -> None:
    world = _World(_server(5000.0))
    assert (await world.retrying(deadline=None).complete(question())).attempts == 2


async def test_errors_that_are_not_a_backends_pass_through() -> None:
    world = _World()

    async def broken(request: JudgeRequest) -> Completion:
        raise ZeroDivisionError

    world.complete = broken  # type: ignore[method-assign] # a backend with a defect
    with pytest.raises(ZeroDivisionError):
        await world.retrying().complete(question())


@pytest.mark.parametrize("options", [{"attempts": 0}, {"reply_attempts": 0}])
def test_at_least_one_attempt_is_made(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        _World().retrying(**options)


@given(st.floats(0, 100))
async def test_clients_told_the_same_moment_come_back_at_different_ones(asked: float) -> None:
    waits = set()
    for seed in range(20):
        world = _World(_server(asked))
        await Retrying(world, clock=world.clock, sleep=world.sleep, rng=random.Random(seed)).complete(question())
        waits.add(world.slept[0])
    assert len(waits) == 20
    assert asked <= min(waits) < asked + 0.25 < max(waits) <= asked + 0.5


class _Top(random.Random):
    """Draws the upper bound every time, and notes both bounds."""

    def __init__(self) -> None:
        super().__init__(0)
        self.bounds: list[tuple[float, float]] = []

    def uniform(self, a: float, b: float) -> float:
        self.bounds.append((a, b))
        return b


async def test_the_bound_doubles_from_the_base_up_to_the_cap() -> None:
    world, drawn = _World(*(_server() for _ in range(6))), _Top()
    retrying = Retrying(world, attempts=7, base=0.5, cap=5.0, clock=world.clock, sleep=world.sleep, rng=drawn)
    await retrying.complete(question())
    assert drawn.bounds == [(0.0, 0.5), (0.0, 1.0), (0.0, 2.0), (0.0, 4.0), (0.0, 5.0), (0.0, 5.0)]
    assert world.slept == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


async def test_by_default_five_calls_are_made_half_a_second_is_the_base_and_thirty_the_cap() -> None:
    world, drawn = _World(*(_server() for _ in range(9))), _Top()
    with pytest.raises(TransientError, match="after 5 attempts"):
        await Retrying(world, clock=world.clock, sleep=world.sleep, rng=drawn).complete(question())
    assert (world.calls, world.slept) == (5, [0.5, 1.0, 2.0, 4.0])
    world, drawn = _World(*(_server() for _ in range(8))), _Top()
    await Retrying(world, attempts=9, clock=world.clock, sleep=world.sleep, rng=drawn).complete(question())
    assert world.slept[-2:] == [30.0, 30.0]


async def test_by_default_a_question_takes_fifteen_minutes_at_most() -> None:
    for asked, calls in ((898.5, 2), (898.6, 1)):  # a call takes a second, and the wait half a second more
        world = _World(_server(asked))
        judge = Retrying(world, clock=world.clock, sleep=world.sleep, rng=_Top())
        if calls == 2:
            await judge.complete(question())
        else:
            with pytest.raises(TransientError, match=r"with 899\.0 s left"):
                await judge.complete(question())
        assert world.calls == calls


@pytest.mark.parametrize(("deadline", "calls"), [(1.5, 2), (1.49, 1), (1.0, 1), (0.5, 1)])
async def test_a_wait_that_ends_with_the_deadline_is_begun(deadline: float, calls: int) -> None:
    world = _World(_server())
    judge = Retrying(world, deadline=deadline, clock=world.clock, sleep=world.sleep, rng=_Top())
    if calls == 2:
        assert (await judge.complete(question())).latency == 2.5
    else:
        left = max(0.0, deadline - 1.0)
        with pytest.raises(TransientError, match=rf"0\.5 s away, with {left:.1f} s left"):
            await judge.complete(question())
    assert world.calls == calls


async def test_bad_replies_are_counted_apart_from_other_failures() -> None:
    bad = [TransientError("bad_reply", "nothing said") for _ in range(4)]
    world = _World(_server(), bad[0], _server(), bad[1])
    with pytest.raises(TransientError, match="4 attempts") as caught:
        await world.retrying(attempts=6).complete(question())
    assert (caught.value.kind, world.calls) == ("bad_reply", 4)
    world = _World(bad[2])
    with pytest.raises(TransientError, match=r"^nothing said$"):
        await world.retrying(reply_attempts=1).complete(question())
    world = _World(bad[3], _server(), _server())
    assert (await world.retrying(attempts=4, reply_attempts=2).complete(question())).attempts == 4


@pytest.mark.parametrize("options", [{"attempts": 1}, {"reply_attempts": 1}])
async def test_one_attempt_is_enough_to_be_allowed(options: dict[str, int]) -> None:
    assert (await _World().retrying(**options).complete(question())).attempts == 1


async def test_every_failed_call_but_the_last_is_reported_once() -> None:
    failed: list[FailedCall] = []
    request = replace(question(), on_failed_call=failed.append)
    counted, plain = _server(), TransientError("timeout", "late")
    counted.counted = True  # somebody below has reported it
    world = _World(plain, counted, _server())
    with pytest.raises(TransientError) as caught:
        await world.retrying(attempts=3).complete(request)
    assert [one.kind for one in failed] == ["timeout"]
    assert not plain.counted  # the same object may be raised again, for another call
    assert not counted.counted
    assert not caught.value.counted  # whoever catches the last one reports it


async def test_an_error_that_is_raised_again_for_another_call_is_reported_again() -> None:
    failed: list[FailedCall] = []
    same = TransientError("server", "died")
    world = _World(same, same, same)
    await world.retrying().complete(replace(question(), on_failed_call=failed.append))
    assert [(one.kind, one.usage) for one in failed] == [("server", Usage(cost_usd=0.0))] * 3


async def test_what_is_put_around_the_backend_keeps_the_retries_and_leaves_the_first_as_it_was() -> None:
    world, drawn = _World(_server(), _server()), _Top()
    first = Retrying(world, attempts=3, clock=world.clock, sleep=world.sleep, rng=drawn)
    wrapped: list[Any] = []

    class _Other:
        endpoint, model = "other", "o"

        async def complete(self, request: JudgeRequest) -> Completion:
            return await world.complete(request)

    def wrap(backend: Any) -> Any:
        wrapped.append(backend)
        return _Other()

    twin = first.around(wrap)
    assert len(wrapped) == 1
    assert twin is not first
    assert (await twin.complete(question())).attempts == 3
    assert (first.endpoint, world.slept) == ("here", [0.5, 1.0])
