"""Judging with llama.cpp's own server and random weights, which write whatever the server's grammar permits."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from backends.asking import KEYS, keyed, question
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.judging.judge import Judge
from calipers.types import Completion, GroupResult
from groups import FOUR, group_of
from servers import tiny_gguf
from servers.llama_server import llama_server

pytestmark = pytest.mark.heavy
GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"What is {n} + {n}?") for n in range(25)]


def _backend(url: str, **options: Any) -> OpenAICompatible:
    return OpenAICompatible("tiny", base_url=url, timeout=60.0, **options)


async def _ask_all(backend: OpenAICompatible, seeds: int, **asked: Any) -> list[Completion]:
    """The answers, without those that the server's own parser could make nothing of."""
    asks = (backend.complete(question(params={"seed": seed, "temperature": 1.0}, **asked)) for seed in range(seeds))
    answers = await asyncio.gather(*asks, return_exceptions=True)
    return [answer for answer in answers if isinstance(answer, Completion)]


async def _judged(url: str, groups: int, **options: Any) -> list[GroupResult]:
    judge = Judge("llamacpp/tiny", base_url=url, **{"concurrency": 4, "question": {"reasks": 0}, **options})
    return [result async for result in judge.score_groups(GROUPS[:groups], ordered=True)]


async def test_with_the_keyed_schema_every_group_is_scored(llama: str) -> None:
    results = await _judged(llama, 25)
    assert [(result.status, result.judge_calls) for result in results] == [("scored", 1)] * 25
    assert all(0 <= one.reward <= 1 for result in results for one in result.trajectories if one.reward is not None)
    assert len({one.reward for result in results for one in result.trajectories}) > 20
    assert all(result.usage.input_tokens > 100 and result.usage.cost_usd is None for result in results)


async def test_without_a_constraint_every_group_abstains_and_none_becomes_a_number(llama: str) -> None:
    results = await _judged(llama, 8, calls={"max_tokens": 150, "params": {"response_format": None}})
    assert {result.status for result in results} == {"abstained"}
    assert {one.reward for result in results for one in result.trajectories} == {None}


async def test_a_reply_cut_off_by_its_limit_is_asked_again_with_more_room(llama: str) -> None:
    (result,) = await _judged(llama, 1, calls={"max_tokens": 60}, question={"reasks": 3})
    assert result.status == "scored"
    assert result.judge_calls > 1


async def test_a_group_over_the_context_window_abstains_and_says_the_sizes(llama: str) -> None:
    long = group_of({"a": "one two three " * 6000, "b": "four five six " * 6000})
    result = await Judge("llamacpp/tiny", base_url=llama).score_group(long)
    assert result.status == "abstained"
    assert "4096" in (result.trajectories[0].reason or "").replace(",", "")


async def test_two_runs_with_one_seed_agree(llama: str) -> None:
    # A slot that has seen a prompt's beginning goes on from there, and rounds differently.
    fixed = {"params": {"seed": 5, "cache_prompt": False}}
    first, second = [await _judged(llama, 3, concurrency=1, calls=fixed) for _ in range(2)]
    assert [one.rewards for one in first] == [one.rewards for one in second]


async def test_checking_the_server_costs_nothing_and_warns_of_nothing(llama: str) -> None:
    assert list(await Judge("llamacpp/tiny", base_url=llama, concurrency=4).check()) == []


@pytest.mark.parametrize("mode", ["all", "relative"])
async def test_with_the_checklists_schema_random_weights_still_give_verdicts(llama: str, mode: str) -> None:
    criteria = ["Gives a number.", "Is right.", "Is warm."]
    asked = {"reasks": 0, "grading": {"mode": mode}}
    results = await _judged(llama, 6, protocol="checklist", rubric=criteria, question=asked)
    assert [result.status for result in results] == ["scored"] * 6
    assert len({one.score for result in results for one in result.trajectories}) > 2


@pytest.mark.parametrize("protocol", ["listwise", "pointwise"])
async def test_expected_scores_come_from_the_servers_own_probabilities(llama: str, protocol: str) -> None:
    # After sampling, and with nothing cut away, the probabilities are those that the grammar leaves.
    whole = {"post_sampling_probs": True, "temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0}
    asked = {"expected": True, "reasks": 0}
    results = await _judged(llama, 4, protocol=protocol, question=asked, calls={"params": whole})
    members = [one for result in results for one in result.trajectories]
    assert {result.status for result in results} == {"scored"}
    sure = [one for one in members if one.stderr is not None]
    assert len(sure) > len(members) / 2
    assert all(0 < (one.stderr or 0) <= 0.5 for one in sure)
    assert all("of the probability on digits" in (one.explanation or "") for one in sure)
    assert len({one.score for one in sure}) == len(sure), "means are finer than ten digits"


async def test_odds_from_before_the_grammar_say_little_of_random_weights_and_are_not_used(llama: str) -> None:
    (result,) = await _judged(llama, 1, question={"expected": True})
    assert result.status == "scored"
    assert {one.stderr for one in result.trajectories} == {None}
    assert any("less than 50% of the probability was on digits" in warning for warning in result.warnings)


async def test_what_the_servers_own_parser_rejects_is_answered_in_plain_text(llama: str) -> None:
    """Free strings let random weights write half a character; under a fixed seed they would do so again and again."""
    backend = _backend(llama)
    answers = await _ask_all(backend, 10, schema=keyed({"type": "string"}))
    assert len(answers) == 10
    assert not all(answer.text.startswith("{") for answer in answers), "free strings no longer upset this server"
    assert backend.refused == frozenset(), "one garbled answer says nothing about the next question"


async def test_a_schema_it_cannot_read_steps_down_to_an_object(llama: str) -> None:
    backend = _backend(llama)
    assert await _ask_all(backend, 1, schema={"type": "no such type"}, max_tokens=50)
    assert backend.refused == {"json_schema"}


async def test_a_thinking_model_answers_apart_from_its_thoughts(tiny_model: Path) -> None:
    """How long random weights think is chance; each whole reply is a thought and then a verdict."""
    with llama_server(tiny_model, chat_template=tiny_gguf.THINKING_TEMPLATE) as url:
        plain = await _ask_all(_backend(url), 8, max_tokens=600)
        streamed = await _ask_all(_backend(url, refused={"unstreamed"}), 4, max_tokens=600)
        (cut,) = await _ask_all(_backend(url), 1, max_tokens=10)
    whole = [answer for answer in plain if answer.finish_reason == "stop"]
    assert whole
    assert all(answer.reasoning and set(json.loads(answer.text)["scores"]) == set(KEYS) for answer in whole)
    assert all(answer.reasoning and answer.text for answer in streamed if answer.finish_reason == "stop")
    assert (cut.text, cut.finish_reason) == ("", "length")
    assert cut.reasoning
