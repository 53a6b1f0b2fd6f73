"""LiteLLM, where it is installed, against a loopback server."""

from __future__ import annotations

import pytest

pytest.importorskip("litellm", reason="LiteLLM is not installed: pip install 'calipers[litellm]'")

from backends.asking import question
from calipers.backends.connect import find_backend
from calipers.backends.providers.litellm import LiteLLM
from calipers.errors import BackendError, ConfigError, PermanentError
from servers.faulty_server import Answer, FaultyServer, error, said

# Its own warnings (pydantic's, mostly) are none of ours.
pytestmark = pytest.mark.filterwarnings("default")


def _judge(server: FaultyServer) -> LiteLLM:
    judge = find_backend(
        "litellm/custom_openai/m", base_url=server.url, api_key="k3y-of-mine", timeout=5.0, headers={"X-Team": "blue"}
    )
    assert isinstance(judge, LiteLLM)
    return judge


async def _failure(server: FaultyServer) -> BackendError:
    with pytest.raises(BackendError) as caught:
        await _judge(server).complete(question())
    return caught.value


async def test_a_question_goes_out_through_it_and_its_answer_comes_back(faulty: FaultyServer) -> None:
    completion = await _judge(faulty).complete(question(params={"temperature": 0.5}))
    assert (completion.text, completion.finish_reason) == ('{"scores": {}}', "stop")
    assert (completion.model or "").endswith("served-model")
    assert (completion.usage.input_tokens, completion.usage.cached_tokens) == (10, 4)
    body = faulty.posts[0]
    assert body["response_format"]["type"] == "json_schema"
    assert (body["temperature"], body["max_tokens"]) == (0.5, 2000)
    sent = faulty.asked[0].headers
    assert (sent["authorization"], sent["x-team"]) == ("Bearer k3y-of-mine", "blue")


FAILURES = (
    (error(401, "bad key k3y-of-mine"), "unauthorized"),
    (error(404, "The model `m` does not exist"), "not_found"),
    (error(429, "slow down"), "rate_limited"),
    (error(500, "died"), "server"),
    (error(400, "This model's maximum context length is 10 tokens", code="context_length_exceeded"), "context_window"),
    (error(400, "odd"), "bad_request"),
    (said(""), "bad_reply"),
    (Answer(reset=True), "server"),
)


async def test_every_failure_is_one_of_ours_and_shows_no_key(faulty: FaultyServer) -> None:
    for place, (answer, kind) in enumerate(FAILURES):
        faulty.script(answer)
        failure = await _failure(faulty)
        assert failure.kind == kind
        assert "k3y-of-mine" not in str(failure)
        assert len(faulty.posts) == place + 1, "LiteLLM must not try again by itself"
    faulty.script(error(429, "You exceeded your current quota", code="insufficient_quota"))
    failure = await _failure(faulty)
    assert isinstance(failure, PermanentError)
    assert failure.fatal


async def test_what_is_refused_by_name_is_left_out(faulty: FaultyServer) -> None:
    faulty.script(error(400, "This response_format type is unavailable now"), said())
    judge = _judge(faulty)
    await judge.complete(question())
    assert judge.learned()["refused"] == ["json_schema"]
    other = _judge(faulty)
    other.learn(judge.learned())
    await other.complete(question())
    assert faulty.posts[-1]["response_format"] == {"type": "json_object"}


def test_a_provider_nobody_knows_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="neither calipers nor LiteLLM knows it"):
        find_backend("nobody/model")
