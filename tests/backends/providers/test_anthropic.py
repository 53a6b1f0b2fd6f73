"""The Messages API: what goes out and what comes back. Its names are held against the SDK's in
``test_anthropic_sdk``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backends.asking import KEYS, SCHEMA, keyed, question, replied
from calipers.backends.providers.anthropic import Anthropic, read_message
from calipers.backends.transport.reply import Peer
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.types import Completion, JudgeRequest, Usage
from servers.faulty_server import Answer, FaultyServer, error
from servers.tongues import message

KEY = "sk-ant-test-0123456789"
SYSTEM = {"role": "system", "content": "You compare attempts."}


def _judge(server: FaultyServer, **options: Any) -> Anthropic:
    settings: dict[str, Any] = {"api_key": KEY, "timeout": 5.0, **options}
    return Anthropic("claude-x", base_url=f"http://127.0.0.1:{server.port}", **settings)


def _asking(*parts: Any, **options: Any) -> JudgeRequest:
    request = question(**options)
    content = list(parts) or request.messages[0]["content"]
    return replace(request, messages=(SYSTEM, {"role": "user", "content": content}))


def _read(body: Any) -> Completion:
    return read_message(replied(body), Peer("claude-x", "KEY"))


async def test_a_question_goes_out_in_the_messages_form(faulty: FaultyServer) -> None:
    faulty.script(Answer(body=message("{}")))
    await _judge(faulty).complete(_asking(max_tokens=100, params={"thinking": {"type": "adaptive"}}))
    asked = faulty.asked[0]
    assert asked.path == "/v1/messages"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in asked.headers
    scores = keyed({"type": "integer"})
    assert asked.body == {
        "model": "claude-x",
        "system": [{"type": "text", "text": SYSTEM["content"], "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "Judge the four attempts. Answer in JSON."}],
        "max_tokens": 100,
        "thinking": {"type": "adaptive"},
        "output_config": {"format": {"type": "json_schema", "schema": {**SCHEMA, "properties": {"scores": scores}}}},
    }


async def test_a_limit_is_always_sent_and_effort_stands_beside_the_form(faulty: FaultyServer) -> None:
    faulty.script(Answer(body=message("{}")))
    await _judge(faulty).complete(question(max_tokens=None, params={"output_config": {"effort": "low"}}))
    assert faulty.posts[0]["max_tokens"] == 8192
    assert set(faulty.posts[0]["output_config"]) == {"effort", "format"}
    assert "system" not in faulty.posts[0]


async def test_images_become_sources(faulty: FaultyServer) -> None:
    faulty.script(Answer(body=message("{}")))
    urls = ["data:image/png;base64,iVBORw0=", "data:image/gif,GIF%38", "https://host/a.jpg"]
    images = [{"type": "image_url", "image_url": {"url": url, "detail": "low"}} for url in urls]
    await _judge(faulty).complete(_asking({"type": "text", "text": "Look:"}, *images))
    text, *sources = faulty.posts[0]["messages"][0]["content"]
    assert text == {"type": "text", "text": "Look:"}
    assert [source["type"] for source in sources] == ["image"] * 3
    assert [source["source"] for source in sources] == [
        {"type": "base64", "media_type": "image/png", "data": "iVBORw0="},
        {"type": "base64", "media_type": "image/gif", "data": "R0lGOA=="},
        {"type": "url", "url": "https://host/a.jpg"},
    ]


def test_thinking_is_kept_apart_and_cached_tokens_are_input() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": '{"scores"', "citations": None},
        {"type": "text", "text": ": {}}"},
    ]
    usage = {"input_tokens": 3, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 7, "output_tokens": 5}
    completion = _read(message("", content=content, usage=usage))
    assert (completion.text, completion.reasoning, completion.model) == ('{"scores": {}}', "hm", "served-model")
    assert completion.usage == Usage(30, 5, 20)


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It would help an attack."}
    with pytest.raises(PermanentError, match="declined to answer: It would help") as caught:
        _read(message("", stop="refusal", stop_details=details))
    assert caught.value.kind == "refused"
    with pytest.raises(PermanentError, match="declined"):
        _read(message("", stop="refusal", stop_details=None))


def test_a_200_without_an_answer_is_a_bad_reply() -> None:
    odd = message("", content=["odd", {"type": "text"}])
    died = {"type": "error", "error": {"type": "api_error", "message": "x"}}
    bodies: tuple[Any, ...] = ({}, [], {"content": "hi"}, {"content": None}, message(""), odd, died, {"type": "error"})
    for body in bodies:
        with pytest.raises(TransientError) as caught:
            _read(body)
        assert caught.value.kind == "bad_reply"


def _error(status: int, kind: str, said: str) -> Answer:
    return Answer(status, {"type": "error", "error": {"type": kind, "message": said}, "request_id": "r"})


FAILURES: list[tuple[Answer, str, bool | None]] = [
    (_error(401, "authentication_error", f"invalid x-api-key {KEY}"), "unauthorized", True),
    (_error(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
     "rate_limited", True),
    (_error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "context_window",
     False),
    (_error(400, "invalid_request_error", "messages: roles must alternate"), "bad_request", False),
    (_error(529, "overloaded_error", "Overloaded"), "server", None),
]  # fmt: skip


async def test_every_error_has_its_kind(faulty: FaultyServer) -> None:
    for answer, kind, fatal in FAILURES:
        faulty.script(answer)
        with pytest.raises(BackendError) as caught:
            await _judge(faulty).complete(_asking())
        assert KEY not in str(caught.value)
        assert (caught.value.kind, getattr(caught.value, "fatal", None)) == (kind, fatal)


async def test_a_limit_too_large_is_lowered_and_never_left_out(faulty: FaultyServer) -> None:
    for said, granted in (
        ("max_tokens: 2000 > 1024, which is the maximum allowed number of output tokens for claude-x", 1024),
        ("input length and `max_tokens` exceed context limit: 198500 + 2000 > 200000, decrease input length", 1500),
    ):
        faulty.script(error(400, said), Answer(body=message("{}")))
        await _judge(faulty).complete(_asking())
        assert [body["max_tokens"] for body in faulty.posts[-2:]] == [2000, granted]
    faulty.script(error(400, "max_tokens: Field required"))
    with pytest.raises(PermanentError, match="Field required"):
        await _judge(faulty).complete(_asking())


async def test_the_address_may_end_in_v1_or_not(faulty: FaultyServer) -> None:
    faulty.script(Answer(body=message("{}")))
    for tail in ("", "/", "/v1", "/v1/"):
        await Anthropic("m", base_url=f"http://127.0.0.1:{faulty.port}{tail}").complete(_asking())
    assert {asked.path for asked in faulty.asked} == {"/v1/messages"}


# --- a real server ---------------------------------------------------------------------------------------------------


@pytest.mark.heavy
async def test_llama_cpp_speaks_it_too_and_ignores_the_form(llama: str) -> None:
    completion = await Anthropic("m", base_url=llama).complete(_asking(max_tokens=50, params={"temperature": 1.0}))
    assert 0 < completion.usage.output_tokens <= 50
    assert not any(key in completion.text for key in [f'"{key}":' for key in KEYS])
