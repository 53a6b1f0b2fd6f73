"""One class bounds, retries, prices and pauses a judge. No test waits."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from backends.asking import question
from backends.virtual import Server, now, run_virtually, virtually
from calipers.backends.limits.limited import Limited
from calipers.backends.limits.pool import Pool
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from calipers.interfaces import Backend
from calipers.trainers.art.judge import judge_for
from calipers.types import Completion, FailedCall, JudgeRequest, Usage
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

TEXT = "a candidate's words, which the server's error repeats"
DOWN = TransientError("unreachable", f"nothing answers there: {TEXT}")
REVOKED = PermanentError("unauthorized", "the key is not accepted", fatal=True)


def limited(backend: Backend, **options: Any) -> Limited:
    return Limited(backend, clock=now, **options)


def died(retry_after: float | None = None) -> TransientError:
    return TransientError("server", "died", retry_after=retry_after)


async def failure(judge: Limited, times: int = 1) -> BackendError:
    for _ in range(times):
        with pytest.raises(BackendError) as caught:
            await judge.complete(question(TEXT))
    return caught.value


# --- retries ----------------------------------------------------------------------------------------------------------


@virtually
async def test_what_is_recorded_tells_of_all_attempts_and_the_recorded_answer_is_the_answer() -> None:
    kept: list[Completion] = []

    async def record(completion: Completion) -> Completion:
        kept.append(completion)
        return Completion("what is on record")

    judge = limited(Server(died(), died()))
    assert (await judge.complete_recorded(question(), record)).text == "what is on record"
    assert [(one.model, one.attempts, one.latency) for one in kept] == [("here", 3, now())]
    queued = limited(Server(), concurrency=1)
    assert [
        one.latency for one in await asyncio.gather(*(queued.complete(question()) for _ in range(3)))
    ] == pytest.approx([1] * 3)
    own = await limited(Server(), attempts=None).complete(question())
    assert (own.attempts, own.latency) == (1, 9.0), "a backend that retries itself counts itself"


@virtually
async def test_it_gives_up_when_another_attempt_cannot_help_and_says_how_often_it_tried() -> None:
    for errors, options, calls, message in (
        ([REVOKED], {}, 1, "^the key is not accepted$"),
        ([died(1.0)] * 9, {"attempts": 3}, 3, r"died \(gave up after 3 attempts\)"),
        ([died()] * 9, {"attempts": None}, 1, "^died$"),
        ([died(), REVOKED], {}, 2, "2 attempts"),
        ([TransientError("bad_reply", "nothing")] * 9, {}, 2, "2 attempts"),
        ([died(60.0)], {"deadline": 10.0}, 1, r"the next try is 60\.\d s away, with 9\.0 s left"),
    ):
        server = Server(*errors)
        with pytest.raises(BackendError, match=message) as caught:
            await limited(server, **options).complete(question())
        assert (len(server.began), caught.value.kind) == (calls, errors[calls - 1].kind)


@virtually
async def test_waits_double_up_to_thirty_seconds_and_are_never_shorter_than_the_server_asks() -> None:
    server = Server(*[died()] * 8, seconds=0)
    judge = limited(server, attempts=9)
    judge._draw = lambda _, longest: longest
    await judge.complete(question())
    waits = [later - earlier for earlier, later in pairwise(server.began)]
    assert waits == pytest.approx([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0])
    waits.clear()
    for _ in range(20):
        server = Server(died(20.0), seconds=0)
        await limited(server, deadline=None).complete(question())
        waits.append(server.began[1] - server.began[0])
    assert len(set(waits)) == 20, "clients that got the same Retry-After come back at different times"
    assert 20.0 <= min(waits) <= max(waits) <= 20.5


@virtually
async def test_each_failed_call_is_reported_once_also_through_two_limits_and_for_one_error_object() -> None:
    for errors in ([died()] * 2, [(same := died()), same]):
        failed: list[FailedCall] = []
        request = replace(question(), on_failed_call=failed.append)
        await Limited(limited(Server(*errors), base=0), attempts=None).complete(request)
        assert [(one.kind, one.usage) for one in failed] == [("server", Usage(cost_usd=0.0))] * 2


async def test_what_is_no_backend_error_passes_through_and_is_reported() -> None:
    class Broken(Server):
        async def complete(self, request: JudgeRequest) -> Any:
            return "no Completion"

    class Cancels(Server):
        async def complete(self, request: JudgeRequest) -> Completion:
            raise asyncio.CancelledError

    failed: list[FailedCall] = []
    for judge, kind in ((Broken(), TypeError), (Cancels(), RuntimeError)):
        with pytest.raises(kind):
            await limited(judge).complete(replace(question(), on_failed_call=failed.append))
    assert [one.kind for one in failed] == ["internal", "broken_off"]


# --- calls in flight, calls a minute ----------------------------------------------------------------------------------


@virtually
async def test_failures_and_cancellations_give_their_place_back() -> None:
    server = Server(*[died()] * 3)
    judge = limited(server, concurrency=1, attempts=1)
    await failure(judge, 3)
    tasks = [asyncio.create_task(judge.complete(question())) for _ in range(3)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await judge.complete(question())


def test_a_judge_bounds_each_of_several_loops_one_after_another() -> None:
    server = Server(seconds=0)
    judge = Limited(server, concurrency=2)

    async def many() -> None:
        await asyncio.gather(*(judge.complete(question()) for _ in range(10)))

    for _ in range(3):
        asyncio.run(many())
    assert server.most == 2
    assert len(judge._slots) == 1  # closed loops are let go


@given(st.integers(1, 600), st.integers(1, 30))
def test_requests_a_minute_are_spaced_evenly(per_minute: int, count: int) -> None:
    async def run() -> list[float]:
        server = Server()
        judge = limited(server, requests_per_minute=per_minute)
        await asyncio.gather(*(judge.complete(question()) for _ in range(count)))
        return server.began

    assert run_virtually(run()) == pytest.approx([number * 60 / per_minute for number in range(count)])


GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"What is 17 + 25, for the {n}th time?") for n in range(2)]


def _chat(url: str) -> OpenAICompatible:
    return OpenAICompatible("m", base_url=url)


_WAYS: dict[str, Callable[[str], calipers.Judge]] = {
    "by name": lambda url: calipers.Judge("vllm/m", base_url=url, concurrency=2, calls={"attempts": 200}),
    "several base URLs": lambda url: calipers.Judge(
        "vllm/m", base_url=[url, url.replace("127.0.0.1", "localhost")], concurrency=2, calls={"attempts": 200}
    ),
    "a Limited": lambda url: calipers.Judge(Limited(_chat(url), attempts=200, concurrency=2)),
    "ART's adapter": lambda url: judge_for("vllm/m", {"api_base": url, "num_retries": 200, "max_parallel_requests": 2}),
}


async def test_a_call_that_waits_for_its_next_attempt_holds_no_place(faulty: FaultyServer) -> None:
    """Two stuck groups would hold both places until the healthy one was answered: for ever, were retries inside the
    limit.
    """
    for way, judge_at in _WAYS.items():
        healthy_was_here: list[bool] = []

        def answer(asked: Asked, seen: list[bool] = healthy_was_here) -> Answer:
            if "healthy" in asked.body["messages"][-1]["content"]:
                seen.append(True)
            elif not seen:
                return error(429, headers={"Retry-After": "0"})
            return said(verdict(asked))

        faulty.script(answer)
        judge = judge_at(faulty.url)
        healthy = group_of(FOUR, group_id="h", question="Is it healthy?")
        results = await asyncio.gather(*(judge.score_group(group) for group in (*GROUPS, healthy)))
        assert [result.status for result in results] == ["scored"] * 3, way


async def test_the_bound_of_what_judges_share_holds_for_all_of_them_together() -> None:
    server = Server(seconds=0)
    shared = Limited(server, concurrency=2)
    judges = [calipers.Judge(shared, seed=seed) for seed in range(3)]
    await asyncio.gather(*(judge.score_group(group) for judge in judges for group in GROUPS))
    assert server.most == 2
    with pytest.raises(ConfigError, match="Limited"):
        calipers.Judge(shared, budget={"calls": 1})


def test_limits_that_cannot_work_are_refused() -> None:
    wrong: list[dict[str, Any]] = [{"attempts": 0}, {"concurrency": 0}, {"requests_per_minute": 0}, {"price": 1}]
    for options in wrong:
        with pytest.raises(ConfigError, match=next(iter(options))):
            Limited(Server(), **options)


# --- a judge that is down ---------------------------------------------------------------------------------------------


def _is_paused(judge: Limited) -> bool:
    assert judge._breaker is not None
    return judge._breaker.why is not None


@virtually
async def test_a_dead_judge_is_asked_no_more_after_ten_failures_over_ten_seconds() -> None:
    server = Server(always=DOWN)
    judge = limited(server, attempts=1)
    await failure(judge, 30)
    assert not _is_paused(judge)  # half a second of restart is the retries' business
    await asyncio.sleep(10)
    await failure(judge)
    error = await failure(judge, 50)
    assert (len(server.began), error.kind) == (31, "unreachable")
    assert isinstance(error, PermanentError)
    assert error.fatal
    assert re.search("paused.*nothing answers there", str(error))


@virtually
async def test_an_answer_starts_the_count_over() -> None:
    server = Server()
    judge = limited(server, attempts=1)
    for _ in range(3):
        server.always = DOWN
        for _ in range(9):
            await failure(judge)
            await asyncio.sleep(10)
        server.always = None
        await judge.complete(question())
    assert not _is_paused(judge)


@virtually
async def test_a_revoked_key_pauses_at_the_third_refusal_and_one_call_tests_every_fifteen_seconds() -> None:
    server = Server(always=REVOKED)
    judge = limited(server, attempts=1)
    await failure(judge, 3)
    for _ in range(60):
        await asyncio.sleep(1)
        await failure(judge, 3)
    assert server.began == [0, 0, 0, 15, 30, 45, 60]
    server.always = None
    await asyncio.sleep(60)
    await judge.complete(question())
    assert not _is_paused(judge)


@virtually
async def test_what_a_living_judge_says_pauses_nothing() -> None:
    errors: list[BackendError] = [
        TransientError("rate_limited", "slower", retry_after=1.0),
        PermanentError("budget", "spent", fatal=True),
        *(PermanentError(kind, "no") for kind in ("context_window", "refused", "bad_request")),
    ]
    for answer in errors:
        server = Server(always=answer)
        judge = limited(server, attempts=1)
        for _ in range(40):
            await failure(judge)
            await asyncio.sleep(10)
        assert (_is_paused(judge), len(server.began)) == (False, 40), answer.kind


# --- what is logged ---------------------------------------------------------------------------------------------------


@virtually
async def test_each_event_is_logged_once_at_its_level_and_without_texts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="calipers")
    server = Server(always=DOWN)
    judge = limited(server, attempts=1)
    for _ in range(12):
        await asyncio.sleep(2)
        await failure(judge)
    server.always = None
    await asyncio.sleep(60)
    await judge.complete(question())
    await limited(Server(died())).complete(question())
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "DEBUG"]
    assert TEXT not in caplog.text
    assert "10 calls in a row failed (the last: unreachable)" in caplog.messages[0]
    assert "a call failed (server), attempt 1 of 5" in caplog.messages[-1]


@virtually
async def test_a_pool_in_it_reports_each_member_that_failed() -> None:
    failed: list[FailedCall] = []
    judge = limited(Pool([Server(died()), Server(endpoint="there")]), price=(1.0, 2.0))
    assert (await judge.complete(replace(question(), on_failed_call=failed.append))).attempts == 1
    assert [one.kind for one in failed] == ["server"]


def test_every_logger_of_the_package_is_documented() -> None:
    root = Path(__file__).resolve().parents[3]
    page = (root / "docs" / "health.md").read_text(encoding="utf-8")
    for path in (root / "src" / "calipers").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for name in re.findall(r'getLogger\("(calipers\.\w+)"\)', source):
            assert f"`{name}`" in page, f"{path}: {name}"
        if "getLogger(__name__)" in source:
            subject = path.relative_to(root / "src").with_suffix("").parts[1]
            assert f"`calipers.{subject}" in page, f"{path}: calipers.{subject}"
