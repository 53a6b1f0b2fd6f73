"""What an answer cost, and that unknown is not free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from backends.asking import question
from calipers.backends.limits.metered import Metered
from calipers.backends.limits.prices import Listed, Price, find_pricing
from calipers.errors import ConfigError
from calipers.types import Completion, JudgeRequest, Usage


@dataclass
class _Server:
    usage: Usage
    endpoint: str = "https://api.openai.com/v1"
    model: str = "gpt-5-mini"

    async def complete(self, request: JudgeRequest) -> Completion:
        return Completion("done", usage=self.usage)


async def _cost(usage: Usage, price: tuple[float, ...] = (1.0, 10.0, 0.1)) -> float | None:
    priced = Metered(_Server(usage), pricing=Price.of(price))
    return (await priced.complete(question())).usage.cost_usd


async def test_cached_input_has_its_own_price() -> None:
    assert await _cost(Usage(1_000_000, 100_000, 400_000)) == pytest.approx(0.6 + 0.04 + 1.0)
    assert await _cost(Usage(1_000_000, 100_000, 400_000), (1.0, 10.0)) == pytest.approx(2.0)


async def test_a_cost_the_server_states_is_the_cost() -> None:
    assert await _cost(Usage(1_000_000, 0, cost_usd=0.25)) == 0.25
    assert await _cost(Usage(1_000_000, 0, cost_usd=0.0)) == 0.0


async def test_an_answer_whose_tokens_nobody_counted_has_an_unknown_cost() -> None:
    assert await _cost(Usage()) is None


async def test_an_answer_for_free_costs_nothing() -> None:
    assert await _cost(Usage(10, 10), (0.0, 0.0)) == 0.0


@pytest.mark.parametrize(
    "given", [1.0, (1.0,), (1, 2, 3, 4), "ab", (-1.0, 2.0), (True, 1.0), (float("inf"), 1.0), (1.0, None)]
)
def test_a_price_that_is_none_is_refused_with_how_to_write_it(given: Any) -> None:
    with pytest.raises(ConfigError, match="per million tokens"):
        Price.of(given)


def test_where_neither_the_caller_nor_a_list_knows_there_is_no_price() -> None:
    assert find_pricing("embedded", "m") is None
    found = find_pricing("http://localhost:8000/v1", "gpt-5-mini")
    assert found is None or found(Usage(10, 10)) is None


def test_the_price_list_knows_models_by_their_endpoint() -> None:
    pytest.importorskip("genai_prices", reason="genai-prices is an extra")
    listed = find_pricing("https://api.openai.com/v1", "gpt-5-mini")
    assert isinstance(listed, Listed)
    uncached, cached = listed(Usage(1000, 0)), listed(Usage(1000, 0, 1000))
    assert uncached is not None
    assert cached is not None
    assert 0 < cached < uncached
    assert listed(Usage(1000, 0, 2000)) == pytest.approx(cached)
    assert Listed("https://api.openai.com/v1", "no-such-model")(Usage(1, 1)) is None
