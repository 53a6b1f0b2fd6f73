"""Answers of chat servers: an answer that is none is an error, and never an empty verdict."""

from __future__ import annotations

from typing import Any

import pytest

from backends.asking import replied
from calipers.backends.providers.openai_compatible import read_chat_reply
from calipers.backends.transport.reply import Peer
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.types import Completion, Usage

PEER = Peer("m", "KEY", ("s3cret-value",))


def _read(body: Any, kind: str = "application/json") -> Completion:
    return read_chat_reply(replied(body, Content_Type=kind), PEER)


def _chat(content: Any = "hi", finish: Any = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content, **more}, "finish_reason": finish}]}


def _failure(body: Any, kind: str = "application/json") -> BackendError:
    with pytest.raises(BackendError) as caught:
        _read(body, kind)
    return caught.value


def test_text_model_usage_and_latency_are_taken() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}, "cost": 0.01}
    completion = _read({**_chat("hi", reasoning_content="hm"), "model": "real", "usage": usage})
    assert completion == Completion("hi", "stop", "hm", "real", Usage(7, 3, 5, 0.01))


def test_usage_that_is_missing_or_absurd_counts_as_unknown() -> None:
    nothing = {"prompt_tokens": None, "prompt_tokens_details": None, "cost": None}
    absurd = {"prompt_tokens": -1, "completion_tokens": "3", "cost": True}
    usages: tuple[Any, ...] = (None, [], {}, nothing, absurd, {"cost": 10**400})
    for usage in usages:
        assert _read({**_chat(), "usage": usage}).usage == Usage(0, 0, 0, None)


def test_only_answers_that_ended_by_themselves_are_read() -> None:
    kinds = {
        "stop": ("stop", "STOP", "eos", "tool_calls", "end_turn", "normal", "stop ", "stop_sequence", "tool_use"),
        "length": ("length", "max_tokens", "model_context_window_exceeded", "model_length", "max_new_tokens"),
        "unknown": (None, ""),
        "server": ("error", "network_error", "insufficient_system_resource", "abort"),
        "refused": ("content_filter", "sensitive", "SAFETY", "refusal", "PROHIBITED_CONTENT"),
        "bad_reply": ("pause_turn", "odd"),
    }
    wrong = []
    for meant, words in kinds.items():
        for word in words:
            try:
                found: str = _read(_chat('{"scores": {"A": 90}}', finish=word)).finish_reason
            except BackendError as error:
                found = error.kind
            wrong += [(word, found)] if found != meant else []
    assert not wrong


def test_content_may_be_parts_with_thinking_among_them() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"},
             {"type": "text", "text": "b"}, {"type": "reasoning", "text": "c"}, "odd"]  # fmt: skip
    completion = _read(_chat(parts))
    assert (completion.text, completion.reasoning) == ("ab", "hm")


def test_the_choice_of_index_0_is_the_answer() -> None:
    second, first = (_chat(text)["choices"][0] | {"index": index} for text, index in (("b", 1), ("a", 0)))
    assert _read({"choices": [second, first | {"native_finish_reason": "eos_token_id:2"}]}).text == "a"


def test_an_only_tool_call_is_the_answer_when_nothing_else_is() -> None:
    either: tuple[Any, ...] = ('{"scores": {}}', {"scores": {}})
    for arguments in either:
        call = {"function": {"name": "verdict", "arguments": arguments}}
        assert _read(_chat(None, "tool_calls", tool_calls=[call])).text == '{"scores": {}}'
        assert _read(_chat("said", "stop", tool_calls=[call])).text == "said"
        assert _failure(_chat(None, "tool_calls", tool_calls=[call, call])).kind == "bad_reply"
    assert _failure(_chat(None, "tool_calls", tool_calls=[{"function": {"name": "verdict"}}])).kind == "bad_reply"


def test_a_cut_answer_may_be_empty() -> None:
    completion = _read(_chat("", "length", reasoning_content="still thinking"))
    assert (completion.text, completion.finish_reason, completion.reasoning) == ("", "length", "still thinking")


def test_an_answer_under_reasoning_counts_when_it_is_whole_and_strict() -> None:
    completion = _read(_chat("", reasoning_content='{"scores": {"A": 1}}'))
    assert (completion.text, completion.reasoning) == ('{"scores": {"A": 1}}', "")


REFUSALS: tuple[Any, ...] = (
    _chat("no", refusal="I cannot judge this"),
    _chat("", "content_filter"),
    _chat('{"scores"', "refusal"),
    _chat([{"type": "refusal", "refusal": "I cannot"}]),
    {"error": {"code": 403, "message": "flagged by moderation"}},
    {"error": {"code": "content_filter", "message": "the output was filtered"}},
    {"choices": [{"message": None, "finish_reason": "content_filter"}]},
    {"choices": [_chat("7")["choices"][0] | {"native_finish_reason": "SAFETY"}]},
    {"choices": [_chat("7")["choices"][0] | {"content_filter_results": {"hate": {"filtered": True}}}]},
    {"choices": [], "finish_reason": "content_filter"},
    {"choices": [], "prompt_filter_results": [{"content_filter_results": {"hate": {"filtered": True}}}]},
)
NO_ANSWERS: tuple[Any, ...] = (
    *(b"", b"<html>Sign in</html>", b"[]", b"7", b"\xff\xfe", b"[" * 100_000, {}, {"choices": []}, {"choices": None}),
    *({"choices": [None]}, {"choices": [{"finish_reason": "stop"}]}, {"choices": [{"message": {}}]}),
    *map(_chat, (None, "", "  \n", [])),
    *({"error": "upstream died"}, {"error": {"message": "upstream died"}}),
    {"choices": [{"error": {"message": "x"}, "message": {"content": "hi"}}]},
)


def test_a_200_without_an_answer_is_a_refusal_or_a_bad_reply() -> None:
    for body in REFUSALS:
        failure = _failure(body)
        assert isinstance(failure, PermanentError), body
        assert failure.kind == "refused", body
    for body in NO_ANSWERS:
        failure = _failure(body, "text/html")
        assert isinstance(failure, TransientError), body
        assert failure.kind == "bad_reply", body


def test_an_answer_counts_whatever_type_its_server_gives_it() -> None:
    """Frameworks call what they are given as text a page."""
    assert _read(_chat("hi"), "text/html; charset=utf-8").text == "hi"
    body = b'data: {"choices": [{"delta": {"content": "{}"}, "finish_reason": "stop"}]}\n\n'
    for kind in ("text/html", "text/event-stream; charset=utf-8", "application/json"):
        assert _read(body, kind).text == "{}"
    for code in (403, "403"):
        error = _failure({"error": {"code": code, "message": "no such key"}}, "text/html")
        assert "check KEY" in str(error)


def test_texts_can_always_be_written_to_a_file() -> None:
    body = b'{"choices":[{"finish_reason":"stop","message":{"content":"a\\ud800b\x01","reasoning":"\\udfff"}}]}'
    completion = _read(body)
    assert completion.text.encode() == b"a?b\x01"
    assert completion.reasoning == "?"
