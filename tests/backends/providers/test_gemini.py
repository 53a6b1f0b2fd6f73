"""``generateContent``: requests and replies. Names are compared with those of the SDK in ``test_gemini_sdk``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from backends.asking import SCHEMA, question
from calipers.backends.connect import find_backend
from calipers.backends.limits.retry import Retrying
from calipers.backends.providers.gemini import Gemini, read_content
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.backends.transport.reply import HttpReply, Peer
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from calipers.types import Completion, JudgeRequest, Usage
from servers.faulty_server import Answer, FaultyServer, error
from servers.tongues import generated

KEY = "AIzaSy-test-0123456789abcdef"
SYSTEM = {"role": "system", "content": "You compare attempts."}


def _judge(server: FaultyServer, model: str = "gemini-x", **options: Any) -> Gemini:
    settings: dict[str, Any] = {"api_key": KEY, "timeout": 5.0, **options}
    return Gemini(model, base_url=f"http://127.0.0.1:{server.port}", **settings)


def _asking(*parts: Any, **options: Any) -> JudgeRequest:
    request = question(**options)
    content = list(parts) or request.messages[0]["content"]
    return replace(request, messages=(SYSTEM, {"role": "user", "content": content}))


def _read(body: Any) -> Completion:
    return read_content(HttpReply(200, {}, json.dumps(body).encode()), Peer("gemini-x", "KEY"), latency=0.5)


async def test_a_question_goes_out_in_the_form_of_generate_content(faulty: FaultyServer) -> None:
    faulty.script(Answer(body=generated("{}")))
    plain = {"type": "string", "pattern": "^[a-z]{0,9}$", "maxLength": 9}
    schema = {**SCHEMA, "properties": {"why": plain, **SCHEMA["properties"]}}
    params = {
        "temperature": 1,
        "top_p": 0.9,
        "thinkingConfig": {"thinkingLevel": "low"},
        "safetySettings": [],
        "stop": ".",
    }
    await _judge(faulty).complete(_asking(max_tokens=100, params=params, schema=schema))
    asked = faulty.asked[0]
    assert asked.path == "/v1beta/models/gemini-x:generateContent"
    assert asked.headers["x-goog-api-key"] == KEY
    assert "authorization" not in asked.headers
    assert asked.body == {
        "systemInstruction": {"parts": [{"text": SYSTEM["content"]}]},
        "contents": [{"role": "user", "parts": [{"text": "Judge the four attempts. Answer in JSON."}]}],
        "safetySettings": [],
        "generationConfig": {
            "temperature": 1,
            "topP": 0.9,
            "thinkingConfig": {"thinkingLevel": "low"},
            "stopSequences": ["."],
            "maxOutputTokens": 100,
            "responseMimeType": "application/json",
            "responseJsonSchema": {**SCHEMA, "properties": {"why": {"type": "string"}, **SCHEMA["properties"]}},
        },
    }


async def test_a_question_without_form_or_limit_asks_for_neither(faulty: FaultyServer) -> None:
    faulty.script(Answer(body=generated("{}")))
    await _judge(faulty, "tunedModels/mine").complete(question(max_tokens=None, schema=None))
    assert faulty.asked[0].path == "/v1beta/tunedModels/mine:generateContent"
    assert set(faulty.posts[0]) == {"contents"}


async def test_images_become_data_or_files_and_an_assistant_is_the_model(faulty: FaultyServer) -> None:
    faulty.script(Answer(body=generated("{}")))
    urls = ["data:image/png;base64,iVBORw0=", "data:image/gif,GIF%38", "https://host/a.jpg"]
    images = [{"type": "image_url", "image_url": {"url": url, "detail": "low"}} for url in urls]
    request = _asking({"type": "text", "text": "Look:"}, *images)
    earlier = {"role": "assistant", "content": "Yes?"}
    await _judge(faulty).complete(replace(request, messages=(*request.messages, earlier)))
    first, second = faulty.posts[0]["contents"]
    assert first["parts"] == [
        {"text": "Look:"},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0="}},
        {"inlineData": {"mimeType": "image/gif", "data": "R0lGOA=="}},
        {"fileData": {"fileUri": "https://host/a.jpg", "mimeType": "image/jpeg"}},
    ]
    assert second == {"role": "model", "parts": [{"text": "Yes?"}]}


def test_thoughts_are_kept_apart_and_billed_as_output() -> None:
    usage = {
        "promptTokenCount": 30, "toolUsePromptTokenCount": 2, "candidatesTokenCount": 5, "thoughtsTokenCount": 100,
        "cachedContentTokenCount": 20, "totalTokenCount": 137,
    }  # fmt: skip
    parts = ({"text": "hm", "thought": True}, '{"scores"', {"text": ": {}}", "thoughtSignature": "c2ln"})
    completion = _read(generated(*parts, usageMetadata=usage))
    assert (completion.text, completion.reasoning, completion.model) == ('{"scores": {}}', "hm", "served-model")
    assert completion.usage == Usage(32, 105, 20)


@pytest.mark.parametrize(
    ("usage", "meant"),
    [
        ({"promptTokenCount": 30, "totalTokenCount": 90, "thoughtsTokenCount": 60}, (30, 60)),
        ({"promptTokenCount": 30, "totalTokenCount": 30}, (30, 0)),
        (None, (0, 0)),
        ({"promptTokenCount": "many"}, (0, 0)),
    ],
)
def test_a_missing_count_follows_from_the_total(usage: Any, meant: tuple[int, int]) -> None:
    found = _read(generated("{}", usageMetadata=usage)).usage
    assert (found.input_tokens, found.output_tokens) == meant


@pytest.mark.parametrize(
    ("reason", "meant"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("OTHER", "unknown"),
        ("MALFORMED_RESPONSE", "unknown"),
        (None, "unknown"),
    ],
)
def test_finish_reasons_are_mapped(reason: Any, meant: str) -> None:
    assert _read(generated("hi", finish=reason)).finish_reason == meant


def test_an_answer_cut_inside_its_thoughts_is_an_answer_cut() -> None:
    body = generated(finish="MAX_TOKENS")
    del body["candidates"][0]["content"]["parts"]
    completion = _read(body)
    assert (completion.text, completion.finish_reason) == ("", "length")


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"])
def test_an_answer_that_was_blocked_is_a_refusal_and_says_why(reason: str) -> None:
    body = generated("half an ans", finish=reason)
    ratings = [{"category": "HARM_CATEGORY_HARASSMENT", "blocked": True}, {"category": "HARM_CATEGORY_HATE_SPEECH"}]
    body["candidates"][0] |= {"finishMessage": "Filtered.", "safetyRatings": ratings}
    said = rf"declined to answer: the answer was blocked \({reason}; Filtered\.; HARM_CATEGORY_HARASSMENT\)"
    with pytest.raises(PermanentError, match=said) as caught:
        _read(body)
    assert caught.value.kind == "refused"
    assert caught.value.usage == Usage(10, 5, 4)


def test_a_prompt_that_was_blocked_is_a_refusal() -> None:
    with pytest.raises(PermanentError, match=r"the prompt was blocked \(SAFETY\)") as caught:
        _read(
            {
                "promptFeedback": {"blockReason": "SAFETY"},
                "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
            }
        )
    assert caught.value.kind == "refused"
    assert caught.value.usage == Usage(9, 0)


@pytest.mark.parametrize(
    "body",
    [{}, [], {"candidates": []}, {"candidates": None}, {"candidates": ["odd"]}, {"promptFeedback": {}}, generated(""),
     generated({"odd": 1}), {"candidates": [{"content": "odd", "finishReason": "STOP"}]},
     {"error": {"code": 500, "message": "x"}}, {"error": "x"}],
)  # fmt: skip
def test_a_200_without_an_answer_is_a_bad_reply(body: Any) -> None:
    with pytest.raises(TransientError) as caught:
        _read(body)
    assert caught.value.kind in {"bad_reply", "server"}


def _logged(*tokens: str) -> dict[str, Any]:
    chosen = [{"token": token, "tokenId": 1, "logProbability": -0.1} for token in tokens]
    other = {"token": "3", "tokenId": 2, "logProbability": -2.5}
    return {"chosenCandidates": chosen, "topCandidates": [{"candidates": [one, other]} for one in chosen]}


def test_log_probabilities_are_those_of_the_digits() -> None:
    body = generated('{"BC": 7}')
    body["candidates"][0]["logprobsResult"] = _logged('{"', "BC", '": ', "7", "}")
    assert _read(body).logprobs == ((7, (("7", -0.1), ("3", -2.5))),)
    odds: list[Any] = [
        None,
        [],
        {},
        {"chosenCandidates": "odd"},
        {"chosenCandidates": [{"token": 7}], "topCandidates": [1]},
    ]
    for odd in odds:
        body["candidates"][0]["logprobsResult"] = odd
        assert not _read(body).logprobs


async def test_log_probabilities_are_asked_for_and_left_out_where_they_are_refused(faulty: FaultyServer) -> None:
    refusal = error(400, "Logprobs is not supported for the current model.")
    judge = _judge(faulty)
    asks = question(params={"logprobs": True, "top_logprobs": 20})
    faulty.script(refusal, Answer(body=generated("{}")))
    await judge.complete(asks)
    first, second = (post["generationConfig"] for post in faulty.posts)
    assert (first["responseLogprobs"], first["logprobs"]) == (True, 20)
    assert not {"responseLogprobs", "logprobs"} & set(second)
    assert "responseJsonSchema" in second


async def test_fewer_alternatives_are_asked_for_where_the_server_says_so(faulty: FaultyServer) -> None:
    faulty.script(error(400, "The value of logprobs must be in range [0, 5]."), Answer(body=generated("{}")))
    await _judge(faulty).complete(question(params={"logprobs": True, "top_logprobs": 20}))
    assert [post["generationConfig"]["logprobs"] for post in faulty.posts] == [20, 5]


@pytest.mark.parametrize(
    ("said", "left", "gone"),
    [
        (
            'Unknown name "minimum" at generation_config.response_json_schema',
            "responseJsonSchema",
            '"minimum"',
        ),
        ("responseJsonSchema is not supported by this model", "responseMimeType", "responseJsonSchema"),
        (
            "JSON mode is not enabled for this model: response_mime_type must be text/plain",
            "contents",
            "responseMimeType",
        ),
        ("Unknown name \"topK\" at 'generation_config': Cannot find field.", "responseJsonSchema", "topK"),
    ],
)
async def test_what_is_refused_by_name_is_left_out(faulty: FaultyServer, said: str, left: str, gone: str) -> None:
    def serve(asked: Any) -> Answer:
        return error(400, said) if gone in json.dumps(asked.body) else Answer(body=generated("{}"))

    faulty.script(serve)
    judge = _judge(faulty)
    await judge.complete(question(params={"top_k": 3}))
    assert left in json.dumps(faulty.posts[-1])
    asked = len(faulty.posts)
    await judge.complete(question(params={"top_k": 3}, number=1))
    assert len(faulty.posts) == asked + 1


def _error(status: int, message: str, name: str = "INVALID_ARGUMENT", **detail: Any) -> Answer:
    return Answer(status, {"error": {"code": status, "message": message, "status": name, **detail}})


def _quota(name: str, delay: str) -> dict[str, Any]:
    failure = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": name}]}
    return {"details": [failure, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]}


_USED_UP = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("answer", "kind", "fatal", "wait"),
    [
        (_error(400, f"API key not valid. Please pass a valid API key. {KEY}"), "unauthorized", True, None),
        (_error(403, "Permission denied.", "PERMISSION_DENIED"), "unauthorized", True, None),
        (_error(404, "models/gemini-x is not found for API version v1beta.", "NOT_FOUND"), "not_found", True, None),
        (_error(429, _USED_UP, "RESOURCE_EXHAUSTED", **_quota("GenerateRequestsPerMinutePerProject", "34.5s")),
         "rate_limited", False, 34.5),
        (_error(429, _USED_UP, "RESOURCE_EXHAUSTED", **_quota("GenerateRequestsPerDayPerProject", "40000s")),
         "rate_limited", True, None),
        (_error(429, "Resource has been exhausted.", "RESOURCE_EXHAUSTED"), "rate_limited", False, None),
        (_error(503, "The model is overloaded. Please try again later.", "UNAVAILABLE"), "server", False, None),
        (_error(504, "Deadline expired.", "DEADLINE_EXCEEDED"), "server", False, None),
        (_error(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
         "context_window", False, None),
        (_error(400, "Request contains an invalid argument."), "bad_request", False, None),
    ],
)  # fmt: skip
async def test_errors_are_told_apart(
    faulty: FaultyServer,
    answer: Answer,
    kind: str,
    wait: float | None,
    *,
    fatal: bool,
) -> None:
    faulty.script(answer)
    with pytest.raises(BackendError) as caught:
        await _judge(faulty).complete(question())
    assert (caught.value.kind, getattr(caught.value, "fatal", False)) == (kind, fatal)
    assert getattr(caught.value, "retry_after", None) == wait
    assert KEY not in str(caught.value)


async def test_a_wait_that_the_server_names_is_kept(faulty: FaultyServer) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    faulty.script(_error(429, "Slow down.", **_quota("PerMinute", "1.5s")), Answer(body=generated("{}")))
    await Retrying(_judge(faulty), sleep=sleep).complete(question())
    assert slept[0] >= 1.5


async def test_a_check_finds_the_model_and_its_window(faulty: FaultyServer) -> None:
    faulty.get["/v1beta/models/gemini-x"] = Answer(body={"name": "models/gemini-x", "inputTokenLimit": 1048576})
    judge = _judge(faulty)
    assert await judge.check() == []
    assert judge.context_window == 1048576


async def test_a_check_names_what_there_is_in_place_of_a_model_that_is_not(faulty: FaultyServer) -> None:
    faulty.get["/v1beta/models"] = Answer(body={"models": [{"name": "models/gemini-y", "inputTokenLimit": 9}]})
    (warning,) = await _judge(faulty).check()
    assert "does not list 'gemini-x' among its models (models/gemini-y)" in warning
    faulty.script(_error(404, "models/gemini-x is not found."))
    with pytest.raises(PermanentError, match="The server offers models/gemini-y"):
        await _judge(faulty).complete(question())


async def test_a_check_with_a_wrong_key_is_an_error(faulty: FaultyServer) -> None:
    faulty.get["/v1beta/models/gemini-x"] = _error(400, "API key not valid. Please pass a valid API key.")
    with pytest.raises(ConfigError, match="does not accept the key: check GEMINI_API_KEY"):
        await _judge(faulty).check()


def test_an_address_that_ends_in_openai_is_asked_by_chat_completions() -> None:
    native = find_backend("gemini/gemini-x", api_key=KEY)
    assert (type(native), native.endpoint) == (Gemini, "https://generativelanguage.googleapis.com/v1beta")
    url = "https://generativelanguage.googleapis.com/v1beta/openai"
    compatible = find_backend("gemini/gemini-x", base_url=url, api_key=KEY)
    assert (type(compatible), compatible.endpoint) == (OpenAICompatible, url)
