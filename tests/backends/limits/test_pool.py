"""One judge behind several URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from socket import socket
from typing import Any

import pytest

import calipers
from backends.asking import question
from backends.virtual import Server, now, virtually
from calipers.backends.limits.pool import Pool
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import Answer, FaultyServer, said


class Member(Server):
    """A server of a pool, with what it found and learned."""

    def __init__(self, endpoint: str, *, error: BackendError | None = None, seconds: float = 1.0) -> None:
        super().__init__(endpoint=endpoint, always=error, seconds=seconds)
        self.known: Mapping[str, Any] = {}
        self.found: list[str] = []
        self.closed = False

    async def check(self) -> list[str]:
        if self.always is not None:
            raise ConfigError(f"{self.endpoint}: {self.always}")
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
    fast, slow = Member("a", seconds=1.0), Member("b", seconds=9.0)
    pool, left = Pool([fast, slow], clock=now), iter(range(200))

    async def asker() -> None:
        for _ in left:
            await pool.complete(question())

    await asyncio.gather(*(asker() for _ in range(10)))
    assert 6 <= len(fast.began) / len(slow.began) <= 11
    members = [Member(name) for name in "abc"]
    pool = Pool(members, clock=now)
    for _ in range(9):
        await pool.complete(question())
    assert [len(member.began) for member in members] == [3, 3, 3]


@virtually
async def test_a_question_goes_on_to_a_healthy_member_and_the_other_is_skipped_until_it_is_well() -> None:
    broken, well = Member("a", error=DOWN), Member("b")
    pool = Pool([broken, well], clock=now)
    for _ in range(100):  # a second each
        assert (await pool.complete(question())).model == "b"
    assert 6 <= len(broken.began) <= 8, "it is tested every fifteen seconds"
    broken.always = None
    for _ in range(130):
        await pool.complete(question())
    assert len(broken.began) > 25
    busy, other = Member("a", error=TransientError("rate_limited", "later", retry_after=30.0)), Member("b")
    pool = Pool([busy, other], clock=now)
    for seconds in (29, 4):
        for _ in range(seconds):
            await pool.complete(question())
    assert len(busy.began) == 2, "it is skipped as long as it asks"


async def test_what_the_question_caused_or_took_too_long_is_not_asked_elsewhere_at_once() -> None:
    for error in (PermanentError("context_window", "no"), TransientError("timeout", "no")):
        other = Member("b")
        with pytest.raises(BackendError, match="no"):
            await Pool([Member("a", error=error), other]).complete(question())
        assert len(other.began) == 0


async def test_when_all_are_skipped_the_question_is_still_asked_and_may_be_tried_again() -> None:
    first, second = Member("a", error=DOWN), Member("b", error=REVOKED)
    pool = Pool([first, second])
    for _ in range(3):
        with pytest.raises(TransientError, match="nobody there"):
            await pool.complete(question())
    assert (len(first.began), len(second.began)) == (3, 1)
    assert (await Pool([Member("a", error=REVOKED), Member("b", seconds=0)]).complete(question())).model == "b"


async def test_a_check_fails_only_when_no_member_can_be_used() -> None:
    down, well = Member("a", error=DOWN), Member("b")
    well.found = ["b: an old version"]
    assert await Pool([down, well]).check() == ["a: nobody there", "b: an old version"]
    with pytest.raises(ConfigError, match="a: nobody there"):
        await Pool([down, Member("c", error=DOWN)]).check()


def test_every_member_remembers_what_it_learned_and_a_new_one_begins_with_what_the_first_alone_had() -> None:
    first, second = Member("a"), Member("b")
    pool = Pool([first, second])
    pool.learn({"schema": False})
    assert first.known == second.known == {"schema": False}
    second.known = {"schema": True}
    told = pool.learned()
    fresh = [Member("b"), Member("c"), Member("a")]
    Pool(fresh).learn(told)
    assert [one.known for one in fresh] == [{"schema": True}, {}, {"schema": False}]


async def test_the_first_names_the_judge_closing_it_closes_all_and_odd_pools_are_refused() -> None:
    members = [Member("b"), Member("a")]
    pool = Pool(members)
    assert (pool.endpoint, pool.model) == ("b", "m")
    await pool.aclose()
    assert all(member.closed for member in members)
    for odd, complaint in (([], "empty"), ([Member("a")] * 2, "more than once")):
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
