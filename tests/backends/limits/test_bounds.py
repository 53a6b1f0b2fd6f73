"""All bounds together, as a Judge has them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from typing import Any

import pytest

import calipers
from calipers.backends.limits.bounds import Limited, Shared, wrapped
from calipers.backends.limits.pool import Pool
from calipers.backends.limits.retry import Retrying
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import ConfigError
from calipers.trainers.art.judge import judge_for
from calipers.types import Completion, JudgeRequest, Usage
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import Answer, Asked, FaultyServer, error, said


@dataclass
class _Server:
    """A judge that likes what is shown first best, at 1,000 tokens a question and 100 an answer."""

    endpoint: str = "here"
    model: str = "m"
    requests: list[JudgeRequest] = field(default_factory=list)

    async def complete(self, request: JudgeRequest) -> Completion:
        self.requests.append(request)
        scores = {key: 90 - 10 * place for place, key in enumerate(request.keys)}
        return Completion(json.dumps({"scores": scores}), usage=Usage(1000, 100))


GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"What is 17 + 25, for the {n}th time?") for n in range(6)]


async def _results(judge: calipers.Judge) -> list[calipers.GroupResult]:
    return [result async for result in judge.score_groups(GROUPS, ordered=True)]


async def test_groups_beyond_the_budget_end_failed_with_the_reason_and_no_number() -> None:
    server = _Server()
    results = await _results(calipers.Judge(server, budget={"calls": 2}))
    assert len(server.requests) == 2
    assert [result.status for result in results] == ["scored"] * 2 + ["failed"] * 4
    for result in results[2:]:
        assert result.rewards == [None] * 4
        assert {one.reason for one in result.trajectories} == {"the budget is spent: 2 of 2 calls are made"}


async def test_recorded_answers_cost_nothing_and_a_run_goes_on_where_the_money_ended(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    for already, server in ((0, _Server()), (2, _Server()), (4, _Server())):
        async with calipers.Judge(server, budget={"calls": 2}, ledger=ledger) as judge:
            results = await _results(judge)
        assert len(server.requests) == 2
        assert [result.status for result in results].count("scored") == already + 2


async def test_what_was_spent_is_in_the_results() -> None:
    results = await _results(calipers.Judge(_Server(), calls={"price": (1.0, 10.0)}))
    assert [result.usage.cost_usd for result in results] == [pytest.approx(0.002)] * 6
    assert (await calipers.score_group(GROUPS[0], judge=_Server())).usage.cost_usd is None


async def test_a_dollar_budget_ends_a_run_before_it_is_exceeded() -> None:
    judge = calipers.Judge(_Server(), calls={"price": (1.0, 10.0), "max_tokens": 100}, budget={"usd": 0.01})
    results = await _results(judge)
    spent = [result.usage.cost_usd for result in results if result.status == "scored"]
    assert 3 <= len(spent) <= 5
    assert "$0.0100" in str(next(one.reason for one in results[-1].trajectories))


def test_several_urls_are_one_judge_and_the_first_names_it() -> None:
    urls = ["http://127.0.0.1:9/v1", "http://127.0.0.1:10/v1"]
    judge = calipers.Judge("vllm/m", base_url=urls, calls={"requests_per_minute": 60})
    assert isinstance(judge._judges[0].bare, Pool)
    assert judge.settings.judges[0].endpoint == urls[0]
    assert calipers.Judge("vllm/m", base_url=urls[:1]).settings.judges[0].endpoint == urls[0]


@pytest.mark.parametrize(("options", "complaint"), [
    ({"budget": {"usd": 1.0}}, "price"),
    ({"budget": {"tokens": 500}}, "does not cover one call"),
    ({"budget": {"euros": 1.0}}, "calls, tokens, usd"),
    ({"price": (1.0,)}, "per million"),
    ({"requests_per_minute": 0}, "requests_per_minute"),
    ({"tokens_per_minute": -1}, "tokens_per_minute"),
    ({"concurrency": "many"}, "concurrency"),
])  # fmt: skip
def test_bounds_that_cannot_work_are_refused_before_anything_is_asked(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        calipers.Judge.of({"judge": _Server(), **options})


@pytest.mark.parametrize("urls", [[], ["http://a/v1", "http://a/v1"], ["ftp://a"]])
def test_lists_of_urls_that_cannot_work_are_refused(urls: list[str]) -> None:
    with pytest.raises(ConfigError):
        calipers.Judge("vllm/m", base_url=urls)


async def test_a_run_over_several_urls_goes_on_when_one_of_them_is_down(faulty: FaultyServer) -> None:

    def judged(asked: Asked) -> Answer:
        return said(verdict(asked))

    faulty.script(judged)
    faulty.get = {"/v1/models": Answer(body={"data": [{"id": "m"}]})}
    with socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        down = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        judge = calipers.Judge("vllm/m", base_url=[down, faulty.url])
        (warning,) = await judge.check()
        results = await _results(judge)
    assert down.removesuffix("/v1") in warning
    assert {result.status for result in results} == {"scored"}
    assert len(faulty.posts) == 6


# --- tries outside, limit inside ------------------------------------------------------------------------------------


def _chat(url: str) -> OpenAICompatible:
    return OpenAICompatible("m", base_url=url)


_WAYS: dict[str, Callable[[str], calipers.Judge]] = {
    "a judge by its name": lambda url: calipers.Judge("vllm/m", base_url=url, concurrency=2, calls={"attempts": 200}),
    "a backend with tries of its own": lambda url: calipers.Judge(Retrying(_chat(url), attempts=200), concurrency=2),
    "several base URLs": lambda url: calipers.Judge(
        "vllm/m", base_url=[url, url.replace("127.0.0.1", "localhost")], concurrency=2, calls={"attempts": 200}
    ),
    "shared": lambda url: calipers.Judge(Shared(_chat(url), attempts=200, concurrency=2)),
    "ART's adapter": lambda url: judge_for("vllm/m", {"api_base": url, "num_retries": 200, "max_parallel_requests": 2}),
    "ART's adapter, a backend with tries of its own": lambda url: judge_for(
        Retrying(_chat(url), attempts=200), {"max_parallel_requests": 2}
    ),
}


@pytest.mark.parametrize("way", _WAYS)
async def test_a_call_that_waits_for_its_next_try_holds_no_place(faulty: FaultyServer, way: str) -> None:
    """Two stuck groups would hold both places until the healthy one was answered: for ever, were tries inside the
    limit.
    """
    healthy_was_here: list[bool] = []

    def answer(asked: Asked) -> Answer:
        question = asked.body["messages"][-1]["content"]
        if "healthy" in question:
            healthy_was_here.append(True)
        elif not healthy_was_here:
            return error(429, headers={"Retry-After": "0"})
        return said(verdict(asked))

    faulty.script(answer)
    judge = _WAYS[way](faulty.url)
    healthy = group_of(FOUR, group_id="h", question="Is it healthy?")
    results = await asyncio.gather(*(judge.score_group(group) for group in (*GROUPS[:2], healthy)))
    assert [result.status for result in results] == ["scored"] * 3


def test_tries_are_put_outside_of_everything_else() -> None:
    by_name = wrapped(_Server(), attempts=3, concurrency=2)
    assert isinstance(by_name, Retrying)
    assert isinstance(by_name._backend, Limited)
    own = wrapped(Retrying(_Server(), attempts=7), attempts=None, concurrency=2)
    assert isinstance(own, Retrying)
    assert own._attempts == 7
    assert isinstance(own._backend, Limited)
    assert isinstance(wrapped(_Server(), attempts=None), Limited)


async def test_the_bound_of_what_is_shared_holds_for_all_its_judges_together() -> None:
    inside: list[int] = []
    busy = 0

    class Slow(_Server):
        async def complete(self, request: JudgeRequest) -> Completion:
            nonlocal busy
            busy += 1
            inside.append(busy)
            await asyncio.sleep(0)
            busy -= 1
            return await super().complete(request)

    shared = Shared(Slow(), name="the judge", concurrency=2)
    judges = [calipers.Judge(shared, seed=seed) for seed in range(3)]
    results = await asyncio.gather(*(judge.score_group(group) for judge in judges for group in GROUPS))
    assert {result.status for result in results} == {"scored"}
    assert max(inside) == 2
    assert judges[0].settings.judges[0].judge == "the judge"
    with pytest.raises(ConfigError, match="budget: pass it to Shared"):
        calipers.Judge(shared, budget={"calls": 3})
