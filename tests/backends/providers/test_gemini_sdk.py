"""Field names are those of Google's own SDK: its types read our fixtures, and know what we send."""

from __future__ import annotations

import json
from typing import Any

import pytest

types = pytest.importorskip("google.genai.types", reason="Google's SDK is not installed (.ci/engines)")

from backends.asking import question  # noqa: E402 - once the SDK was looked for
from backends.providers.test_gemini import _logged  # noqa: E402 - likewise
from calipers.backends.providers.gemini import _BLOCKED, Gemini  # noqa: E402 - likewise
from servers.faulty_server import Answer, FaultyServer  # noqa: E402 - likewise
from servers.tongues import generated  # noqa: E402 - likewise


def _aliases(model: Any) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_our_fixtures_are_answers_of_the_sdk() -> None:
    body = generated({"text": "hm", "thought": True}, "7")
    body["candidates"][0]["logprobsResult"] = _logged("7")
    read = types.GenerateContentResponse.model_validate(body)
    assert read.candidates[0].content.parts[1].text == "7"
    assert read.usage_metadata.cached_content_token_count == 4
    assert read.candidates[0].logprobs_result.chosen_candidates[0].log_probability == -0.1
    assert set(body) <= _aliases(types.GenerateContentResponse)
    assert set(body["candidates"][0]) <= _aliases(types.Candidate)
    counts = ("prompt", "toolUsePrompt", "candidates", "thoughts", "cachedContent", "total")
    assert {f"{name}TokenCount" for name in counts} <= _aliases(types.GenerateContentResponseUsageMetadata)


def test_every_reason_to_block_is_one_of_the_sdk() -> None:
    assert {reason.value for reason in types.FinishReason} >= _BLOCKED


async def test_every_field_we_send_is_one_the_sdk_knows(faulty: FaultyServer) -> None:
    faulty.script(Answer(body=generated("{}")))
    params = {"temperature": 0, "top_p": 1, "top_k": 1, "seed": 1, "stop": ["."], "logprobs": True, "top_logprobs": 5}
    params |= {"presence_penalty": 0.1, "frequency_penalty": 0.1, "thinkingConfig": {"includeThoughts": True}}
    judge = Gemini("m", base_url=f"http://127.0.0.1:{faulty.port}", api_key="k", timeout=5)
    await judge.complete(question(params=params))
    config = faulty.posts[0]["generationConfig"]
    assert set(config) <= _aliases(types.GenerationConfig)
    assert set(config["thinkingConfig"]) <= _aliases(types.ThinkingConfig)
    assert types.Content.model_validate(json.loads(json.dumps(faulty.posts[0]["contents"][0]))).role == "user"
