"""Where judges are asked: in the provider's place, unless the environment or an argument names another, and with
what.
"""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.backends import connect
from calipers.backends.connect import find_backend
from calipers.backends.providers.known import PROVIDERS, provider_of, request_target
from calipers.errors import ConfigError
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import FaultyServer, said

KEYS = {provider.key: "k" for provider in PROVIDERS.values()}
SERVERS = sorted(name for name, provider in PROVIDERS.items() if not provider.needs_key)


def url_of(name: str, **environment: str) -> str:
    return request_target(name, environment={**KEYS, **environment}).url


@pytest.mark.parametrize(("provider", "variable", "value", "url"), [
    ("openai", "OPENAI_BASE_URL", "https://gw/v1/", "https://gw/v1"),
    ("openai", "OPENAI_API_BASE", "https://gw/v1", "https://gw/v1"),
    ("openai_decisions", "OPENAI_BASE_URL", "https://gw/v1", "https://gw/v1"),
    ("anthropic", "ANTHROPIC_BASE_URL", "https://gw/claude", "https://gw/claude"),
    ("azure", "AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/", "https://mine.openai.azure.com"),
    ("azure", "AZURE_API_BASE", "https://mine.openai.azure.com", "https://mine.openai.azure.com"),
    ("gemini", "GOOGLE_GEMINI_BASE_URL", "https://gw", "https://gw/v1beta/openai"),
    ("gemini", "GOOGLE_GEMINI_BASE_URL", "https://gw/v1beta/", "https://gw/v1beta/openai"),
    ("gemini", "GEMINI_API_BASE", "https://gw/v1beta/openai", "https://gw/v1beta/openai"),
    ("groq", "GROQ_BASE_URL", "https://gw", "https://gw/openai/v1"),
    ("groq", "GROQ_API_BASE", "https://gw/openai/v1", "https://gw/openai/v1"),
    ("cerebras", "CEREBRAS_BASE_URL", "https://gw/c", "https://gw/c/v1"),
    ("together_ai", "TOGETHER_BASE_URL", "https://gw", "https://gw/v1"),
    ("fireworks_ai", "FIREWORKS_BASE_URL", "https://gw/inference", "https://gw/inference/v1"),
    ("dashscope", "DASHSCOPE_COMPATIBLE_BASE_URL", "https://gw/compatible-mode/v1", "https://gw/compatible-mode/v1"),
    ("dashscope", "DASHSCOPE_HTTP_BASE_URL", "https://intl/api/v1", "https://intl/compatible-mode/v1"),
    ("deepseek", "DEEPSEEK_API_BASE", "https://gw/beta", "https://gw/beta"),
    ("vllm", "HOSTED_VLLM_API_BASE", "http://gpu1:8000", "http://gpu1:8000/v1"),
    ("vllm", "VLLM_API_BASE", "http://gpu1:8000/openai/v1/", "http://gpu1:8000/openai/v1"),
    ("sglang", "SGLANG_BASE_URL", "http://gpu1:30000", "http://gpu1:30000/v1"),
    ("ollama", "OLLAMA_API_BASE", "http://gpu1:11434", "http://gpu1:11434/v1"),
    ("ollama", "OLLAMA_HOST", "gpu1", "http://gpu1:11434/v1"),
    ("ollama", "OLLAMA_HOST", "gpu1:8080", "http://gpu1:8080/v1"),
    ("ollama", "OLLAMA_HOST", "https://gpu1", "https://gpu1/v1"),
    ("ollama", "OLLAMA_HOST", "http://gpu1/ollama/", "http://gpu1/ollama/v1"),
    ("ollama", "OLLAMA_HOST", "[fd00::1]:7", "http://[fd00::1]:7/v1"),
    ("ollama", "OLLAMA_HOST", ":7", "http://127.0.0.1:7/v1"),
    ("ollama", "OLLAMA_HOST", "0.0.0.0:7", "http://127.0.0.1:7/v1"),
])  # fmt: skip
def test_the_environment_names_an_address_as_the_providers_own_sdk_reads_it(
    provider: str, variable: str, value: str, url: str
) -> None:
    asked = request_target(provider, environment={**KEYS, variable: value})
    assert (asked.url, asked.named_by) == (url, variable)


@pytest.mark.parametrize("value", ["0.0.0.0", "127.0.0.1:11434", "http://localhost:11434"])  # noqa: S104 - nothing is bound
def test_a_server_of_this_machine_keeps_its_one_name_in_ledgers(value: str) -> None:
    assert url_of("ollama", OLLAMA_HOST=value) == PROVIDERS["ollama"].base_url


def test_every_provider_has_a_variable_for_its_address_and_an_empty_one_is_none() -> None:
    for name, provider in PROVIDERS.items():
        assert provider.addresses, name
        for one in provider.addresses:
            assert url_of(name, **{one.variable: " "}) == provider.base_url
            assert provider.named_address({one.variable: "https://other/x/v1", "DASHSCOPE_WORKSPACE_ID": "w"}) or (
                one.variable == "DASHSCOPE_API_REGION"
            )


def test_dashscopes_regions_have_an_address_for_each_workspace() -> None:
    region = {"DASHSCOPE_API_REGION": "eu-central-1"}
    url = url_of("dashscope", **region, DASHSCOPE_WORKSPACE_ID="ws-1")
    assert url == "https://ws-1.eu-central-1.maas.aliyuncs.com/compatible-mode/v1"
    assert url_of("dashscope", DASHSCOPE_API_REGION="cn-beijing") == PROVIDERS["dashscope"].base_url
    for workspace in ("", "evil.example/", "a.b"):
        with pytest.raises(ConfigError, match="DASHSCOPE_WORKSPACE_ID names none"):
            url_of("dashscope", **region, DASHSCOPE_WORKSPACE_ID=workspace)


def test_an_argument_wins_over_the_environment_and_the_sdks_variable_over_litellms() -> None:
    both = {**KEYS, "OPENAI_BASE_URL": "https://first/v1", "OPENAI_API_BASE": "https://second/v1"}
    assert request_target("openai", environment=both).url == "https://first/v1"
    given = request_target("openai", base_url="https://given/v1", environment=both)
    assert (given.url, given.named_by) == ("https://given/v1", None)


@pytest.mark.parametrize(("provider", "variable"), [
    ("azure", "AZURE_OPENAI_API_KEY"), ("gemini", "GOOGLE_API_KEY"), ("fireworks_ai", "FIREWORKS_API_KEY"),
    ("together_ai", "TOGETHERAI_API_KEY"), ("vllm", "HOSTED_VLLM_API_KEY"),
])  # fmt: skip
def test_a_key_may_be_under_its_other_names_and_the_first_one_wins(provider: str, variable: str) -> None:
    assert request_target(provider, environment={variable: "other"}).key == "other"
    assert request_target(provider, environment={variable: "other", PROVIDERS[provider].key: "own"}).key == "own"
    assert request_target(provider, api_key="given", environment={variable: "other"}).key == "given"


@pytest.mark.parametrize(("provider", "variable"), [
    ("anthropic", "ANTHROPIC_AUTH_TOKEN"), ("azure", "AZURE_OPENAI_AD_TOKEN"), ("azure", "AZURE_AD_TOKEN"),
])  # fmt: skip
def test_a_token_stands_in_for_a_key_and_only_where_there_is_none(provider: str, variable: str) -> None:
    alone = request_target(provider, environment={variable: "t0ken"})
    assert (alone.key, dict(alone.headers)) == (None, {"authorization": "Bearer t0ken"})
    assert "authorization" not in dict(request_target(provider, environment={variable: "t", **KEYS}).headers)
    assert "authorization" not in dict(request_target(provider, api_key="given", environment={variable: "t"}).headers)


def test_headers_of_the_environment_go_where_it_or_the_provider_says_and_nowhere_else() -> None:
    said = {
        **KEYS,
        "OPENAI_ORG_ID": "org-1",
        "OPENAI_PROJECT_ID": "p-1",
        "OPENAI_CUSTOM_HEADERS": "X-Team: blue\nno colon",
    }
    sent = {"openai-organization": "org-1", "openai-project": "p-1", "x-team": "blue"}
    assert dict(request_target("openai", environment=said).headers) == sent
    assert dict(request_target("openai", environment={**said, "OPENAI_BASE_URL": "https://gw/v1"}).headers) == sent
    assert not request_target("openai", base_url="http://elsewhere/v1", environment=said).headers
    assert not request_target("groq", environment=said).headers


def test_what_cannot_be_an_address_is_told_with_the_variable_that_says_it() -> None:
    with pytest.raises(ConfigError, match=r"OPENAI_BASE_URL says 'gw:8000/v1', which does not begin with http://"):
        url_of("openai", OPENAI_BASE_URL="gw:8000/v1")
    with pytest.raises(ConfigError, match="OLLAMA_HOST='gpu1:many' is no address"):
        url_of("ollama", OLLAMA_HOST="gpu1:many")


def test_an_empty_address_sends_nothing_to_the_usual_one() -> None:
    """As ``--base-url "$URL"`` without that variable."""
    with pytest.raises(ConfigError, match=r"the base URL '' does not begin with http.*leave it out if none is meant"):
        request_target("openai", base_url="", api_key="k", environment={})


@given(st.sampled_from(sorted(PROVIDERS)), st.text(max_size=40), st.text(max_size=8))
def test_whatever_the_environment_says_is_an_address_or_one_sentence(name: str, value: str, workspace: str) -> None:
    for one in PROVIDERS[name].addresses:
        try:
            url = url_of(name, **{one.variable: value, "DASHSCOPE_WORKSPACE_ID": workspace})
        except ConfigError:
            continue
        assert url.startswith(("http://", "https://"))


# --- and so it is everywhere ----------------------------------------------------------------------------------------


def served(server: FaultyServer) -> None:
    server.script(lambda asked: said(verdict(asked)))


def asked_openai(monkeypatch: pytest.MonkeyPatch, server: FaultyServer) -> None:
    served(server)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")


async def test_score_group_and_a_judge_ask_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, faulty: FaultyServer
) -> None:
    asked_openai(monkeypatch, faulty)
    group = group_of(FOUR)
    assert (await calipers.score_group(group, judge="openai/judge")).status == "scored"
    assert (await calipers.Judge("openai/judge").score_group(group)).status == "scored"
    assert [one.headers["authorization"] for one in faulty.asked] == ["Bearer sk-mine"] * 2
    assert [one.headers["openai-organization"] for one in faulty.asked] == ["org-1"] * 2


async def test_an_environment_that_changes_is_another_judge(
    monkeypatch: pytest.MonkeyPatch, faulty: FaultyServer
) -> None:
    asked_openai(monkeypatch, faulty)
    group = group_of(FOUR)
    await calipers.score_group(group, judge="openai/judge")
    with FaultyServer() as other:
        served(other)
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        await calipers.score_group(group, judge="openai/judge")
        assert (len(faulty.posts), len(other.posts)) == (1, 1)


@pytest.mark.parametrize("judge", ["vllm/judge", "ollama/judge", "hosted_vllm/judge", "ollama_chat/judge"])
async def test_servers_of_ones_own_are_asked_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, faulty: FaultyServer, judge: str
) -> None:
    served(faulty)
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{faulty.port}")
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", f"http://127.0.0.1:{faulty.port}")
    assert (await calipers.Judge(judge).score_group(group_of(FOUR))).status == "scored"
    assert faulty.asked[0].path == "/v1/chat/completions"


@pytest.mark.parametrize(("judge", "variables", "header", "value"), [
    ("anthropic/m", {"ANTHROPIC_AUTH_TOKEN": "t0ken"}, "authorization", "Bearer t0ken"),
    ("anthropic/m", {"ANTHROPIC_API_KEY": "k3y", "ANTHROPIC_AUTH_TOKEN": "t0ken"}, "x-api-key", "k3y"),
    ("anthropic/m", {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue"}, "x-team", "blue"),
    ("openai_decisions/m", {"OPENAI_API_KEY": "k", "OPENAI_ORG_ID": "org-1"}, "openai-organization", "org-1"),
])  # fmt: skip
def test_what_the_environment_says_reaches_every_kind_of_backend(
    monkeypatch: pytest.MonkeyPatch, judge: str, variables: dict[str, str], header: str, value: str
) -> None:
    for name, said_there in variables.items():
        monkeypatch.setenv(name, said_there)
    backend = find_backend(judge)
    assert backend._http()._headers[header] == value  # type: ignore[attr-defined]  # what every request carries


def test_where_questions_go_is_in_the_log_once_and_loud_where_the_environment_decides(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connect._log_address.cache_clear()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://user:hunter2@gw.example/v1")
    with caplog.at_level(logging.INFO, "calipers"):
        for _ in range(2):
            calipers.Judge("openai/judge")
        calipers.Judge("vllm/judge")
    told = [(one.levelname, one.getMessage()) for one in caplog.records]
    assert told == [
        ("WARNING", "openai/judge is asked at https://gw.example/v1, as OPENAI_BASE_URL says"),
        ("INFO", "vllm/judge is asked at http://localhost:8000/v1"),
    ]


def test_a_name_belongs_to_a_provider_or_to_none() -> None:
    assert provider_of("hosted_vllm/m") == "vllm"
    assert provider_of("bedrock/m") is None
    assert provider_of("openai") is None
