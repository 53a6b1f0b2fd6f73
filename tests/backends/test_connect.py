"""Judge names to backends: what speaks there, where and with which key; what cannot work says what to write."""

from __future__ import annotations

import logging
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.backends import connect
from calipers.backends.connect import find_backend
from calipers.backends.providers.anthropic import Anthropic
from calipers.backends.providers.decisions import Decisions, OpenAIDecisions
from calipers.backends.providers.known import PROVIDERS, provider_of, request_target
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import ConfigError
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import FaultyServer, said


def test_every_provider_makes_a_backend_at_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS:
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


def test_an_argument_wins_over_the_environment_whose_variables_must_agree() -> None:
    both = {**KEYS, "OPENAI_BASE_URL": "https://first/v1/", "OPENAI_API_BASE": "https://second/v1"}
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL and OPENAI_API_BASE hold different addresses"):
        request_target("openai", environment=both)
    assert (
        url_of("openai", OPENAI_BASE_URL="https://first/v1/", OPENAI_API_BASE="https://first/v1") == "https://first/v1"
    )
    given = request_target("openai", base_url="https://given/v1", environment=both)
    assert (given.url, given.named_by) == ("https://given/v1", None)
    named = request_target("deepseek", environment={**KEYS, "DEEPSEEK_API_BASE": "https://gw/beta"})
    assert (named.url, named.named_by) == ("https://gw/beta", "DEEPSEEK_API_BASE")
    assert request_target("openai", api_key="given", environment=KEYS).key == "given"
    litellms = request_target(
        "vllm", environment={"HOSTED_VLLM_API_BASE": "http://gpu:9/v1", "HOSTED_VLLM_API_KEY": "k"}
    )
    assert (litellms.url, litellms.key, litellms.key_variable) == ("http://gpu:9/v1", "k", "HOSTED_VLLM_API_KEY")
    llamacpp = request_target("llamacpp", environment={"LLAMACPP_BASE_URL": "http://gpu:9/v1"})
    assert (llamacpp.url, llamacpp.named_by) == ("http://gpu:9/v1", "LLAMACPP_BASE_URL")


def test_what_cannot_be_an_address_is_told_with_the_variable_that_says_it() -> None:
    with pytest.raises(ConfigError, match=r"OPENAI_BASE_URL is 'gw:8000/v1', which does not begin with http://"):
        url_of("openai", OPENAI_BASE_URL="gw:8000/v1")
    for address in ("http://[::1", "http://h:99999999/v1", "http://h:x/v1", "http://user:hidden@[::1"):
        with pytest.raises(ConfigError, match="OLLAMA_BASE_URL") as refused:
            url_of("ollama", OLLAMA_BASE_URL=address)
        assert "hidden" not in str(refused.value)
    with pytest.raises(ConfigError, match=r"the base URL is ''.*leave it out"):
        request_target("openai", base_url="", api_key="k", environment={})  # as --base-url "$URL" without the variable


@given(st.sampled_from(sorted(PROVIDERS)), st.text(max_size=40))
def test_whatever_the_environment_says_is_an_address_or_one_sentence(name: str, value: str) -> None:
    variable = PROVIDERS[name].addresses[0]
    try:
        url = url_of(name, **{variable: value})
    except ConfigError:
        return
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
        (
            "WARNING",
            "openai/judge: trajectories and the key are sent to https://gw.example/v1, as OPENAI_BASE_URL says",
        ),
        ("INFO", "vllm/judge: requests go to http://localhost:8000/v1"),
    ]


def test_a_name_belongs_to_a_provider_or_to_none() -> None:
    assert provider_of("hosted_vllm/m") == "vllm"
    assert provider_of("bedrock/m") is None
    assert provider_of("openai") is None
