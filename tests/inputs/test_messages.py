from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InputError
from calipers.inputs import canonical

WORDS = (
    "user assistant tool system function text image image_url tool_use tool_result thinking reasoning function_call "
    "function_call_output web_search_call message human ai chat remove document resource response x"
)
words = st.sampled_from(WORDS.split()) | st.text(st.characters(), max_size=3)
KEYS = (
    "role content type text tool_calls function name arguments id call_id input output summary reasoning data kwargs "
    "lc isError structuredContent image_url source url tool_use_id is_error message choices object resource status"
)
keys = st.sampled_from(KEYS.split())
data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=12,
)
blocks = st.fixed_dictionaries(
    {"type": words},
    optional={
        "text": words,
        "thinking": words,
        "id": words,
        "name": words,
        "input": data,
        "content": words,
        "output": data,
    },
)
good = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool", "system"]),
        "content": words | st.lists(blocks, max_size=3),
    },
    optional={
        "name": words,
        "tool_calls": st.lists(blocks, max_size=2),
        "reasoning_content": words,
        "weight": data,
        "isError": st.booleans(),
        "structuredContent": data,
        "function_call": st.fixed_dictionaries({"name": words, "arguments": words}),
    },
)


@given(st.lists(good | blocks | st.dictionaries(keys, data, max_size=6), max_size=4))
def test_any_data_is_read_to_sound_messages_or_refused(messages: list[Any]) -> None:
    try:
        read = canonical(messages)
    except InputError as error:
        assert str(error).startswith("message ")  # noqa: PT017 - either outcome is right, each with its own claim
        return
    assert canonical(read) == read
    json.dumps(read, ensure_ascii=False).encode()
    for message in read:
        assert message["role"] in {"system", "developer", "user", "assistant", "tool"}
        assert message["content"] is None or isinstance(message["content"], str | list)
        for call in message.get("tool_calls", ()):
            assert isinstance(call["function"]["arguments"], str)


CANONICAL: list[dict[str, Any]] = [
    {"role": "developer", "content": "rules"},
    {"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "image_url", "image_url": {"url": "u"}}]},
    {
        "role": "assistant",
        "content": None,
        "reasoning": "r",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "content": "ü", "tool_call_id": "c", "name": "f", "is_error": True},
    {"role": "assistant", "content": "", "refusal": "no"},
]


def test_canonical_messages_come_back_themselves() -> None:
    read = canonical(CANONICAL)
    assert all(one is other for one, other in zip(read, CANONICAL, strict=True))
    assert canonical(read) is read


def test_one_foreign_message_leaves_the_others_themselves() -> None:
    read = canonical([*CANONICAL, {"role": "human", "content": "q"}])
    assert all(one is other for one, other in zip(read, CANONICAL, strict=False))


def test_keys_that_hold_none_are_dropped_and_unknown_ones_kept() -> None:
    dump: dict[str, Any] = {
        "role": "assistant",
        "content": "a",
        "tool_calls": None,
        "audio": None,
        "annotations": [],
        "weight": 0,
    }
    assert canonical([dump]) == ({"role": "assistant", "content": "a", "weight": 0},)


@pytest.mark.parametrize(
    "source",
    [
        {"reasoning": "r"},
        {"reasoning_content": "r", "thinking_blocks": [{"type": "thinking", "thinking": "r", "signature": "s"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "r"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "r"}]},
    ],
)
def test_reasoning_is_found_under_every_name_and_shown_once(source: dict[str, Any]) -> None:
    assert canonical([{"role": "assistant", "content": "a", **source}]) == (
        {"role": "assistant", "content": "a", "reasoning": "r"},
    )


@pytest.mark.parametrize(
    "source",
    [
        {"reasoning": "r", "thinking": "s"},
        {"reasoning_content": "r", "thinking_blocks": [{"type": "thinking", "thinking": "s"}]},
        {"reasoning": "r", "reasoning_details": [{"type": "reasoning.text", "text": "r"}], "thinking": "s"},
        {"reasoning": [{"type": "reasoning_text", "summary": "r", "text": "s"}]},
        {"reasoning": {"summary": [{"text": "r"}], "content": [{"text": "s"}]}},
        {"reasoning_content": "r", "content": [{"type": "thinking", "thinking": "s"}, {"type": "text", "text": "a"}]},
        {"reasoning": "r", "type": "ai", "additional_kwargs": {"reasoning_content": "s"}},
    ],
)
def test_reasoning_that_differs_under_several_names_is_read_whole(source: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": "a", **source}
    if "type" in source:  # a message of LangChain
        del message["role"]
    (read,) = canonical([message])
    assert read["content"] == "a"
    assert sorted(read["reasoning"].split("\n\n")) == ["r", "s"]


def test_reasoning_of_another_type_is_refused() -> None:
    with pytest.raises(InputError, match="message 1 'thinking' must be text or a list of parts, not a number"):
        canonical([{"role": "assistant", "content": "a", "thinking": 5}])


@pytest.mark.parametrize(
    ("content", "audio", "read"),
    [
        ("", {"transcript": "hello"}, "hello"),
        ([], {"transcript": "hello"}, "hello"),
        ("hello", {"transcript": "hello"}, "hello"),
        ("see", {"transcript": "hello"}, [{"type": "text", "text": "see"}, {"type": "text", "text": "hello"}]),
        (
            None,
            {"data": "AAAA"},
            [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}],
        ),
    ],
)
def test_what_was_spoken_is_read_beside_what_was_written(content: Any, audio: Any, read: Any) -> None:
    (message,) = canonical([{"role": "assistant", "content": content, "audio": audio}])
    assert message["content"] == read


def test_every_refusal_of_a_message_is_read() -> None:
    parts = [{"type": "refusal", "refusal": text} for text in ("no", "never")]
    assert canonical([{"role": "assistant", "content": parts}])[0]["refusal"] == "no\n\nnever"


def test_legacy_function_calls_are_tool_calls_answered_by_name() -> None:
    read = canonical(
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "r"},
        ]
    )
    assert read[0]["tool_calls"][0]["id"] == read[1]["tool_call_id"]
    assert read[1] == {"role": "tool", "content": "r", "name": "f", "tool_call_id": "call_1"}


def test_a_choice_and_a_completion_are_their_message() -> None:
    message = {"role": "assistant", "content": "a", "tool_calls": None}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}
    expected = ({"role": "assistant", "content": "a"},)
    assert canonical([choice]) == canonical([{"object": "chat.completion", "choices": [choice]}]) == expected
    as_object = SimpleNamespace(finish_reason="stop", message=SimpleNamespace(**message))
    assert canonical([as_object]) == expected
    with pytest.raises(InputError, match="message 1 is a completion with 2 choices"):
        canonical([{"choices": [choice, choice]}])


def test_only_an_end_that_cut_the_words_is_kept() -> None:
    def ended(reason: str) -> Any:
        return canonical([{"finish_reason": reason, "message": {"role": "assistant", "content": "a"}}])[0]

    assert ended("length")["finish_reason"] == "length"
    assert ended("content_filter")["finish_reason"] == "content_filter"
    assert "finish_reason" not in ended("tool_calls")


class Costly:
    """A choice whose log-probabilities must not be touched: they can be a thousand times its text."""

    finish_reason = "stop"
    message = SimpleNamespace(role="assistant", content="a")

    def model_dump(self) -> dict[str, Any]:
        raise AssertionError


def test_a_choice_is_not_dumped_as_a_whole() -> None:
    assert canonical([Costly()]) == ({"role": "assistant", "content": "a"},)


def test_lone_surrogates_become_replacement_characters() -> None:
    assert canonical([{"role": "user", "content": "a\ud800b"}]) == ({"role": "user", "content": "a\ufffdb"},)


def test_numpy_lists_of_messages_are_read() -> None:
    array = np.empty(1, dtype=object)
    array[0] = {"role": "user", "content": "q"}
    assert canonical(array) == ({"role": "user", "content": "q"},)


def test_a_spoken_reply_is_its_transcript() -> None:
    message = {"role": "assistant", "content": None, "audio": {"id": "a", "data": "AAAA", "transcript": "hello"}}
    assert canonical([message]) == ({"role": "assistant", "content": "hello"},)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("hello", r"message 2 is text; expected \{\"role\""),
        (None, "message 2 is null; expected"),
        ({"content": "a"}, "message 2 has no 'role'; expected"),
        (
            {"role": "asistant", "content": "a"},
            "known are system, developer, user, assistant, tool; did you mean 'assistant'?",
        ),
        ({"role": "user"}, "message 2 has no 'content'"),
        ({"role": "user", "text": "a"}, "message 2 has no 'content'"),
        ({"role": "assistant", "contnet": "a"}, "unknown key 'contnet'; did you mean 'content'"),
        ({"message": "a"}, "message 2 has text under the key 'message'"),
        ({"role": "assistant", "content": "a", "tool_calls": {"x": 1}}, "'tool_calls' must be a list, not an object"),
        ({"role": "assistant", "content": "a", "tool_calls": [{"id": "c"}]}, "a tool call needs a name"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_number(message: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        canonical([{"role": "user", "content": "q"}, message])


@pytest.mark.parametrize("messages", ["hello", {"role": "user", "content": "q"}, 5, None])
def test_what_is_no_list_is_refused(messages: Any) -> None:
    with pytest.raises(InputError, match=r"^trajectory 'a': messages must be a list of chat messages"):
        canonical(messages, where="trajectory 'a': ")


def test_endless_nesting_is_refused() -> None:
    content: list[Any] = []
    for _ in range(100_000):
        content = [content]
    with pytest.raises(InputError, match="message 1 is nested more than 100 levels deep"):
        canonical([{"role": "user", "content": content}])


def test_real_openai_objects_read_like_their_recorded_forms() -> None:
    chat = pytest.importorskip("openai.types.chat", reason="openai is not installed: only recorded forms are tested")
    message = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "r",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    completion = chat.ChatCompletion.model_validate(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
        }
    )
    for real in (completion, completion.choices[0], completion.choices[0].message, completion.model_dump()):
        assert canonical([real]) == (CANONICAL[2],)


class Hole:
    """A value without a text, as pandas has for a missing one."""


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
@pytest.mark.parametrize("content", [float("nan"), float("-inf"), np.float32("nan"), np.float64("nan"), b"x", Hole()])
def test_a_content_that_is_no_text_is_refused_and_not_read_as_none(role: str, content: Any) -> None:
    for message in ({"role": role, "content": content}, SimpleNamespace(role=role, content=content), (role, content)):
        with pytest.raises(InputError, match="message 1 'content' must be text or a list of parts, not"):
            canonical([message])


@pytest.mark.parametrize("content", [True, 3, 3.5])
def test_a_number_is_no_content(content: Any) -> None:
    with pytest.raises(InputError, match="message 1 'content' must be text"):
        canonical([{"role": "assistant", "content": content}])


@pytest.mark.parametrize("message", [{"from": "gpt", "value": float("nan")}, {"role": "model", "parts": float("nan")}])
def test_a_hole_under_another_formats_key_is_refused(message: Any) -> None:
    with pytest.raises(InputError, match="must be text or a list of parts, not nan"):
        canonical([message])


def test_calls_as_json_text_are_calls():
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    (message,) = canonical([{"role": "assistant", "content": "", "tool_calls": [json.dumps(call)]}])
    assert message["tool_calls"] == [call]
    for text in ("{oops", "7", '"look"'):
        with pytest.raises(InputError, match="message 1 a tool call must be an object with a name and arguments, not"):
            canonical([{"role": "assistant", "content": "", "tool_calls": [text]}])


def test_results_that_only_name_their_tool_go_to_its_calls_in_order():
    calls: list[dict[str, Any]] = [{"name": name, "arguments": {}} for name in ("look", "go", "look")]
    results = [{"role": "tool", "name": name, "content": "r"} for name in ("look", "look", "go", "other")]
    asked, *told = canonical([{"role": "assistant", "content": None, "tool_calls": calls}, *results])
    first, go, second = (call["id"] for call in asked["tool_calls"])
    assert [one.get("tool_call_id") for one in told] == [first, second, go, None]
