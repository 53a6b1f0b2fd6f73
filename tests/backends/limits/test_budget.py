"""Budgets: kept exactly, and what is refused is refused before it is asked."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.asking import question
from calipers.backends.limits.budget import Budget, Budgeted, SharedBudget
from calipers.backends.limits.metered import Metered
from calipers.backends.limits.prices import Price
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from calipers.types import Completion, FailureKind, JudgeRequest, Usage


@dataclass
class _Server:
    """Each answer takes ``usage``; ``error`` is raised instead."""

    usage: Usage = Usage(100, 20)
    error: BackendError | None = None
    answered: int = 0
    endpoint: str = "here"
    model: str = "m"

    async def complete(self, request: JudgeRequest) -> Completion:
        await asyncio.sleep(0)
        self.answered += 1
        if self.error is not None:
            raise self.error
        return Completion("done", usage=self.usage)


async def _ask(judge: Budgeted, count: int, **asked: Any) -> list[BaseException]:
    """How ``count`` questions at once failed."""
    calls = (judge.complete(question(**asked)) for _ in range(count))
    return [one for one in await asyncio.gather(*calls, return_exceptions=True) if isinstance(one, BaseException)]


async def test_exactly_as_many_calls_are_made_as_may_be_however_many_come_at_once() -> None:
    server = _Server()
    judge = Budgeted(server, budget=Budget(calls=7))
    failed = await _ask(judge, 20)
    assert server.answered == 7
    assert len(failed) == 13
    assert all(isinstance(error, PermanentError) and error.kind == "budget" and error.fatal for error in failed)
    assert str(failed[0]) == "the budget is spent: 7 of 7 calls are made"
    assert (judge.endpoint, judge.model) == ("here", "m")


@given(st.integers(300, 5000), st.lists(st.tuples(st.integers(0, 100), st.integers(0, 200)), min_size=1, max_size=40))
def test_tokens_are_never_exceeded_and_what_was_set_aside_too_much_comes_back(
    tokens: int, answers: list[tuple[int, int]]
) -> None:
    class Varied(_Server):
        async def complete(self, request: JudgeRequest) -> Completion:
            await asyncio.sleep(0)
            given, produced = answers[self.answered % len(answers)]
            self.answered += 1
            return Completion("done", usage=Usage(given + 1, produced))

    server = Varied()
    judge = Budgeted(server, budget=Budget(tokens=tokens), max_tokens=200)
    failed = asyncio.run(_ask(judge, 100, text="x" * 303, max_tokens=200))
    spent = judge.spent["tokens"]
    assert spent <= tokens
    assert server.answered + len(failed) == 100
    if failed:
        assert spent + 200 + 101 > tokens  # not one more could have been afforded for certain
    assert judge._shared._held.calls == judge._shared._held.tokens == 0


async def test_dollars_are_counted_as_the_server_or_the_price_says() -> None:
    price = Price(10.0, 100.0)
    server = _Server(Usage(1000, 100))
    judge = Budgeted(Metered(server, pricing=price), budget=Budget(usd=0.11), pricing=price, max_tokens=100)
    failed = await _ask(judge, 10, text="x" * 3000, max_tokens=100)
    assert server.answered == 5  # 2 cents each
    assert judge.spent["usd"] == pytest.approx(0.10)
    assert str(failed[0]) == "the budget is spent: $0.1000 of $0.1100 is spent, and one more call may cost $0.0200"


async def test_what_an_answer_without_usage_cost_is_taken_to_be_what_was_set_aside() -> None:
    judge = Budgeted(
        _Server(Usage()), budget=Budget(tokens=1000, usd=1.0), pricing=Price(1000.0, 1000.0), max_tokens=200
    )
    await judge.complete(question("x" * 300, max_tokens=200))
    assert judge.spent == {"calls": 1, "tokens": 300, "usd": pytest.approx(0.3)}


@pytest.mark.parametrize(("kind", "calls", "tokens"), [
    ("unreachable", 0, 0), ("unauthorized", 0, 0), ("not_found", 0, 0), ("rate_limited", 0, 0), ("bad_request", 0, 0),
    ("context_window", 0, 0), ("server", 1, 0), ("timeout", 1, 300), ("bad_reply", 1, 300), ("refused", 1, 300),
])  # fmt: skip
async def test_a_call_without_an_answer_counts_for_what_it_may_have_cost(
    kind: FailureKind, calls: int, tokens: int
) -> None:
    judge = Budgeted(_Server(error=TransientError(kind, "no")), budget=Budget(calls=5, tokens=5000), max_tokens=200)
    with pytest.raises(TransientError):
        await judge.complete(question("x" * 300, max_tokens=200))
    assert judge.spent == {"calls": calls, "tokens": tokens, "usd": 0.0}


async def test_a_call_that_was_broken_off_counts_in_full() -> None:
    judge = Budgeted(_Server(), budget=Budget(calls=5, tokens=5000), max_tokens=200)
    call = asyncio.create_task(judge.complete(question("x" * 300, max_tokens=200)))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert judge.spent["tokens"] == 300


def test_a_dollar_budget_without_a_price_is_refused_with_the_remedy() -> None:
    for pricing in (None, lambda _: None):
        with pytest.raises(ConfigError, match=re.escape('give calls={"price": (INPUT, OUTPUT)}')):
            Budgeted(_Server(), budget=Budget(usd=1.0), pricing=pricing)


@pytest.mark.parametrize("budget", [Budget(calls=0.5), Budget(tokens=199), Budget(usd=0.000199)])
def test_a_budget_smaller_than_one_call_is_refused_before_anything_is_asked(budget: Budget) -> None:
    with pytest.raises(ConfigError, match="does not cover one call"):
        Budgeted(_Server(), budget=budget, pricing=Price(1.0, 1.0), max_tokens=200)


@pytest.mark.parametrize("given", [{}, {"euro": 5}, {"usd": 0}, {"usd": -1}, {"usd": "5"}, {"calls": True}, 5, "5 usd"])
def test_a_budget_that_makes_no_sense_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="budget"):
        Budget.of(given)


def test_a_mapping_is_a_budget() -> None:
    assert Budget.of({"usd": 5, "calls": 10}) == Budget(calls=10, usd=5)
    assert Budget.of(Budget(tokens=7)) == Budget(tokens=7)


async def test_backends_that_draw_on_one_purse_never_exceed_it_together() -> None:
    purse = SharedBudget(Budget(calls=5))
    first, second = _Server(), _Server()
    judges = [Budgeted(server, budget=purse) for server in (first, second)]
    ended = await asyncio.gather(*(judge.complete(question()) for judge in judges * 4), return_exceptions=True)
    assert first.answered + second.answered == 5
    assert sum(isinstance(one, PermanentError) and one.kind == "budget" for one in ended) == 3
    assert [judge.spent["calls"] for judge in judges] == [5, 5]
