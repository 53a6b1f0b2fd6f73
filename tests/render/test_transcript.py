"""Canonical messages: ids by appearance, nothing empty, nothing that is no evidence; and their exact lines."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.render import Reasoning, render
from calipers.render.canonical import Canonicaliser, plain_json, without_data_urls
from calipers.render.escapes import unescape
from calipers.render.transcript import MARK, header_word, write_blocks
from calipers.types import Message, Trajectory, TrajectoryGroup
from strategies import json_values, messages, texts


def call(call_id: Any, name: str = "get_user", arguments: str = '{"id": 7}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def canonical(*given_messages: Message, reasoning: Reasoning = "hidden") -> tuple[list[Message], tuple[str, ...]]:
    canonicaliser = Canonicaliser(reasoning)
    return [canonicaliser.canonical_message(message) for message in given_messages], canonicaliser.omissions()


@given(st.lists(messages(), max_size=4))
def test_canonical_messages_are_canonical(given_messages: list[Message]) -> None:
    once, _ = canonical(*given_messages, reasoning="shown")
    assert canonical(*once, reasoning="shown")[0] == once


def result(call_id: str | None, content: str = "r") -> Message:
    return {"role": "tool", "content": content} | ({} if call_id is None else {"tool_call_id": call_id})


def test_ids_are_numbered_by_appearance_and_results_follow_their_calls() -> None:
    for calls, results, expected in (
        ([call("x9"), call("x7")], ["x7", "x9"], ["c2", "c1"]),
        ([call("same")], ["same", "same"], ["c1", "c1"]),
        ([call("a")], ["gone", "lost", "gone", None], ["u1", "u2", "u1", None]),
    ):
        shown, _ = canonical({"role": "assistant", "content": None, "tool_calls": calls}, *map(result, results))
        assert [one["id"] for one in shown[0]["tool_calls"]] == [f"c{number + 1}" for number in range(len(calls))]
        assert [one.get("tool_call_id") for one in shown[1:]] == expected
    turn: list[Message] = [{"role": "assistant", "tool_calls": [call("same")]}, result("same")]
    assert [one.get("tool_call_id") for one in canonical(*turn, *turn, turn[1])[0]] == [None, "c1", None, "c2", "c2"]


EMPTY: dict[str, Any] = {"role": "assistant", "tool_calls": [], "name": "", "refusal": None, "annotations": []}
THOUGHT = {"role": "assistant", "content": "4", "reasoning": "2 + 2"}
SAYS: list[tuple[Message, Message, tuple[str, ...]]] = [
    *(
        (EMPTY | {"content": empty}, {"role": "assistant", "content": ""}, ())
        for empty in (None, "", [], [{"type": "text", "text": ""}])
    ),
    ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, {"role": "user", "content": "hi"}, ()),
    (THOUGHT, {"role": "assistant", "content": "4"}, ("reasoning of 1 message hidden",)),
    (
        {"role": "assistant", "content": "a", "logprobs": [1], "verdict": {"ok": False}, "flag": False},
        {"role": "assistant", "content": "a", "verdict": {"ok": False}, "flag": False},
        ("key 'logprobs' left out",),
    ),
    # A thought at the beginning of a text is hidden, one further down is part of the answer.
    *(
        ({"role": "assistant", "content": text}, {"role": "assistant", "content": left}, hidden)
        for hidden in [("reasoning of 1 message hidden",)]
        for text, left in (("<think>hm</think>\n4", "4"), ("<think>so 4, or", ""), ("so 4</think>\n\n4", "4"))
    ),
    *(
        ({"role": role, "content": text}, {"role": role, "content": text}, ())
        for role, text in (
            ("assistant", "4 <think>hm</think>"),
            ("assistant", "Write </think> after <think>."),
            ("user", "<think>hm</think>4"),
        )
    ),
]


def test_what_is_no_evidence_is_left_out_and_told() -> None:
    assert not [
        (given_message, shown, told)
        for given_message, expected, omitted in SAYS
        for (shown,), told in [canonical(given_message)]
        if (shown, told) != (expected, omitted)
    ]
    for shown in (THOUGHT, {"role": "assistant", "content": "<think>so 4, or"}):
        assert canonical(shown, reasoning="shown") == ([shown], ())


# --- binary data ---

BASE64 = "QUJD" * 100


@given(json_values().filter(lambda value: re.search(r"[A-Za-z0-9+/_=-]{256}", json.dumps(value)) is None))
def test_json_data_is_left_as_it_is(value: object) -> None:
    elided: list[str] = []
    assert (plain_json(value, elided), elided) == (value, [])


def test_binary_data_is_shown_as_its_size_and_hash_and_told() -> None:
    elided: list[str] = []
    first, second, short = plain_json([BASE64, "A" + BASE64, "QUJD"], elided)
    assert "400 bytes" in first
    assert (first != second, short, len(elided)) == (True, "QUJD", 2)
    shown = without_data_urls(f'{{"shot": "data:image/png;base64,{BASE64}==", "ok": true}}', elided)
    assert re.fullmatch(r'\{"shot": "\[image/png, [^"]+\]", "ok": true\}', shown)
    assert without_data_urls("data:text/plain;base64,QUJD", elided) == "data:text/plain;base64,QUJD"
    audio = {"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}}
    (message,), told = canonical({"role": "user", "content": [audio]})
    assert "400 bytes" in message["content"][0]["input_audio"]["data"]
    assert "400 bytes" in told[0]


def test_whatever_comes_back_is_json() -> None:
    nested: object = 1
    for _ in range(200):
        nested = [nested]
    elided: list[str] = []
    shown = json.dumps(plain_json({1: (1.5, float("nan")), "o": object(), "deep": nested}, elided), allow_nan=False)
    assert "[nested too deeply]" in shown  # a judge must not take it for an empty value
    assert any("nested deeper" in line for line in elided)


# --- lines ---


def written(*given_messages: Message, after_assistant: bool = False) -> str:
    return "".join(write_blocks(given_messages, after_assistant=after_assistant)).replace(MARK, "@kom ")


def test_a_conversation_with_a_tool() -> None:
    assert written(
        {"role": "user", "content": "Cancel my booking."},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call("c1")]},
        {"role": "tool", "tool_call_id": "c1", "name": "get_user", "content": '{"name": "Ann"}'},
        {"role": "assistant", "content": "", "refusal": "No."},
    ).splitlines() == [
        "@kom user",
        "Cancel my booking.",
        "@kom assistant",
        "Let me look.",
        '@kom call c1 get_user {"id": 7}',
        "@kom result c1 get_user",
        '{"name": "Ann"}',
        "@kom assistant",
        "@kom refusal",
        "No.",
    ]


HEADERS: list[tuple[Message, str]] = [
    ({"role": "tool", "content": "x"}, "@kom result -"),
    ({"role": "tool", "content": "x", "tool_call_id": "u1", "is_error": True}, "@kom error u1"),
    ({"role": "function", "content": "x"}, "@kom role function"),
    ({"role": "user", "content": "x", "name": "Ann"}, "@kom user Ann"),
    ({"role": "user", "content": "x", "name": "Ann B\n@kom end"}, '@kom user "Ann B\\n@kom end"'),
    ({"role": "user", "content": "x", "name": "see"}, '@kom user "see"'),
]


def test_headers_and_unknown_keys() -> None:
    assert [written(message) for message, _ in HEADERS] == [f"{header}\nx\n" for _, header in HEADERS]
    fields = {"role": "user", "content": "", "b": [1], "a": "两"}
    assert written(fields) == '@kom user\n@kom fields {"a":"两","b":[1]}\n'


@given(texts())
def test_a_word_is_one_line_and_can_be_read_back(text: str) -> None:
    shown = header_word(text)
    assert len(shown.splitlines()) == 1
    assert shown == text or json.loads(unescape(shown)) == text
    assert shown != "see"


@pytest.mark.parametrize("last", ["user", "assistant"])
def test_calls_alone_have_a_header_only_after_an_assistants_message(last: str) -> None:
    """Else the call would belong to the message before, or stand under a header that it does not need."""
    message = {"role": "assistant", "content": "", "tool_calls": [call("c1")]}
    header = "@kom assistant\n" if last == "assistant" else ""
    assert written(message, after_assistant=last == "assistant") == f'{header}@kom call c1 get_user {{"id": 7}}\n'
    context = tuple({"role": role, "content": role} for role in sorted(("user", "assistant"), key=last.__eq__))
    own = (({"role": "assistant", "content": "", "tool_calls": [call(name, name)]},) for name in "ab")
    view = render(TrajectoryGroup("g", tuple(map(Trajectory, "ab", own)), context=context))
    for candidate in view.candidates:
        begin = f"{view.marker} assistant\n" if last == "assistant" else ""
        assert str(candidate.body[0]).startswith(f"{begin}{view.marker} call c1 ")
