"""Messages in canonical form: ids by appearance, nothing empty, nothing that is no evidence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.render.canonical import Canonicaliser, Reasoning
from calipers.types import Message
from strategies import messages


def canonical(*messages: Message, reasoning: Reasoning = "hidden") -> list[Message]:
    canonicaliser = Canonicaliser(reasoning)
    return [canonicaliser.canonical_message(message) for message in messages]


def call(call_id: Any, name: str = "get") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


@given(st.lists(messages(), max_size=4), st.sampled_from(["hidden", "shown"]))
def test_canonical_messages_are_canonical(given_messages: list[Message], reasoning: Reasoning) -> None:
    """A second pass changes nothing, except where a thought was hidden and another begins the text that is left."""
    once = canonical(*given_messages, reasoning="shown")
    assert canonical(*once, reasoning="shown") == once


def test_ids_are_numbered_by_appearance_and_results_follow_their_calls() -> None:
    shown = canonical(
        {"role": "assistant", "content": None, "tool_calls": [call("x9"), call("x7")]},
        {"role": "tool", "tool_call_id": "x7", "content": "second"},
        {"role": "tool", "tool_call_id": "x9", "content": "first"},
    )
    assert [one["id"] for one in shown[0]["tool_calls"]] == ["c1", "c2"]
    assert [one["tool_call_id"] for one in shown[1:]] == ["c2", "c1"]


def test_an_id_used_again_names_a_new_call() -> None:
    turn: list[Message] = [
        {"role": "assistant", "tool_calls": [call("same")]},
        {"role": "tool", "tool_call_id": "same", "content": "r"},
    ]
    shown = canonical(*turn, *turn, turn[1])
    assert [one.get("tool_call_id") for one in shown if one["role"] == "tool"] == ["c1", "c2", "c2"]


def test_a_result_without_its_call_keeps_an_id_of_its_own() -> None:
    shown = canonical(
        {"role": "tool", "tool_call_id": "gone", "content": "a"},
        {"role": "tool", "tool_call_id": "lost", "content": "b"},
        {"role": "tool", "tool_call_id": "gone", "content": "c"},
        {"role": "tool", "content": "d"},
    )
    assert [one.get("tool_call_id") for one in shown] == ["u1", "u2", "u1", None]


@pytest.mark.parametrize("empty", [None, "", [], [{"type": "text", "text": ""}]])
def test_no_content_is_empty_text_and_empty_options_are_absent(empty: Any) -> None:
    message = {"role": "assistant", "content": empty, "tool_calls": [], "name": "", "refusal": None, "annotations": []}
    assert canonical(message) == [{"role": "assistant", "content": ""}]


def test_a_lone_text_part_is_its_text() -> None:
    assert canonical({"role": "user", "content": [{"type": "text", "text": "hi"}]}) == [
        {"role": "user", "content": "hi"}
    ]


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_reasoning_is_hidden_and_told_or_shown(key: str) -> None:
    message = {"role": "assistant", "content": "4", key: "2 + 2"}
    canonicaliser = Canonicaliser("hidden")
    assert canonicaliser.canonical_message(message) == {"role": "assistant", "content": "4"}
    assert canonicaliser.omissions() == ("reasoning of 1 message hidden",)
    assert canonical(message, reasoning="shown") == [{"role": "assistant", "content": "4", "reasoning": "2 + 2"}]


def test_a_thought_left_in_the_text_is_hidden_at_its_beginning_only() -> None:
    assert canonical({"role": "assistant", "content": "<think>hm</think>\n4"})[0]["content"] == "4"
    late = "4 <think>hm</think>"
    assert canonical({"role": "assistant", "content": late})[0]["content"] == late
    user = "<think>hm</think>4"
    assert canonical({"role": "user", "content": user})[0]["content"] == user


def test_a_thought_that_never_ends_leaves_no_answer_and_one_without_its_beginning_is_a_thought() -> None:
    canonicaliser = Canonicaliser("hidden")
    assert canonicaliser.canonical_message({"role": "assistant", "content": "<think>so 4, or"})["content"] == ""
    assert canonicaliser.canonical_message({"role": "assistant", "content": "so 4</think>\n\n4"})["content"] == "4"
    assert canonicaliser.omissions() == ("reasoning of 2 messages hidden",)
    for kept in ("Write </think> after <think>.", "It ends in <think> here"):
        assert canonical({"role": "assistant", "content": kept})[0]["content"] == kept
    shown = "<think>so 4, or"
    assert canonical({"role": "assistant", "content": shown}, reasoning="shown")[0]["content"] == shown


def test_bookkeeping_is_left_out_and_told_and_unknown_keys_are_kept() -> None:
    canonicaliser = Canonicaliser("hidden")
    shown = canonicaliser.canonical_message(
        {"role": "assistant", "content": "a", "logprobs": [1], "verdict": {"ok": False}, "flag": False}
    )
    assert shown == {"role": "assistant", "content": "a", "verdict": {"ok": False}, "flag": False}
    assert canonicaliser.omissions() == ("key 'logprobs' left out",)


def test_audio_is_a_placeholder_with_type_and_size() -> None:
    canonicaliser = Canonicaliser("hidden")
    audio = {"type": "input_audio", "input_audio": {"data": "QUJD" * 100, "format": "wav"}}
    part = canonicaliser.canonical_message({"role": "user", "content": [audio]})["content"][0]
    assert part["input_audio"]["format"] == "wav"
    assert "400 bytes" in part["input_audio"]["data"]
    assert "400 bytes" in canonicaliser.omissions()[0]


@pytest.mark.parametrize("calls", [{"id": "a"}, "odd", [1, None], [{"function": None}], [{"function": {"name": 3}}]])
def test_malformed_calls_are_kept_as_they_are(calls: Any) -> None:
    shown = canonical({"role": "assistant", "content": "", "tool_calls": calls})[0]["tool_calls"]
    assert shown[0]["id"] == "c1"


def test_arguments_that_are_an_object_become_json_text() -> None:
    one = {"id": "a", "type": "function", "function": {"name": "f", "arguments": {"q": "你"}}}
    assert (
        canonical({"role": "assistant", "tool_calls": [one]})[0]["tool_calls"][0]["function"]["arguments"]
        == '{"q": "你"}'
    )
