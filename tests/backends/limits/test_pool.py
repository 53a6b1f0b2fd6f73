"""One judge behind several URLs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import pytest

from backends.asking import question
from backends.virtual import now, run_virtually
from calipers.backends.limits.bounds import Limited
from calipers.backends.limits.pool import Pool
from calipers.backends.limits.rate import RateLimited
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from calipers.interfaces import FullBackend
from calipers.types import Completion, JudgeRequest


class _Server(FullBackend):
    """Takes ``seconds`` for an answer, or raises ``error``."""

    def __init__(self, endpoint: str, *, seconds: float = 1.0, error: BackendError | None = None) -> None:
        self.endpoint = endpoint
        self.model = "m"
        self.seconds = seconds
        self.error = error
        self.asked = 0
        self.known: Mapping[str, Any] = {}
        self.found: list[str] = []
        self.closed = False

    async def complete(self, request: JudgeRequest) -> Completion:
        self.asked += 1
        if self.error is not None:
            raise self.error
        await asyncio.sleep(self.seconds)
        return Completion(self.endpoint)

    async def check(self) -> list[str]:
        if self.error is not None:
            raise ConfigError(f"{self.endpoint}: {self.error}")
        return self.found

    async def aclose(self) -> None:
        self.closed = True

    def learned(self) -> Mapping[str, Any]:
        return self.known

    def learn(self, known: Mapping[str, Any]) -> None:
        self.known = dict(known)


def _healthy(pool: Pool) -> list[str]:
    """Who is not left out now."""
    return [member.bare.endpoint for member in pool._members if not member.failures]


_DOWN = TransientError("unreachable", "nobody there")


def test_the_least_busy_is_asked_so_a_slow_one_gets_less() -> None:
    fast, slow = _Server("a", seconds=1.0), _Server("b", seconds=9.0)
    pool = Pool([fast, slow], clock=now)

    async def run() -> None:
        left = iter(range(200))

        async def asker() -> None:
            for _ in left:
                await pool.complete(question())

        await asyncio.gather(*(asker() for _ in range(10)))

    run_virtually(run())
    assert fast.asked + slow.asked == 200
    assert 6 <= fast.asked / slow.asked <= 11


class _Slots(_Server):
    """Works at ``slots`` questions at a time; an answer takes ``seconds`` in the mean, with heavy tails."""

    def __init__(self, endpoint: str, *, seconds: float, slots: int) -> None:
        super().__init__(endpoint, seconds=seconds)
        self._places = asyncio.Semaphore(slots)
        self._drawn = random.Random(endpoint)

    async def complete(self, request: JudgeRequest) -> Completion:
        self.asked += 1
        async with self._places:
            await asyncio.sleep(self.seconds * self._drawn.lognormvariate(-0.125, 0.5))
        return Completion(self.endpoint)


@pytest.mark.parametrize(("in_flight", "least"), [(3, 0.105), (12, 0.48), (24, 0.93), (48, 0.93)])
def test_servers_of_different_speed_together_come_near_the_sum_of_their_speeds(in_flight: int, least: float) -> None:
    count, slots = 1500, 8

    async def run() -> float:
        servers = [_Slots(name, seconds=seconds, slots=slots) for name, seconds in (("a", 1.0), ("b", 2.0), ("c", 4.0))]
        judge = Limited(Pool(servers, clock=now), concurrency=in_flight)
        await asyncio.gather(*(judge.complete(question()) for _ in range(count)))
        return count / now() / sum(slots / one.seconds for one in servers)

    assert run_virtually(run()) >= least


def test_of_servers_that_are_idle_the_faster_is_asked_and_each_is_tried() -> None:
    fast, alike, slow = _Server("a", seconds=1.0), _Server("b", seconds=1.2), _Server("c", seconds=4.0)
    pool = Pool([slow, fast, alike], clock=now)

    async def run() -> None:
        for _ in range(21):
            await pool.complete(question())

    run_virtually(run())
    assert (slow.asked, fast.asked, alike.asked) == (1, 10, 10)


def test_members_alike_get_the_same_share_also_one_after_another() -> None:
    members = [_Server(name) for name in "abc"]

    async def run() -> None:
        pool = Pool(members, clock=now)
        for _ in range(9):
            await pool.complete(question())

    run_virtually(run())
    assert [member.asked for member in members] == [3, 3, 3]


def test_a_question_goes_on_to_a_healthy_member_at_once_and_the_other_is_left_out_until_it_is_well() -> None:
    broken, well = _Server("a", error=_DOWN), _Server("b")
    pool = Pool([broken, well], clock=now)

    async def run() -> None:
        for _ in range(100):  # a second each
            assert (await pool.complete(question())).text == "b"
        assert 3 <= broken.asked <= 8  # probed after 1, 2, 4, ... 60 seconds
        assert _healthy(pool) == ["b"]
        broken.error = None
        for _ in range(130):
            await pool.complete(question())
        assert _healthy(pool) == ["a", "b"]
        assert broken.asked > 25

    run_virtually(run())


def test_a_member_is_left_out_as_long_as_it_asks() -> None:
    busy, well = _Server("a", error=TransientError("rate_limited", "later", retry_after=30.0)), _Server("b")

    async def run() -> None:
        pool = Pool([busy, well], clock=now)
        for _ in range(29):
            await pool.complete(question())
        assert busy.asked == 1
        for _ in range(4):
            await pool.complete(question())
        assert busy.asked == 2

    run_virtually(run())


async def test_a_questions_own_fault_is_no_members_fault() -> None:
    refusing, other = _Server("a", error=PermanentError("context_window", "too long")), _Server("b")
    pool = Pool([refusing, other])
    with pytest.raises(PermanentError, match="too long"):
        await pool.complete(question())
    assert other.asked == 0
    assert _healthy(pool) == ["a", "b"]


async def test_a_question_that_ran_into_a_timeout_is_not_asked_elsewhere_at_once() -> None:
    slow, other = _Server("a", error=TransientError("timeout", "120 s")), _Server("b")
    pool = Pool([slow, other])
    with pytest.raises(TransientError, match="120 s"):
        await pool.complete(question())
    assert other.asked == 0
    assert _healthy(pool) == ["b"]


async def test_when_all_are_out_the_question_is_still_asked_and_may_be_tried_again() -> None:
    first, second = _Server("a", error=_DOWN), _Server("b", error=PermanentError("unauthorized", "bad key", fatal=True))
    pool = Pool([first, second])
    for _ in range(3):
        with pytest.raises(TransientError, match="nobody there"):
            await pool.complete(question())
    assert first.asked == 3
    assert second.asked == 1


async def test_a_member_without_a_key_does_not_end_a_run_that_others_can_do() -> None:
    first, second = _Server("a", error=PermanentError("unauthorized", "bad key", fatal=True)), _Server("b", seconds=0.0)
    assert (await Pool([first, second]).complete(question())).text == "b"


async def test_a_check_fails_only_when_no_member_can_be_used() -> None:
    down, well = _Server("a", error=_DOWN), _Server("b")
    well.found = ["b: an old version"]
    assert await Pool([down, well]).check() == ["a: nobody there", "b: an old version"]
    with pytest.raises(ConfigError, match="a: nobody there"):
        await Pool([down, _Server("c", error=_DOWN)]).check()


def test_every_member_remembers_what_it_learned_and_one_that_is_new_begins_with_what_the_first_alone_had() -> None:
    first, second = _Server("a"), _Server("b")
    pool = Pool([first, second])
    pool.learn({"schema": False})
    assert first.known == second.known == {"schema": False}
    second.known = {"schema": True}
    told = pool.learned()
    assert told == {"a": {"schema": False}, "b": {"schema": True}}
    fresh = [_Server("b"), _Server("c"), _Server("a")]
    Pool(fresh).learn(told)
    assert [one.known for one in fresh] == [{"schema": True}, {}, {"schema": False}]


def test_every_member_can_have_a_pace_of_its_own() -> None:
    members = [_Server(name, seconds=0.0) for name in "ab"]

    async def run() -> float:
        pool = Pool(members, each=lambda one: RateLimited(one, requests_per_minute=60, clock=now), clock=now)
        await asyncio.gather(*(pool.complete(question()) for _ in range(20)))
        return now()

    assert run_virtually(run()) == pytest.approx(9.0)


def test_what_fits_all_members_fits_the_pool() -> None:
    members = [_Server(name) for name in "abc"]
    pool = Pool(members)
    assert pool.context_window is None
    members[0].context_window, members[2].context_window = 32_000, 8_000
    asyncio.run(pool.check())
    assert pool.context_window == 8_000


async def test_closing_it_closes_all_members() -> None:
    members = [_Server(name) for name in "ab"]
    await Pool(members).aclose()
    assert all(member.closed for member in members)


def test_the_first_names_the_judge() -> None:
    pool = Pool([_Server("b"), _Server("a")])
    assert (pool.endpoint, pool.model) == ("b", "m")


def test_pools_that_make_no_sense_are_refused() -> None:
    other = _Server("b")
    other.model = "another"
    for members, complaint in (
        ([], "empty"),
        ([_Server("a"), _Server("a")], "more than once"),
        ([_Server("a"), other], "panel"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            Pool(members)
