"""Judge names to backends; nothing is contacted, and what cannot work says what to write."""

from __future__ import annotations

import pytest

from calipers.backends.connect import find_backend
from calipers.backends.providers.anthropic import Anthropic
from calipers.backends.providers.decisions import Decisions
from calipers.backends.providers.known import PROVIDERS
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import ConfigError


@pytest.mark.parametrize("provider", sorted(set(PROVIDERS) - {"azure"}))
def test_every_provider_makes_a_backend_at_its_address(monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    monkeypatch.setenv(PROVIDERS[provider].key, "k")
    backend = find_backend(f"{provider}/vendor/model:tag")
    assert backend.model == "vendor/model:tag"
    assert backend.endpoint.startswith(PROVIDERS[provider].base_url)


@pytest.mark.parametrize(("name", "kind"), [
    ("anthropic/m", Anthropic), ("systemone/m", Decisions), ("openai_decisions/m", Decisions),
    ("typesafe/m", Decisions),
    ("ollama_chat/m", OpenAICompatible), ("hosted_vllm/m", OpenAICompatible),
])  # fmt: skip
def test_a_name_finds_what_speaks_there(name: str, kind: type) -> None:
    assert type(find_backend(name, base_url="http://localhost:1/v1", api_key="k")) is kind


def test_an_endpoint_that_both_chats_and_decides_is_two_in_a_ledger() -> None:
    url = "https://api.openai.com/v1"
    names = ("openai/m", "openai_decisions/m")
    assert len({find_backend(name, base_url=url, api_key="k").endpoint for name in names}) == 2


def test_a_key_that_is_missing_is_named_before_anything_is_sent() -> None:
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY is not set"):
        find_backend("anthropic/claude")


def test_a_bare_model_name_is_answered_with_the_usual_provider() -> None:
    with pytest.raises(ConfigError, match="anthropic/claude-opus"):
        find_backend("claude-opus")


@pytest.mark.parametrize(("name", "complaint"), [
    ("gpt-5-mini", "as in openai/gpt-5-mini, or vllm/gpt-5-mini for a server of your own"),
    ("qwen3:32b", "as in ollama/qwen3:32b, or vllm/qwen3:32b for a server of your own"),
    ("openai/", "as in openai/gpt-5-mini, or vllm/qwen3-32b for a server of your own"),
    ("", "as in openai/gpt-5-mini, or vllm/qwen3-32b for a server of your own"),
])  # fmt: skip
def test_a_name_without_its_provider_is_told_two_ways_to_write_it(name: str, complaint: str):
    with pytest.raises(ConfigError, match=complaint):
        find_backend(name)
