"""Stepping down with a server: what is learned, what is not, and that it ends."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from backends.asking import question
from calipers.backends.negotiation.negotiated import Capabilities, Negotiated, Terms
from calipers.backends.providers.openai_compatible import CHAT_NAMES, chat_body
from calipers.backends.transport.refusals import Refusal
from calipers.backends.transport.reply import HttpReply
from calipers.types import Completion, JudgeRequest

GARBLED = "The model produced output that does not match the expected peg-native format"


def _reply(status: int, message: str = "") -> HttpReply:
    return HttpReply(status, {}, json.dumps({"error": {"message": message}}).encode())


class _Server:
    """Answers as ``rule`` says and keeps the bodies it was sent."""

    def __init__(self, rule: Callable[[Mapping[str, Any]], HttpReply]) -> None:
        self._rule = rule
        self.bodies: list[Mapping[str, Any]] = []

    async def __call__(self, body: Mapping[str, Any]) -> HttpReply:
        self.bodies.append(body)
        return self._rule(body)


class _Judge(Negotiated):
    """One that is asked with ``_negotiate`` only."""

    endpoint = "here"
    names = CHAT_NAMES

    def __init__(self) -> None:
        super().__init__("m")

    async def complete(self, request: JudgeRequest) -> Completion:
        raise NotImplementedError


async def _negotiate(judge: _Judge, server: _Server, **params: Any) -> HttpReply | Refusal:
    request = question(params=params)

    def frame(terms: Terms) -> dict[str, Any]:
        return chat_body(request, terms, model="m")

    return await judge._negotiate(request, frame, server, secrets=())


async def test_what_an_earlier_run_learned_is_left_out_from_the_start() -> None:
    judge, server = _Judge(), _Server(lambda _: _reply(200))
    judge.learn({"refused": ["seed"]})
    await _negotiate(judge, server, seed=1)
    assert "seed" not in server.bodies[0]


async def test_a_refusal_nothing_can_be_done_about_comes_back_and_teaches_nothing() -> None:
    judge = _Judge()
    settled = await _negotiate(judge, _Server(lambda _: _reply(400, "no")))
    assert isinstance(settled, Refusal)
    assert judge.capabilities == Capabilities()


@pytest.mark.parametrize(
    ("params", "forms"),
    [({}, [True, True, False]), ({"temperature": 0.7}, [True, True, False]), ({"temperature": 0}, [True, False]),
     ({"seed": 0}, [True, False])],
)  # fmt: skip
async def test_a_garbled_answer_is_asked_for_again_only_where_it_may_come_out_otherwise(
    params: Mapping[str, Any], forms: list[bool]
) -> None:
    judge = _Judge()
    server = _Server(lambda body: _reply(500, GARBLED) if "response_format" in body else _reply(200))
    assert isinstance(await _negotiate(judge, server, **params), HttpReply)
    assert ["response_format" in body for body in server.bodies] == forms
    assert judge.capabilities == Capabilities(), "the next question is worth asking in the form again"


async def test_an_answer_garbled_in_plain_text_too_is_a_refusal() -> None:
    server = _Server(lambda _: _reply(500, GARBLED))
    assert isinstance(await _negotiate(_Judge(), server), Refusal)
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    "said",
    [
        "This model only support stream mode, please enable the stream parameter to access the model.",
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "Stream must be set to true",
        "Non-streaming requests are not supported",
        "This endpoint requires streaming.",
    ],
)
async def test_a_model_that_only_streams_is_streamed_from_then_on(said: str) -> None:
    judge = _Judge()
    server = _Server(lambda body: _reply(200) if body.get("stream") else _reply(400, said))
    await _negotiate(judge, server)
    await _negotiate(judge, server)
    assert [body.get("stream") for body in server.bodies] == [None, True, True]
    assert server.bodies[-1]["stream_options"] == {"include_usage": True}
    assert judge.capabilities.to_dict() == {"refused": ["unstreamed"]}


@pytest.mark.parametrize(
    "said", ["response_format is not supported with streaming", "The stream broke.", "upstream failed"]
)
async def test_a_word_about_streams_is_not_a_wish_for_one(said: str) -> None:
    server = _Server(lambda _: _reply(400, said))
    await _negotiate(_Judge(), server)
    assert not any(body.get("stream") for body in server.bodies)


async def test_usage_is_not_asked_for_where_streams_know_no_options() -> None:
    def rule(body: Mapping[str, Any]) -> HttpReply:
        if not body.get("stream"):
            return _reply(400, "only support stream mode")
        return (
            _reply(422, "stream_options: Extra inputs are not permitted") if "stream_options" in body else _reply(200)
        )

    judge = _Judge()
    await _negotiate(judge, _Server(rule))
    assert judge.capabilities.refused == {"unstreamed", "stream_options"}


async def test_a_server_that_wants_streams_and_refuses_them_is_left_in_peace() -> None:
    def rule(body: Mapping[str, Any]) -> HttpReply:
        return _reply(400, "'stream' is not allowed" if body.get("stream") else "only support stream mode")

    server = _Server(rule)
    assert isinstance(await _negotiate(_Judge(), server), Refusal)
    assert len(server.bodies) <= 8


async def test_what_is_left_out_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def refuses(body: Mapping[str, Any]) -> HttpReply:
        return _reply(400, "unsupported parameter: temperature") if "temperature" in body else _reply(200)

    caplog.set_level(logging.INFO, logger="calipers.negotiation")
    judge = _Judge()
    for _ in range(3):
        await _negotiate(judge, _Server(refuses), temperature=0.5)
    assert caplog.messages == ["m at here refuses temperature: left out from now on"]
