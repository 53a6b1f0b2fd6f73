"""Field names are those of Anthropic's own SDK: its types read our fixtures and what we send."""

from __future__ import annotations

import typing
from dataclasses import replace

import pytest

from backends.asking import question, replied, require_fields
from calipers.backends.providers.anthropic import Anthropic, read_message
from calipers.backends.providers.known import request_target
from calipers.backends.transport.reply import Peer, finish_reason_of
from servers.faulty_server import Answer, FaultyServer
from servers.tongues import message

sdk = pytest.importorskip("anthropic", reason="Anthropic's SDK is not installed: pip install anthropic")

REFUSED = {"type": "refusal", "category": "cyber", "explanation": "no"}
THOUGHT = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "{}"}]


def test_our_fixtures_are_messages_and_errors_of_the_sdk() -> None:
    for body in (message("{}"), message("", stop="refusal", stop_details=REFUSED), message("", content=THOUGHT)):
        sdk.types.Message.model_validate(body, strict=True)
        assert not set(body) - set(sdk.types.Message.model_fields)
        assert not set(body["usage"]) - set(sdk.types.Usage.model_fields)
    for kind in ("authentication_error", "billing_error", "invalid_request_error", "not_found_error",
                 "overloaded_error", "permission_error", "rate_limit_error"):  # fmt: skip
        failed = {"type": "error", "error": {"type": kind, "message": "x"}, "request_id": "r"}
        assert sdk.types.ErrorResponse.model_validate(failed, strict=True).error.type == kind


def test_every_stop_reason_of_the_sdk_is_known_but_the_one_that_asks_to_go_on() -> None:
    for reason in set(typing.get_args(sdk.types.StopReason)) - {"pause_turn"}:
        assert finish_reason_of(reason) != "unknown"


async def test_every_field_we_send_is_one_the_sdk_sends(faulty: FaultyServer) -> None:
    faulty.script(Answer(body=message("{}")))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}}
    request = question(params={"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}})
    asked = ({"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "x"}, image]})
    await Anthropic("m", base_url=faulty.url).complete(replace(request, messages=asked))
    require_fields(faulty.posts[0], sdk.types.message_create_params.MessageCreateParamsNonStreaming)


def test_a_message_of_the_sdk_is_read() -> None:
    body = sdk.types.Message.model_validate(message("hi")).model_dump(mode="json")
    assert read_message(replied(body), Peer("m", "K")).text == "hi"


def test_judges_are_asked_where_the_sdk_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    for value in ("https://gw.example", "https://gw.example/deep/"):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", value)
        assert request_target("anthropic").url == str(sdk.Anthropic().base_url).rstrip("/")
