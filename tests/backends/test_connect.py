"""Judge names to backends; nothing is contacted, and what cannot work says what to write."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

import calipers
from calipers.backends.connect import find_backend
from calipers.backends.providers.anthropic import Anthropic
from calipers.backends.providers.decisions import Decisions, OpenAIDecisions
from calipers.backends.providers.known import PROVIDERS
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import ConfigError
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import FaultyServer, said


def test_every_provider_makes_a_backend_at_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in set(PROVIDERS) - {"azure"}:
        monkeypatch.setenv(PROVIDERS[provider].key, "k")
        backend = find_backend(f"{provider}/vendor/model:tag")
        assert backend.model == "vendor/model:tag"
        assert backend.endpoint.startswith(PROVIDERS[provider].base_url)


def test_a_name_finds_what_speaks_there() -> None:
    for name, kind in {
        "anthropic/m": Anthropic, "systemone/m": Decisions, "openai_decisions/m": OpenAIDecisions,
        "ollama_chat/m": OpenAICompatible, "hosted_vllm/m": OpenAICompatible,
    }.items():  # fmt: skip
        assert type(find_backend(name, base_url="http://localhost:1/v1", api_key="k")) is kind


def test_a_name_that_cannot_work_is_answered_with_what_to_write() -> None:
    for name, complaint in {
        "anthropic/claude": "ANTHROPIC_API_KEY is not set",
        "gpt-5-mini": "as in openai/gpt-5-mini, or vllm/gpt-5-mini for a server of your own",
        "qwen3:32b": "as in openai/gpt-5-mini, or vllm/qwen3:32b for a server of your own",
        "openai/": "as in openai/gpt-5-mini, or vllm/qwen3-32b for a server of your own",
        "": "as in openai/gpt-5-mini, or vllm/qwen3-32b for a server of your own",
        "ollama:qwen3": "did you mean ollama/qwen3",
        "embeded": "did you mean embedded",
        "http://localhost:8000/v1": "is an address",
    }.items():
        with pytest.raises(ConfigError, match=complaint):
            find_backend(name)


@pytest.mark.skipif(find_spec("litellm") is not None, reason="LiteLLM is installed here")
def test_the_absence_of_litellm_is_one_sentence_with_the_command_and_the_warning() -> None:
    for name in ("bedrock/anthropic.claude", "litellm/openai/gpt", "vertex_ai/gemini"):
        with pytest.raises(ConfigError, match=r"pip install 'calipers\[litellm\]'.*1\.82\.7 and 1\.82\.8"):
            find_backend(name)


async def test_headers_of_the_caller_go_with_every_request_and_are_shown_nowhere(faulty: FaultyServer) -> None:
    faulty.script(lambda asked: said(verdict(asked)))
    header = {"X-Team": "unguessable-blue-team"}
    judge = calipers.Judge("vllm/m", base_url=faulty.url, calls={"headers": header})
    assert (await judge.score_group(group_of(FOUR))).status == "scored"
    assert faulty.asked[-1].headers["x-team"] == "unguessable-blue-team"
    assert "unguessable" not in repr(judge) + repr(judge.settings)
    panel = calipers.Judge(
        [f"vllm/a@{faulty.url}", "vllm/b@http://127.0.0.1:9/v1"], calls={"headers": {f"vllm/a@{faulty.url}": header}}
    )
    sent = [one.bare._http()._headers.get("x-team") for one in panel._judges]  # type: ignore[attr-defined]
    assert sent == ["unguessable-blue-team", None]
    for wrong in ({"X-Team": 7}, "X-Team=search", {"a": {"x": "y"}, "b": "c"}):
        with pytest.raises(calipers.ConfigError, match="headers"):
            calipers.Judge("vllm/m", calls={"headers": wrong})
    with pytest.raises(calipers.ConfigError, match="headers"):
        calipers.Judge("embedded", calls={"headers": header})
