"""Field names are those of OpenAI's own SDK: its types read our fixtures and what we send."""

from __future__ import annotations

import json
import typing
from dataclasses import replace
from pathlib import Path

import pytest

from backends.asking import KEYS, question, replied, require_fields
from calipers.backends.providers.decisions import LEVELS, OpenAIDecisions
from calipers.backends.providers.known import request_target
from calipers.backends.providers.openai_compatible import OpenAICompatible, read_chat_reply
from calipers.backends.transport.event_stream import whole_completion
from calipers.backends.transport.reply import Peer, finish_reason_of
from servers.faulty_server import Answer, FaultyServer, said

sdk = pytest.importorskip("openai", reason="OpenAI's SDK is not installed: pip install openai (.ci/engines)")

PEER = Peer("m", "K")
CHAT = Path(__file__).parents[2] / "fixtures" / "openai_chat.jsonl"
COMPLETION, *CHUNKS = [json.loads(line) for line in CHAT.read_text(encoding="utf-8").splitlines()]
"""A chat completion with every field that is read, and the chunks that a stream of it would have."""


def test_a_completion_of_the_sdk_is_read_field_by_field() -> None:
    known = sdk.types.chat.ChatCompletion.model_validate(COMPLETION, strict=True)
    completion = read_chat_reply(replied(known.model_dump(mode="json")), PEER)
    usage = completion.usage
    assert (completion.text, completion.model, completion.finish_reason) == ("7", "gpt", "stop")
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (9, 2, 4)
    assert completion.logprobs == ((0, (("7", -0.5),)),)


def test_every_finish_reason_of_the_sdk_is_known() -> None:
    choice = sdk.types.chat.chat_completion.Choice.model_fields["finish_reason"].annotation
    assert "unknown" not in {finish_reason_of(one) for one in typing.get_args(choice)}


def test_chunks_of_the_sdk_add_up_to_its_completion() -> None:
    known = [sdk.types.chat.ChatCompletionChunk.model_validate(chunk, strict=True) for chunk in CHUNKS]
    stream = "".join(f"data: {chunk.model_dump_json()}\n\n" for chunk in known) + "data: [DONE]\n\n"
    streamed = read_chat_reply(replied(whole_completion(stream.encode())), PEER)
    assert streamed == replace(read_chat_reply(replied(COMPLETION), PEER), sent=streamed.sent)


@pytest.mark.parametrize("known", [(), ("unstreamed",)])
async def test_every_field_of_a_chat_is_one_the_sdk_sends(faulty: FaultyServer, known: tuple[str, ...]) -> None:
    faulty.script(said())
    params = {"logprobs": True, "top_logprobs": 20, "temperature": 0, "seed": 1}
    await OpenAICompatible("m", base_url=faulty.url, refused=known).complete(question(params=params))
    kinds = sdk.types.chat.completion_create_params
    require_fields(
        faulty.posts[0], kinds.CompletionCreateParamsStreaming if known else kinds.CompletionCreateParamsNonStreaming
    )


async def test_every_field_of_a_decision_is_one_the_sdk_sends_and_its_answers_are_read(faulty: FaultyServer) -> None:
    usage = {
        "input_tokens": 9, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 10,
    }  # fmt: skip
    levels = [{"label": level, "probability": 0.1, "value": n} for n, level in enumerate(LEVELS)]
    answers = [
        {"type": "score", "name": KEYS[0], "score": 4.5, "confidence": 0.1, "probabilities": levels},
        {"type": "refusal", "name": KEYS[1]},
    ]
    known = sdk.types.Decision.model_validate({"model": "m", "answers": answers, "usage": usage}, strict=True)
    faulty.script(Answer(body=known.model_dump(mode="json")))
    completion = await OpenAIDecisions("m", base_url=faulty.url).complete(question(order=(0, 1)))
    require_fields(faulty.posts[0], sdk.types.DecisionCreateParams)
    assert json.loads(completion.text)["scores"] == {KEYS[0]: "50/100"}
    assert (completion.usage.input_tokens, completion.usage.cached_tokens) == (9, 4)


def test_judges_are_asked_where_the_sdk_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for value in ("https://gw.example/v1/", "https://gw.example/deep/"):
        monkeypatch.setenv("OPENAI_BASE_URL", value)
        assert request_target("openai").url == str(sdk.OpenAI().base_url).rstrip("/")
