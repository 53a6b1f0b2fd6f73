"""The chat backend against a server that fails on demand: what goes out, what is learned, what is raised."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from backends.asking import SCHEMA, question
from calipers.backends.providers.openai_compatible import _NEWER_NAMES, OpenAICompatible
from calipers.errors import BackendError, ConfigError, PermanentError
from calipers.types.encoding import EncodedDict
from servers.faulty_server import Answer, Asked, FaultyServer, Reply, error, said

KEY = "sk-test-0123456789abcdef"


def _judge(server: FaultyServer, **options: Any) -> OpenAICompatible:
    settings: dict[str, Any] = {"api_key": KEY, "timeout": 5.0, **options}
    return OpenAICompatible("m", base_url=server.url, **settings)


async def _failure(server: FaultyServer, **options: Any) -> BackendError:
    with pytest.raises(BackendError) as caught:
        await _judge(server, **options).complete(question(params={"temperature": 0.0}))
    return caught.value


async def test_a_question_goes_out_whole_and_its_answer_comes_back(faulty: FaultyServer) -> None:
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]}
    asked = question("你好 \ud83d", params={"seed": 7}, max_tokens=100)
    completion = await _judge(faulty).complete(replace(asked, messages=(*asked.messages, image)))
    assert (completion.text, completion.finish_reason, completion.model) == ('{"scores": {}}', "stop", "served-model")
    assert (completion.usage.input_tokens, completion.usage.cached_tokens) == (10, 4)
    assert completion.latency > 0
    (sent,) = faulty.asked
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "你好 ?"}, image],  # half a surrogate pair cannot be sent
        "max_tokens": 100,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA},
        },
        "seed": 7,
    }


async def test_a_written_schema_goes_out_byte_for_byte_like_any_other(faulty: FaultyServer) -> None:
    sent = []
    for schema in (SCHEMA, EncodedDict(SCHEMA)):
        asked = question('a "quoted" line\n你好', schema=schema, params={"seed": 7, "extra": {"a": [1, None, "é"]}})
        sent.append((await _judge(faulty).complete(asked)).sent)
    assert sent[0] == sent[1]
    assert sent[0] == json.dumps(faulty.asked[0].body, ensure_ascii=False, separators=(",", ":")).encode()


def _picky(*refused: str) -> Callable[[Asked], Answer]:
    """A server that refuses each of the parameters and forms, one at a time."""

    def answer(asked: Asked) -> Answer:
        sent = {*asked.body, (asked.body.get("response_format") or {}).get("type")}
        return next(
            (error(400, f"{name} is not supported with this model") for name in refused if name in sent), said()
        )

    return answer


async def test_what_is_refused_by_name_is_left_out_from_then_on_logged_and_learned_by_a_later_run(
    faulty: FaultyServer, caplog: pytest.LogCaptureFixture
) -> None:
    asked = question(params={"temperature": 0.0})
    faulty.script(_picky("json_schema", "temperature", "max_tokens"))
    judge, later = _judge(faulty), _judge(faulty)
    await asyncio.gather(judge.complete(asked), judge.complete(asked))
    assert len(faulty.posts) == 8
    assert faulty.posts[-1]["response_format"] == {"type": "json_object"}
    assert judge.refused == {"json_schema", "temperature", "max_tokens"}
    await judge.complete(asked)
    later.learn(json.loads(json.dumps(judge.learned())))
    await later.complete(asked)
    assert len(faulty.posts) == 10
    names = "json_schema, max_tokens, temperature"
    assert caplog.messages == [f"m at {faulty.url} refuses {names}: questions are sent without"]


async def test_nothing_is_learned_from_refusals_that_leaving_out_did_not_cure_and_they_end(
    faulty: FaultyServer,
) -> None:
    """One odd 400 must not cost a run its structured output."""

    def wants_and_refuses_streams(asked: Asked) -> Answer:
        return error(400, "'stream' is not allowed" if asked.body.get("stream") else "only support stream mode")

    servers: dict[str, tuple[Reply, ...]] = {
        "something else": (
            error(400, "json_schema broke"),
            error(400, "json_object broke"),
            error(400, "it was something else"),
        ),
        "unsupported": (lambda asked: error(400, f"unsupported: {', '.join(asked.body)}"),),
        "stream": (wants_and_refuses_streams,),
    }
    for words, replies in servers.items():
        faulty.script(*replies)
        judge, before = _judge(faulty), len(faulty.posts)
        with pytest.raises(PermanentError, match=words):
            await judge.complete(question())
        assert judge.refused == frozenset()
        assert len(faulty.posts) - before <= 8


async def test_a_garbled_answer_is_asked_for_again_in_plain_text_and_teaches_nothing(faulty: FaultyServer) -> None:
    faulty.script(error(500, "The model produced output that does not match the expected peg-native format"), said())
    judge = _judge(faulty)
    await judge.complete(question())
    assert ["response_format" in body for body in faulty.posts] == [True, False]
    assert not judge.refused, "the next question is worth asking in the form again"


def test_openai_is_asked_in_its_newer_names() -> None:
    urls = ("https://api.openai.com/v1", "https://x.openai.azure.com/v1", "http://localhost:8000/v1")
    assert [OpenAICompatible("m", base_url=url).host.endswith(_NEWER_NAMES) for url in urls] == [True, True, False]


FAILURES = (
    (error(401, f"Incorrect API key provided: {KEY}"), "unauthorized"),
    (error(500, f"died with {KEY}"), "server"),
    (error(400, f"odd {KEY}"), "bad_request"),
    (Answer(200, f"<html>{KEY}".encode()), "bad_reply"),
    (said(""), "bad_reply"),
    (said("no", refusal="I will not"), "refused"),
    (Answer(302, b"", {"Location": "/login"}), "not_found"),
)


async def test_every_failure_is_one_of_ours_and_shows_no_key(faulty: FaultyServer) -> None:
    for answer, kind in FAILURES:
        faulty.script(answer)
        failure = await _failure(faulty, headers={"X-Tenant": "tenant-secret"})
        assert failure.kind == kind
        seen: BaseException | None = failure
        while seen is not None:
            assert KEY not in str(seen)
            assert "tenant-secret" not in str(seen)
            seen = seen.__cause__


async def test_a_missing_model_is_told_with_what_there_is_and_asked_for_once(faulty: FaultyServer) -> None:
    faulty.script(error(404, "The model `m` does not exist"))
    faulty.get["/v1/models"] = Answer(body={"data": [{"id": f"model-{n}"} for n in range(7)]})
    judge = _judge(faulty)
    for _ in range(2):
        with pytest.raises(PermanentError, match="model-0, model-1, model-2, model-3, model-4 and 2 more"):
            await judge.complete(question())
    assert [asked.method for asked in faulty.asked] == ["POST", "GET", "POST"]


async def test_a_parameter_json_cannot_spell_is_a_bad_request(faulty: FaultyServer) -> None:
    with pytest.raises(ConfigError, match="timeout"):
        OpenAICompatible("m", base_url="http://h/v1", timeout=0)
    for value in (float("nan"), object()):
        with pytest.raises(PermanentError) as caught:
            await _judge(faulty).complete(question(params={"odd": value}))
        assert caught.value.kind == "bad_request"
    assert faulty.asked == []


# --- check -------------------------------------------------------------------------------------------------------


async def test_check_spends_nothing_and_warns_of_what_looks_wrong(faulty: FaultyServer) -> None:
    names = ("m", "m:latest", "m-20260101")
    fine: tuple[Any, ...] = (*([{"id": name}] for name in names), [], [{"id": "other", "owned_by": "llamacpp"}])
    page = Answer(body={"data": [{"id": "other"}], "has_more": True})
    odd = (Answer(body={"data": [{"id": "other"}]}), Answer(body=b"<html>"), error(404))
    for models in (*(Answer(body={"data": rows}) for rows in fine), page, *odd):
        faulty.get["/v1/models"] = models
        assert bool(await _judge(faulty).check()) is (models in odd), models
    assert faulty.posts == []


# --- settings ----------------------------------------------------------------------------------------------------


def test_an_address_that_cannot_work_is_refused_before_anything_is_sent() -> None:
    bad = ("", "localhost:8000", "ftp://host/v1", "http://", "http://host:99999/v1", "http://h/v1/chat/completions")
    for url in bad:
        with pytest.raises(ConfigError, match="base URL"):
            OpenAICompatible("m", base_url=url)


def test_a_key_http_cannot_carry_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAICompatible("m", base_url="http://h/v1", api_key="sk-gehe\nim")
    assert "gehe" not in str(caught.value)
    assert OpenAICompatible("m", base_url="http://h/v1", api_key=" sk-geheim\n").endpoint == "http://h/v1"


async def test_credentials_in_the_address_are_sent_and_own_headers_win(faulty: FaultyServer) -> None:
    judge = OpenAICompatible("m", base_url=f"{faulty.url.replace('//127', '//user:pass@127')}/?token=geheim")
    assert judge.endpoint == faulty.url
    await judge.complete(question())
    assert faulty.asked[0].headers["authorization"] == "Basic dXNlcjpwYXNz"
    await _judge(faulty, headers={"Authorization": "Token abc"}).complete(question())
    assert faulty.asked[1].headers["authorization"] == "Token abc"
