"""One judge behind several URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from socket import socket
from typing import Any

import pytest

import calipers
from backends.asking import question
from backends.virtual import now, virtually
from calipers.backends.limits.pool import Pool
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from calipers.interfaces import FullBackend
from calipers.types import Completion, JudgeRequest
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import Answer, FaultyServer, said


class Server(FullBackend):
    """Takes ``seconds`` for an answer, or raises ``error``."""

    model = "m"

    def __init__(self, endpoint: str, *, seconds: float = 1.0, error: BackendError | None = None) -> None:
        self.endpoint = endpoint
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


DOWN = TransientError("unreachable", "nobody there")
REVOKED = PermanentError("unauthorized", "bad key", fatal=True)


@virtually
async def test_the_least_busy_is_asked_so_a_slow_one_gets_less_and_equals_get_the_same() -> None:
    fast, slow = Server("a", seconds=1.0), Server("b", seconds=9.0)
    pool, left = Pool([fast, slow], clock=now), iter(range(200))

    async def asker() -> None:
        for _ in left:
            await pool.complete(question())

    await asyncio.gather(*(asker() for _ in range(10)))
    assert 6 <= fast.asked / slow.asked <= 11
    members = [Server(name) for name in "abc"]
    pool = Pool(members, clock=now)
    for _ in range(9):
        await pool.complete(question())
    assert [member.asked for member in members] == [3, 3, 3]


@virtually
async def test_a_question_goes_on_to_a_healthy_member_and_the_other_is_skipped_until_it_is_well() -> None:
    broken, well = Server("a", error=DOWN), Server("b")
    pool = Pool([broken, well], clock=now)
    for _ in range(100):  # a second each
        assert (await pool.complete(question())).text == "b"
    assert 6 <= broken.asked <= 8, "it is tested every fifteen seconds"
    broken.error = None
    for _ in range(130):
        await pool.complete(question())
    assert broken.asked > 25
    busy, other = Server("a", error=TransientError("rate_limited", "later", retry_after=30.0)), Server("b")
    pool = Pool([busy, other], clock=now)
    for seconds in (29, 4):
        for _ in range(seconds):
            await pool.complete(question())
    assert busy.asked == 2, "it is skipped as long as it asks"


async def test_what_the_question_caused_or_took_too_long_is_not_asked_elsewhere_at_once() -> None:
    for error in (PermanentError("context_window", "no"), TransientError("timeout", "no")):
        other = Server("b")
        with pytest.raises(BackendError, match="no"):
            await Pool([Server("a", error=error), other]).complete(question())
        assert other.asked == 0


async def test_when_all_are_skipped_the_question_is_still_asked_and_may_be_tried_again() -> None:
    first, second = Server("a", error=DOWN), Server("b", error=REVOKED)
    pool = Pool([first, second])
    for _ in range(3):
        with pytest.raises(TransientError, match="nobody there"):
            await pool.complete(question())
    assert (first.asked, second.asked) == (3, 1)
    assert (await Pool([Server("a", error=REVOKED), Server("b", seconds=0)]).complete(question())).text == "b"


async def test_a_check_fails_only_when_no_member_can_be_used() -> None:
    down, well = Server("a", error=DOWN), Server("b")
    well.found = ["b: an old version"]
    assert await Pool([down, well]).check() == ["a: nobody there", "b: an old version"]
    with pytest.raises(ConfigError, match="a: nobody there"):
        await Pool([down, Server("c", error=DOWN)]).check()


def test_every_member_remembers_what_it_learned_and_a_new_one_begins_with_what_the_first_alone_had() -> None:
    first, second = Server("a"), Server("b")
    pool = Pool([first, second])
    pool.learn({"schema": False})
    assert first.known == second.known == {"schema": False}
    second.known = {"schema": True}
    told = pool.learned()
    fresh = [Server("b"), Server("c"), Server("a")]
    Pool(fresh).learn(told)
    assert [one.known for one in fresh] == [{"schema": True}, {}, {"schema": False}]


async def test_the_first_names_the_judge_closing_it_closes_all_and_odd_pools_are_refused() -> None:
    members = [Server("b"), Server("a")]
    pool = Pool(members)
    assert (pool.endpoint, pool.model) == ("b", "m")
    await pool.aclose()
    assert all(member.closed for member in members)
    for odd, complaint in (([], "empty"), ([Server("a")] * 2, "more than once")):
        with pytest.raises(ConfigError, match=complaint):
            Pool(odd)


async def test_a_run_over_several_urls_goes_on_when_one_of_them_is_down(faulty: FaultyServer) -> None:
    faulty.script(lambda asked: said(verdict(asked)))
    faulty.get = {"/v1/models": Answer(body={"data": [{"id": "m"}]})}
    with socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        down = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        judge = calipers.Judge("vllm/m", base_url=[down, faulty.url])
        assert judge.settings.judges[0].endpoint == down
        (warning,) = await judge.check()
        groups = [group_of(FOUR, group_id=f"g{n}", question=f"{n}?") for n in range(6)]
        results = [result async for result in judge.score_groups(groups)]
    assert down.removesuffix("/v1") in warning
    assert {result.status for result in results} == {"scored"}
    assert len(faulty.posts) == 6
