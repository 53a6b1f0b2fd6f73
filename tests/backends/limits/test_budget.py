"""Budgets and prices: kept exactly, and what is refused is refused before it is asked."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from backends.asking import question
from backends.virtual import Server
from calipers.backends.limits.budget import Amount, Budget, Price, Purse, find_pricing, question_bytes
from calipers.backends.limits.limited import Limited
from calipers.errors import ConfigError, PermanentError, TransientError
from calipers.types import Completion, JudgeRequest, Usage
from groups import FOUR, group_of

USED = Usage(100, 20)


def serving(usage: Usage = USED, **how: Any) -> Server:
    return Server(usage=usage, seconds=0, **how)


def limited(server: Server, **options: Any) -> Limited:
    return Limited(server, attempts=1, **options)


def spent_by(judge: Limited) -> Amount:
    assert judge._purse is not None
    return judge._purse.spent


async def ask(judge: Limited, count: int, **asked: Any) -> list[BaseException]:
    """How ``count`` questions at once failed."""
    calls = (judge.complete(question(**asked)) for _ in range(count))
    return [one for one in await asyncio.gather(*calls, return_exceptions=True) if isinstance(one, BaseException)]


async def test_exactly_as_many_calls_are_made_as_may_be_by_all_that_share_it(caplog: pytest.LogCaptureFixture) -> None:
    purse = Purse({"calls": 7})
    first, second = serving(), serving()
    judges = [limited(server, budget=purse) for server in (first, second)]
    failed = [one for judge in judges for one in await ask(judge, 10)]
    assert len(first.began) + len(second.began) == 7
    assert len(failed) == 13
    assert all(isinstance(error, PermanentError) and error.kind == "budget" and error.fatal for error in failed)
    assert "7 of 7 calls are spent" in str(failed[0])
    assert [spent_by(judge).calls for judge in judges] == [7, 7]
    assert len(caplog.messages) == 1


@given(st.integers(300, 5000), st.lists(st.tuples(st.integers(0, 100), st.integers(0, 200)), min_size=1, max_size=40))
def test_tokens_are_never_exceeded_and_what_was_reserved_too_much_comes_back(
    tokens: int, answers: list[tuple[int, int]]
) -> None:
    class Varied(Server):
        async def complete(self, request: JudgeRequest) -> Completion:
            read, written = answers[len(self.began) % len(answers)]
            self.usage = Usage(read + 1, written)
            return await super().complete(request)

    server = Varied(seconds=0)
    judge = limited(server, budget={"tokens": tokens}, max_tokens=200)
    failed = asyncio.run(ask(judge, 60, text="x" * 303, max_tokens=200))
    assert spent_by(judge).tokens <= tokens
    assert len(server.began) + len(failed) == 60
    if failed:
        assert spent_by(judge).tokens + 200 + 101 > tokens  # not one more could have been afforded for certain
    assert judge._purse is not None
    assert judge._purse._held == Amount()


def test_loops_in_several_threads_share_a_budget_and_a_cancelled_wait_leaves_nothing() -> None:
    server = serving()
    judge = limited(server, budget={"tokens": 40_000}, max_tokens=200)

    async def many() -> None:
        calls = [asyncio.create_task(judge.complete(question("x" * 303, max_tokens=200))) for _ in range(200)]
        await asyncio.sleep(0)
        for call in calls[::3]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    threads = [threading.Thread(target=asyncio.run, args=(many(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert spent_by(judge).tokens <= 40_000
    assert judge._purse is not None
    assert judge._purse._held == Amount()


async def test_dollars_are_counted_as_the_server_or_the_price_says() -> None:
    server = serving(Usage(1000, 100))
    judge = limited(server, price=(10.0, 100.0), budget={"usd": 0.11}, max_tokens=100)
    failed = await ask(judge, 10, text="x" * 3000, max_tokens=100)
    assert len(server.began) == 5  # 2 cents each
    assert spent_by(judge).usd == pytest.approx(0.10)
    assert "0.1000 of 0.1100 US dollars are spent, a call may take 0.0200: lower max_tokens" in str(failed[0])
    assert await ask(judge, 1, text="x" * 30, max_tokens=10) == []  # a smaller one is still made


async def test_a_call_whose_usage_nobody_states_counts_for_what_it_may_have_cost() -> None:
    free = dict.fromkeys(("unreachable", "rate_limited", "bad_request", "context_window"), (0, 0))
    billed = dict.fromkeys((None, "timeout", "bad_reply", "refused"), (1, 300))
    wrong = []
    kinds: dict[Any, tuple[int, int]] = {**free, **billed, "server": (1, 0)}
    for kind, spent in kinds.items():
        server = serving(Usage(), always=None if kind is None else TransientError(kind, "no"))
        judge = limited(server, budget=Budget(calls=5, tokens=5000), max_tokens=200)
        await ask(judge, 1, text="x" * 300, max_tokens=200)
        if (spent_by(judge).calls, spent_by(judge).tokens) != spent:
            wrong.append((kind, spent_by(judge)))
    assert wrong == []


async def test_a_call_that_was_broken_off_counts_in_full() -> None:
    judge = limited(serving(), budget={"calls": 5, "tokens": 5000}, max_tokens=200)
    call = asyncio.create_task(judge.complete(question("x" * 300, max_tokens=200)))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert spent_by(judge).tokens == 300


def test_a_budget_that_cannot_work_is_refused_before_anything_is_asked() -> None:
    for budget, complaint in (
        ({"usd": 1.0}, "price"), ({"calls": 0.5}, "does not cover one call"),
        ({"tokens": 199}, "does not cover one call"), ({}, "calls, tokens, usd"), ({"euro": 5}, "calls, tokens, usd"),
        ({"usd": 0}, "above 0"), ({"usd": "5"}, "above 0"), ({"calls": True}, "above 0"), (5, "budget=5"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=complaint):
            limited(serving(), budget=budget, max_tokens=200)


# --- in a run ---------------------------------------------------------------------------------------------------------

GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"What is 17 + 25, for the {n}th time?") for n in range(6)]


async def test_groups_beyond_the_budget_fail_with_the_reason_and_a_later_run_goes_on(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    for already in (0, 2, 4):
        server = serving()
        async with calipers.Judge(server, budget={"calls": 2}, ledger=ledger) as judge:
            results = [result async for result in judge.score_groups(GROUPS, ordered=True)]
        scored = [result for result in results if result.status == "scored"]
        assert (len(server.began), len(scored)) == (2, already + 2)
        for result in results[already + 2 :]:
            assert result.rewards == [None] * 4
            assert all("2 of 2 calls are spent" in str(one.reason) for one in result.trajectories)


# --- prices -----------------------------------------------------------------------------------------------------------


async def test_what_an_answer_cost_and_that_unknown_is_not_free() -> None:
    for usage, price, cost in (
        (Usage(1_000_000, 100_000, 400_000), (1.0, 10.0, 0.1), 0.6 + 0.04 + 1.0),
        (Usage(1_000_000, 100_000, 400_000), (1.0, 10.0), 2.0),
        (Usage(1_000_000, 0, cost_usd=0.25), (1.0, 10.0), 0.25),  # as the server states it
        (Usage(), (1.0, 10.0), None),  # nobody counted the tokens
        (Usage(10, 10), (0.0, 0.0), 0.0),
        (Usage(10, 10), None, None),
    ):
        answered = await limited(serving(usage), price=price).complete(question())
        assert answered.usage.cost_usd == (None if cost is None else pytest.approx(cost)), usage


def test_a_price_that_is_none_is_refused_with_how_to_write_it() -> None:
    for price in (1.0, (1.0,), (1, 2, 3, 4), "ab", (-1.0, 2.0), (True, 1.0), (float("inf"), 1.0), (1.0, None)):
        with pytest.raises(ConfigError, match="per million tokens"):
            Price.of(price)


def test_the_price_list_knows_models_by_their_endpoint() -> None:
    assert find_pricing("embedded", "m") is None
    pytest.importorskip("genai_prices", reason="genai-prices is an extra")
    listed, unknown = (find_pricing("https://api.openai.com/v1", name) for name in ("gpt-5-mini", "no-such-model"))
    assert listed is not None
    assert unknown is not None
    uncached, cached = listed(Usage(1000, 0)), listed(Usage(1000, 0, 1000))
    assert uncached is not None
    assert cached is not None
    assert 0 < cached < uncached
    assert listed(Usage(1000, 0, 2000)) == pytest.approx(cached)
    assert unknown(Usage(1, 1)) is None


def test_text_counts_by_its_utf8_bytes_and_an_image_the_same_however_large() -> None:
    def asked(content: Any) -> int:
        return question_bytes(replace(question(), messages=({"role": "user", "content": content},)))

    assert [asked(text) for text in ("four", "评分", "\ud800")] == [4, 6, 1]
    for url in ("https://a/b.png", "data:image/png;base64," + "A" * 10**6):
        assert asked([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]) == 4004
