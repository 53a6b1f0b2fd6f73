"""Judge names to backends: what speaks there, where and with which key; what cannot work says what to write."""

from __future__ import annotations

import logging
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from backends.asking import question
from calipers.backends import connect
from calipers.backends.connect import find_backend
from calipers.backends.providers.anthropic import Anthropic
from calipers.backends.providers.decisions import Decisions, OpenAIDecisions
from calipers.backends.providers.known import PROVIDERS, provider_of, request_target
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import ConfigError
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import Answer, FaultyServer, error, said


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
def test_the_absence_of_litellm_is_one_sentence_with_the_command() -> None:
    for name in ("bedrock/anthropic.claude", "litellm/openai/gpt", "vertex_ai/gemini"):
        with pytest.raises(ConfigError, match=r"pip install 'calipers\[litellm\]'"):
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


# --- where judges are asked, and with what ---

KEYS = {provider.key: "k" for provider in PROVIDERS.values()}


def url_of(name: str, **environment: str) -> str:
    return request_target(name, environment={**KEYS, **environment}).url


ADDRESSES = [
    ("openai", "OPENAI_BASE_URL", "https://gw/v1/", "https://gw/v1"),
    ("openai", "OPENAI_API_BASE", "https://user:pw@gw", "https://user:pw@gw/v1"),
    ("anthropic", "ANTHROPIC_BASE_URL", "https://gw/claude", "https://gw/claude"),
    ("azure", "AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/", "https://mine.openai.azure.com"),
    ("azure", "AZURE_API_BASE", "https://mine.openai.azure.com?api-version=1",
     "https://mine.openai.azure.com?api-version=1"),
    ("gemini", "GOOGLE_GEMINI_BASE_URL", "https://gw", "https://gw/v1beta/openai"),
    ("groq", "GROQ_BASE_URL", "https://gw", "https://gw/openai/v1"),
    ("deepseek", "DEEPSEEK_API_BASE", "https://gw/beta", "https://gw/beta"),
    ("vllm", "HOSTED_VLLM_API_BASE", "http://gpu1:8000", "http://gpu1:8000/v1"),
    ("vllm", "VLLM_API_BASE", "http://gpu1:8000/openai/v1/", "http://gpu1:8000/openai/v1"),
    ("ollama", "OLLAMA_HOST", "gpu1", "http://gpu1:11434/v1"),
    ("ollama", "OLLAMA_HOST", "gpu1:8080", "http://gpu1:8080/v1"),
    ("ollama", "OLLAMA_HOST", "https://gpu1", "https://gpu1/v1"),
    ("ollama", "OLLAMA_HOST", "[fd00::1]:7", "http://[fd00::1]:7/v1"),
    ("ollama", "OLLAMA_HOST", ":7", "http://localhost:7/v1"),
    ("ollama", "OLLAMA_HOST", "0.0.0.0:7", "http://localhost:7/v1"),
    ("ollama", "OLLAMA_HOST", "http://0.0.0.0:11434", "http://localhost:11434/v1"),
]  # fmt: skip


def test_the_environment_names_an_address_and_may_leave_out_what_is_usual() -> None:
    wrong = []
    for provider, variable, value, url in ADDRESSES:
        asked = request_target(provider, environment={**KEYS, variable: value})
        if (asked.url, asked.named_by) != (url, variable):
            wrong.append((provider, value, asked.url, asked.named_by))
    assert wrong == []


def test_an_argument_wins_over_the_environment_and_the_sdks_variable_over_litellms() -> None:
    both = {**KEYS, "OPENAI_BASE_URL": "https://first/v1", "OPENAI_API_BASE": "https://second/v1"}
    assert request_target("openai", environment=both).url == "https://first/v1"
    given = request_target("openai", base_url="https://given/v1", environment=both)
    assert (given.url, given.named_by) == ("https://given/v1", None)


def test_a_key_may_be_under_its_other_names_and_the_first_one_wins() -> None:
    for provider, variable in {
        "azure": "AZURE_OPENAI_API_KEY", "gemini": "GOOGLE_API_KEY", "fireworks_ai": "FIREWORKS_API_KEY",
        "together_ai": "TOGETHERAI_API_KEY", "vllm": "HOSTED_VLLM_API_KEY",
    }.items():  # fmt: skip
        assert request_target(provider, environment={variable: "other"}).key == "other"
        assert request_target(provider, environment={variable: "other", PROVIDERS[provider].key: "own"}).key == "own"
        assert request_target(provider, api_key="given", environment={variable: "other"}).key == "given"


def test_a_token_stands_in_for_a_key_and_only_where_there_is_none() -> None:
    for provider, variable in {"anthropic": "ANTHROPIC_AUTH_TOKEN", "azure": "AZURE_OPENAI_AD_TOKEN"}.items():
        alone = request_target(provider, environment={variable: "t0ken"})
        assert (alone.key, dict(alone.headers)) == (None, {"authorization": "Bearer t0ken"})
        assert not request_target(provider, environment={variable: "t", **KEYS}).headers
        assert not request_target(provider, api_key="given", environment={variable: "t"}).headers


def test_what_cannot_be_an_address_is_told_with_the_variable_that_says_it() -> None:
    with pytest.raises(ConfigError, match=r"OPENAI_BASE_URL says 'gw:8000/v1', which does not begin with http://"):
        url_of("openai", OPENAI_BASE_URL="gw:8000/v1")
    with pytest.raises(ConfigError, match="OLLAMA_HOST='gpu1:many' is no address"):
        url_of("ollama", OLLAMA_HOST="gpu1:many")
    with pytest.raises(ConfigError, match=r"the base URL '' does not begin with http.*leave it out if none is meant"):
        request_target("openai", base_url="", api_key="k", environment={})  # as --base-url "$URL" without the variable


@given(st.sampled_from(sorted(PROVIDERS)), st.text(max_size=40))
def test_whatever_the_environment_says_is_an_address_or_one_sentence(name: str, value: str) -> None:
    for variable in PROVIDERS[name].addresses:
        try:
            url = url_of(name, **{variable: value})
        except ConfigError:
            continue
        assert url.startswith(("http://", "https://"))


# --- and so it is everywhere ----------------------------------------------------------------------------------------


async def test_score_group_and_a_judge_ask_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, faulty: FaultyServer
) -> None:
    faulty.script(lambda asked: said(verdict(asked)))
    monkeypatch.setenv("OPENAI_BASE_URL", faulty.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    group = group_of(FOUR)
    assert (await calipers.score_group(group, judge="openai/judge")).status == "scored"
    assert (await calipers.Judge("openai/judge").score_group(group)).status == "scored"
    assert [one.headers["authorization"] for one in faulty.asked] == ["Bearer sk-mine"] * 2


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


# --- Azure's deployments ---------------------------------------------------------------------------------------------


async def test_an_azure_resource_is_asked_at_its_v1_api_or_at_the_deployment(faulty: FaultyServer) -> None:
    for given_path, asked_path in {
        "": "/openai/v1/chat/completions",
        "/": "/openai/v1/chat/completions",
        "?api-version=2024-10-21": "/openai/deployments/my%20judge/chat/completions?api-version=2024-10-21",
        "/apim/route": "/apim/route/chat/completions",
    }.items():
        url = f"http://127.0.0.1:{faulty.port}{given_path}"
        await find_backend("azure/my judge", base_url=url, api_key="k").complete(question())
        request = faulty.asked[-1]
        assert (request.path, request.headers["api-key"]) == (asked_path, "k")
        assert "authorization" not in request.headers
        assert request.body["model"] == "my judge"


async def test_deployments_are_not_looked_for_among_the_models_but_the_key_is_tried(
    faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "k")
    with pytest.raises(ConfigError, match="AZURE_API_BASE"):
        find_backend("azure/judge")
    monkeypatch.setenv("AZURE_API_BASE", f"http://127.0.0.1:{faulty.port}")
    judge = find_backend("azure/judge")
    faulty.get["/openai/v1/models"] = Answer(body={"data": [{"id": "gpt-5"}]})
    assert list(await judge.check()) == []
    faulty.get["/openai/v1/models"] = error(401)
    with pytest.raises(ConfigError, match="AZURE_API_KEY"):
        await judge.check()
