"""The exact lines of the transcript, and words that cannot break one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from calipers.render import render
from calipers.render.escapes import unescape
from calipers.render.transcript import MARK, header_word, write_blocks
from calipers.types import Message, Trajectory, TrajectoryGroup
from strategies import texts


def written(*messages: Message, after_assistant: bool = False) -> str:
    return "".join(write_blocks(messages, after_assistant=after_assistant)).replace(MARK, "@kom ")


def call(name: str = "get_user", arguments: str = '{"id": 7}') -> dict[str, object]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_conversation_with_a_tool() -> None:
    assert written(
        {"role": "user", "content": "Cancel my booking."},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call()]},
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


def test_an_assistant_that_only_calls_has_no_header_unless_one_spoke_just_before() -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [call()]}
    assert written(message) == '@kom call c1 get_user {"id": 7}\n'
    assert written(message, after_assistant=True) == '@kom assistant\n@kom call c1 get_user {"id": 7}\n'


@pytest.mark.parametrize(
    ("message", "header"),
    [
        ({"role": "tool", "content": "x"}, "@kom result -"),
        ({"role": "tool", "content": "x", "tool_call_id": "u1", "is_error": True}, "@kom error u1"),
        ({"role": "function", "content": "x"}, "@kom role function"),
        ({"role": "user", "content": "x", "name": "Ann"}, "@kom user Ann"),
        ({"role": "user", "content": "x", "name": "Ann B\n@kom end"}, '@kom user "Ann B\\n@kom end"'),
        ({"role": "user", "content": "x", "name": "see"}, '@kom user "see"'),
    ],
)
def test_headers(message: Message, header: str) -> None:
    assert written(message) == f"{header}\nx\n"


def test_unknown_keys_are_a_line_of_json() -> None:
    assert (
        written({"role": "user", "content": "", "b": [1], "a": "两"}) == '@kom user\n@kom fields {"a":"两","b":[1]}\n'
    )


@given(texts())
def test_a_word_is_one_line_and_can_be_read_back(text: str) -> None:
    shown = header_word(text)
    assert len(shown.splitlines()) == 1
    assert shown == text or json.loads(unescape(shown)) == text
    assert shown != "see"


@pytest.mark.parametrize("last", ["user", "assistant"])
def test_calls_alone_have_a_header_only_after_an_assistants_message_of_the_context(last: str) -> None:
    """Else the call would belong to the message before, or stand under a header that it does not need."""
    context = tuple({"role": role, "content": role} for role in sorted(("user", "assistant"), key=last.__eq__))
    members = tuple(
        Trajectory(name, ({"role": "assistant", "content": "", "tool_calls": [call(name)]},)) for name in "ab"
    )
    view = render(TrajectoryGroup("g", members, context=context))
    for candidate in view.candidates:
        header = f"{view.marker} assistant\n" if last == "assistant" else ""
        assert str(candidate.body[0]).startswith(f"{header}{view.marker} call c1 ")
