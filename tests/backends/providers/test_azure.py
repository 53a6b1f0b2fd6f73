"""Where Azure's deployments are asked."""

from __future__ import annotations

import pytest

from backends.asking import question
from calipers.backends.connect import find_backend
from calipers.backends.providers.azure import azure_openai
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import ConfigError
from servers.faulty_server import Answer, FaultyServer, error


def _judge(url: str, key: str | None = "k") -> OpenAICompatible:
    return azure_openai("my judge", base_url=url, api_key=key, timeout=5, api_key_env="AZURE_API_KEY")


@pytest.mark.parametrize(
    ("given", "variable", "asked"),
    [
        ("", None, "/openai/v1/chat/completions"),
        ("/", None, "/openai/v1/chat/completions"),
        ("?api-version=2024-10-21", None, "/openai/deployments/my%20judge/chat/completions?api-version=2024-10-21"),
        ("", "2025-01-01-preview", "/openai/deployments/my%20judge/chat/completions?api-version=2025-01-01-preview"),
        ("/openai/v1", None, "/openai/v1/chat/completions"),
        ("/apim/route", "2025-01-01", "/apim/route/chat/completions?api-version=2025-01-01"),
    ],
)
async def test_a_resource_is_asked_at_its_deployment_or_by_its_v1_api(
    faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch, given: str, variable: str | None, asked: str
) -> None:
    if variable is None:
        monkeypatch.delenv("AZURE_API_VERSION", raising=False)
    else:
        monkeypatch.setenv("AZURE_API_VERSION", variable)
    await _judge(f"http://127.0.0.1:{faulty.port}{given}").complete(question())
    request = faulty.asked[0]
    assert request.path == asked
    assert request.headers["api-key"] == "k"
    assert "authorization" not in request.headers
    assert request.body["model"] == "my judge"


async def test_deployments_are_not_looked_for_among_the_models_but_the_key_is_tried(faulty: FaultyServer) -> None:
    judge = _judge(f"http://127.0.0.1:{faulty.port}")
    faulty.get["/openai/v1/models"] = Answer(body={"data": [{"id": "gpt-5"}]})
    assert await judge.check() == []
    faulty.get["/openai/v1/models"] = error(401)
    with pytest.raises(ConfigError, match="AZURE_API_KEY"):
        await judge.check()


def test_a_name_without_an_address_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "k")
    monkeypatch.delenv("AZURE_API_BASE", raising=False)
    monkeypatch.delenv("AZURE_API_VERSION", raising=False)
    with pytest.raises(ConfigError, match="AZURE_API_BASE"):
        find_backend("azure/judge")
    monkeypatch.setenv("AZURE_API_BASE", "https://mine.openai.azure.com")
    assert find_backend("azure/judge").endpoint == "https://mine.openai.azure.com/openai/v1"
