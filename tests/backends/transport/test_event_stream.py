"""Streams, whole and broken, as servers send them; half an answer never counts as one."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.asking import replied
from calipers.backends.providers.openai_compatible import read_chat_reply
from calipers.backends.transport.event_stream import BrokenStreamError, stream_events, whole_completion
from calipers.backends.transport.reply import Peer
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.types import Completion
from servers.faulty_server import chunks, streamed

TEXT = '{"scores": {"BC": 71, "DF": 12, "GH": 5, "JK": 99}}'


def _said(stream: bytes) -> dict[str, Any]:
    message = whole_completion(stream)["choices"][0]["message"]
    assert isinstance(message, dict)
    return message


def _stream(*parts: Any, done: bool = True) -> bytes:
    body = streamed(*parts, done=done).body
    assert isinstance(body, bytes)
    return body


def _delta(finish: str | None = None, /, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


@given(
    text=st.text(min_size=1),
    pieces=st.integers(1, 9),
    line_end=st.sampled_from(["\n", "\r", "\r\n"]),
    done=st.booleans(),
    bom=st.booleans(),
)
def test_a_stream_spells_the_text_it_was_cut_from(
    text: str, pieces: int, line_end: str, *, done: bool, bom: bool
) -> None:
    whole = text.encode("utf-8", "replace").decode()
    stream = _stream(*chunks(whole, pieces=pieces), done=done).replace(b"\n", line_end.encode())
    completion = whole_completion(b"\xef\xbb\xbf" + stream if bom else stream)
    assert completion["choices"][0]["message"]["content"] == whole
    assert completion["choices"][0]["finish_reason"] == "stop"
    assert completion["usage"]["completion_tokens"] == 5
    assert completion["model"] == "served-model"


def test_only_cr_and_lf_end_a_line() -> None:
    """Unicode's own separators stand raw in JSON strings, and splitlines would cut there."""
    odd = "a\u2028b\u2029c\u0085d\x0be\x0cf"
    raw = json.dumps(_delta("stop", content=odd), ensure_ascii=False)
    raw = raw.replace("\\u000b", "\x0b").replace("\\f", "\x0c")
    assert _said(f"data: {raw}\n\n".encode())["content"] == odd


def test_comments_ids_and_empty_events_are_passed_over_and_data_may_take_several_lines() -> None:
    stream = (
        b': OPENROUTER PROCESSING\n\nid: 7\nevent: chunk\ndata: {"a":\ndata:  1}\n\ndata:\n\nretry: 5\n\ndata: [DONE]'
    )
    assert list(stream_events(stream)) == [("chunk", '{"a":\n 1}'), ("", "[DONE]")]


def test_reasoning_is_kept_apart_under_either_name() -> None:
    stream = _stream(_delta(reasoning_content="hm "), _delta(reasoning="so"), _delta("stop", content=TEXT))
    said = _said(stream)
    assert (said["reasoning_content"], said["reasoning"], said["content"]) == ("hm ", "so", TEXT)


_WHOLE = {"choices": [{"message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}]}
_OTHER = {"choices": [{"index": 1, "delta": {"content": "not mine"}, "finish_reason": "length"}]}
_THOUGHT = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
_CALLS: list[dict[str, Any]] = [{"index": 0, "function": {"arguments": piece}} for piece in (TEXT[:5], TEXT[5:])]
SPELLED: dict[str, list[Any]] = {
    "a whole message as one event": [_WHOLE],
    "a text and then the whole message": [_delta(content=TEXT), _WHOLE],
    "thoughts as parts, as Mistral's": [
        _delta(content=_THOUGHT),
        _delta(content=TEXT[:9]),
        _delta("stop", content=TEXT[9:]),
    ],
    "a tool call in pieces": [*(_delta(tool_calls=[call]) for call in _CALLS), _delta("tool_calls")],
    "other answers to the same question": [_OTHER, *chunks(TEXT), _OTHER],
}


def test_the_answer_is_put_together_from_whatever_it_is_sent_as() -> None:
    wrong = []
    for name, events in SPELLED.items():
        completion = _read(_stream(*events))
        if (completion.text, completion.reasoning) != (TEXT, "hm" if "thoughts" in name else ""):
            wrong.append((name, completion))
    assert not wrong


def test_a_stream_cut_anywhere_is_an_error_or_the_whole_answer() -> None:
    whole = _stream(*chunks(TEXT, pieces=4))
    for at in range(1, len(whole), 7):
        with suppress(BrokenStreamError):
            assert _said(whole[:at])["content"] == TEXT


def test_an_error_after_a_whole_verdict_still_is_an_error() -> None:
    events: list[tuple[dict[str, Any], str]] = [
        ({"error": {"message": "upstream died", "code": 502}}, "server"),
        ({"error": "out of memory"}, "bad_reply"),
        ({"error": {"message": "slow down", "code": 429}}, "rate_limited"),
        ({"error": {"message": "odd"}, "choices": [{"delta": {}, "finish_reason": "error"}]}, "bad_reply"),
        ({"object": "error", "message": "worker died", "code": 500}, "server"),
        ({"error": {"message": "stopped", "code": "content_filter"}}, "refused"),
        (_delta("content_filter"), "refused"),
    ]
    for event, kind in events:
        assert _failure(_stream(*chunks(TEXT), event)).kind == kind, event
    assert _failure(_stream(_delta("content_filter", content=TEXT), _delta("stop"))).kind == "refused"


def test_however_many_ends_a_stream_names_they_are_read_in_bounded_text() -> None:
    ends = [_delta(("stop", "eos", "a" * 999, "b" * 999)[number % 4], content="x") for number in range(400)]
    assert len(whole_completion(_stream(*ends))["choices"][0]["finish_reason"]) <= 300
    natural = [_delta(("stop", "eos")[number % 2], content=letter) for number, letter in enumerate(TEXT)]
    assert _read(_stream(*natural)).text == TEXT


def test_an_event_named_error_is_one_whatever_it_holds() -> None:
    stream = _stream(*chunks(TEXT), done=False) + b'event: error\ndata: {"message": "it broke"}\n\n'
    assert "it broke" in str(_failure(stream))


def test_what_is_no_stream_of_chunks_is_a_bad_reply() -> None:
    for stream in (b"data: {\n\n", b"data: 7\n\n", b"data: [DONE]x\n\n", b"", b"hello"):
        error = _failure(stream)
        assert isinstance(error, TransientError)
        assert error.kind == "bad_reply", stream


def test_a_refusal_in_a_stream_is_a_refusal() -> None:
    error = _failure(_stream(_delta(refusal="I will "), _delta("stop", refusal="not")))
    assert isinstance(error, PermanentError)
    assert "I will not" in str(error)
    filtered = _delta("stop", content="7")
    filtered["choices"][0]["native_finish_reason"] = "SAFETY"
    assert _failure(_stream(filtered, _delta())).kind == "refused"


def _read(stream: bytes) -> Completion:
    return read_chat_reply(replied(stream, Content_Type="text/event-stream; charset=latin-1"), Peer("m", "K"))


def _failure(stream: bytes) -> BackendError:
    with pytest.raises(BackendError) as caught:
        _read(stream)
    return caught.value
