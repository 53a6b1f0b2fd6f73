"""The chat backend against llama.cpp's own server with random weights, which emit whatever the server permits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from backends.asking import KEYS, SCHEMA, keyed, question
from calipers.backends.limits.limited import Limited
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import PermanentError
from calipers.types import Completion
from servers import tiny_gguf
from servers.llama_server import llama_server

pytestmark = pytest.mark.heavy


def _judge(url: str, **options: Any) -> OpenAICompatible:
    return OpenAICompatible("tiny", base_url=url, timeout=60.0, **options)


async def _ask(url: str, seed: int, **options: Any) -> Completion:
    params = {"seed": seed, "temperature": 1.0, **options.pop("params", {})}
    return await _judge(url).complete(question(params=params, **options))


async def _ask_all(url: str, seeds: int, schema: Mapping[str, Any]) -> list[Completion]:
    judge = Limited(_judge(url), base=0.0, concurrency=4)
    asks = (judge.complete(question(schema=schema, params={"seed": seed, "temperature": 1.0})) for seed in range(seeds))
    return await asyncio.gather(*asks)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


async def test_a_keyed_integer_schema_cannot_be_got_wrong(llama: str) -> None:
    for completion in await _ask_all(llama, 100, SCHEMA):
        scores = json.loads(completion.text)["scores"]
        assert list(scores) == list(KEYS)
        assert all(type(value) is int and 0 <= value <= 100 for value in scores.values())
        assert completion.finish_reason == "stop"
        assert completion.usage.output_tokens > 0


async def test_explanations_of_whole_characters_keep_the_answer_readable(llama: str) -> None:
    """Free strings let random weights write half a character, which this server answers with a 500."""
    text = {"type": "string", "pattern": "^[ !#-\\[\\]-~\u00a0-\uffff]{0,200}$"}
    schema = {
        "type": "object",
        "properties": {"explanations": keyed(text), "scores": SCHEMA["properties"]["scores"]},
        "required": ["explanations", "scores"],
        "additionalProperties": False,
    }
    for completion in await _ask_all(llama, 20, schema):
        assert set(json.loads(completion.text)) == {"explanations", "scores"}
        assert completion.attempts == 1


async def test_what_the_servers_own_parser_rejects_is_answered_in_plain_text(llama: str) -> None:
    """Free strings let random weights write half a character; under a fixed seed they would do so again and again."""
    schema = keyed({"type": "string"})
    judge = _judge(llama)
    asks = (judge.complete(question(schema=schema, params={"seed": seed, "temperature": 1.0})) for seed in range(10))
    answers = await asyncio.gather(*asks)
    garbled = [answer for answer in answers if not _is_json(answer.text)]
    assert garbled, "free strings no longer upset this server"
    assert judge.refused == frozenset(), "one garbled answer says nothing about the next question"


async def test_a_question_too_long_tells_both_sizes(llama: str) -> None:
    with pytest.raises(PermanentError, match=r"has \d+ tokens, .* context window of 4096") as caught:
        await _ask(llama, 1, text="Which of them is better? " * 2000)
    assert caught.value.kind == "context_window"


async def test_a_schema_it_cannot_read_steps_down_to_an_object(llama: str) -> None:
    judge = _judge(llama)
    request = question(schema={"type": "no such type"}, params={"seed": 3}, max_tokens=50)
    assert await judge.complete(request)
    assert judge.refused == {"json_schema"}


async def test_a_thinking_model_answers_apart_from_its_thoughts(tiny_model: Path) -> None:
    """How long random weights think is chance; each whole reply is a thought and then a verdict."""
    with llama_server(tiny_model, chat_template=tiny_gguf.THINKING_TEMPLATE) as url:
        asks = (_ask(url, seed, max_tokens=600) for seed in range(8))
        answers = [
            answer for answer in await asyncio.gather(*asks, return_exceptions=True) if isinstance(answer, Completion)
        ]
        cut = await _ask(url, 1, max_tokens=10)
        streaming = _judge(url, refused={"unstreamed"})
        asks = (streaming.complete(question(max_tokens=600, params={"seed": seed})) for seed in range(4))
        streamed = [one for one in await asyncio.gather(*asks, return_exceptions=True) if isinstance(one, Completion)]
    whole = [answer for answer in answers if answer.finish_reason == "stop"]
    assert whole
    assert all(answer.reasoning for answer in whole)
    assert all(answer.reasoning and answer.text for answer in streamed if answer.finish_reason == "stop")
    assert all(set(json.loads(answer.text)["scores"]) == set(KEYS) for answer in whole)
    assert (cut.text, cut.finish_reason) == ("", "length")
    assert cut.reasoning
