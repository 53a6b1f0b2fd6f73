"""RULER's way of naming a judge: what each LiteLLM parameter becomes, which are refused, and what is shared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from art_judges import ContentJudge
from calipers import Judge
from calipers.errors import ConfigError
from calipers.trainers.art import ruler
from calipers.trainers.art.judge import judge_for
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

PAIR = [[{"role": "user", "content": "q"}, {"role": "assistant", "content": text}] for text in ("worth 80", "worth 20")]


def evenly(asked: Asked) -> Answer:
    """A verdict of 50 for every attempt the question names."""
    keys = re.findall(r'"(\w+)": \.\.\.', asked.body["messages"][-1]["content"])
    return said(json.dumps({"explanations": dict.fromkeys(keys, "so so"), "scores": dict.fromkeys(keys, 50)}))


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OLLAMA_API_BASE", "OLLAMA_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer() as running:
        running.script(evenly)
        yield running


@pytest.mark.parametrize("name", ["api_base", "base_url"])
async def test_either_name_of_the_address_and_the_key_reach_the_server(server: FaultyServer, name: str) -> None:
    scores = await ruler(PAIR, "openai/judge", {name: server.url, "api_key": "sk-test"})
    assert [one.score for one in scores] == [0.5, 0.5]
    assert server.asked[0].headers["authorization"] == "Bearer sk-test"
    assert server.posts[0]["model"] == "judge"


@pytest.mark.parametrize("provider", ["ollama", "ollama_chat"])
async def test_ollamas_address_may_lack_the_path_as_litellm_has_it(server: FaultyServer, provider: str) -> None:
    await ruler(PAIR, f"{provider}/qwen3", {"api_base": server.url.removesuffix("/v1")})
    assert server.asked[0].path == "/v1/chat/completions"


async def test_known_body_parameters_unknown_ones_and_extra_body_are_sent_as_they_are(server: FaultyServer) -> None:
    sent = {"temperature": 0.3, "top_p": 0.9, "seed": 7, "repetition_penalty": 1.1, "reasoning_effort": "low"}
    extra = {"api_base": server.url, **sent, "extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}
    await ruler(PAIR, "vllm/judge", extra)
    assert sent.items() <= server.posts[0].items()
    assert server.posts[0]["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_both_names_of_the_reply_limit_bound_the_reply(server: FaultyServer, name: str) -> None:
    await ruler(PAIR, "vllm/judge", {"api_base": server.url, name: 321})
    assert server.posts[0]["max_tokens"] == 321


@pytest.mark.parametrize(("retries", "asked"), [(0, 1), (1, 2)])
async def test_num_retries_counts_tries_after_the_first(server: FaultyServer, retries: int, asked: int) -> None:
    server.script(error(500, headers={"Retry-After": "0"}))
    with pytest.raises(Exception, match="unscored"):
        await ruler(PAIR, "vllm/judge", {"api_base": server.url, "num_retries": retries})
    assert len(server.posts) == asked


async def test_moot_parameters_and_unset_ones_are_accepted(server: FaultyServer) -> None:
    extra = {"api_base": server.url, "caching": True, "drop_params": True, "stream": False, "n": 1, "api_key": None}
    await ruler(PAIR, "vllm/judge", extra)
    assert not {"caching", "drop_params", "stream", "n"} & server.posts[0].keys()


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ({"response_format": {"type": "json_object"}}, "response_format.*parse_response"),
        ({"stream": True}, "'stream' is not read"),
        ({"messages": [{}]}, "'messages' is not read"),
        ({"n": 2}, "'n' is not read"),
        ({"extra_headers": {"a": "b"}}, "Backend"),
        ({"mock_response": "hi"}, "LiteLLM"),
        ({"vertex_project": "p"}, "LiteLLM"),
        ({"timeout": "soon"}, "timeout='soon'"),
        ({"num_retries": -1}, "num_retries=-1"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"max_tokens": 1, "max_completion_tokens": 2}, "twice"),
        ({"api_base": 5}, "base_url=5"),
        ({"extra_body": "x"}, "extra_body is a str"),
        ({"stop": object()}, "cannot be sent as JSON"),
        (["temperature"], "must be a dict"),
    ],
)
async def test_what_cannot_work_is_one_clear_sentence_before_anything_is_sent(extra: object, says: str) -> None:
    judge = ContentJudge()
    with pytest.raises(ConfigError, match=says):
        await ruler(PAIR, judge, extra)  # type: ignore[arg-type]  # wrong on purpose
    assert not judge.asked


@pytest.mark.parametrize("name", ["o3", "nobody/model", "openai/o3", ""])
async def test_a_judge_that_cannot_be_asked_is_a_config_error(name: str) -> None:
    with pytest.raises(ConfigError):
        await ruler(PAIR, name)


async def test_transport_settings_for_a_backend_object_are_refused() -> None:
    with pytest.raises(ConfigError, match="base_url, timeout: set this on the Backend"):
        await ruler(PAIR, ContentJudge(), {"api_base": "http://x/v1", "timeout": 3})


@pytest.mark.parametrize("options", [{"extra": {"temperature": 0}}, {"debug": True}, {"parse": len}])
def test_settings_for_a_judge_that_is_set_up_already_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="which has its own settings"):
        judge_for(Judge(ContentJudge()), **options)  # type: ignore[arg-type]  # one option at a time


def test_equal_arguments_share_one_judge_and_other_arguments_have_their_own() -> None:
    extra = {"api_base": "http://localhost:1/v1", "temperature": 0.5}
    one = judge_for("vllm/judge", extra)
    assert judge_for("vllm/judge", dict(reversed(extra.items()))) is one
    assert judge_for("vllm/judge", {**extra, "temperature": 0.6}) is not one
    assert judge_for("vllm/other", extra) is not one


async def test_readers_and_rubrics_made_anew_for_each_call_still_share_one_limit() -> None:
    judge = ContentJudge()
    for number in range(3):
        extra = {"max_parallel_requests": 2}
        seen: list[str] = []
        scores = await ruler(
            PAIR,
            judge,
            extra,
            rubric=f"rubric {number}",
            parse_response=lambda text, keys, seen=seen: seen.append(text) or dict.fromkeys(keys, 10),  # type: ignore[misc]  # a default binds it
        )
        assert [one.score for one in scores] == [0.1, 0.1]
        assert seen
    parses = [judge_for(judge, {"max_parallel_requests": 2}, parse=parse) for parse in (len, max)]  # type: ignore[arg-type]
    assert parses[0] is not parses[1]
    assert parses[0]._judges[0].backend is parses[1]._judges[0].backend
