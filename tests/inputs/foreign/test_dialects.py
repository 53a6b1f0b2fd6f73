"""Messages of other libraries are read, with everything that a judge has to see."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import canonical
from inputs.foreign.dialect_messages import (
    AI_SDK,
    AI_SDK_MODEL,
    BEDROCK,
    DIALECTS,
    GEMINI,
    IMAGE,
    MCP,
    OTEL,
    SMOLAGENTS,
    TAU2,
)

CALLED = {name for name, given in DIALECTS.items() if "argument" in json.dumps(given)}


def said(value: Any) -> set[str]:
    """Return the texts that begin with ``say`` anywhere in ``value``."""
    return set(re.findall(r"say \w+", json.dumps(value)))


@pytest.mark.parametrize("name", DIALECTS)
def test_nothing_that_was_said_is_lost(name: str):
    messages = canonical(DIALECTS[name])
    assert said(messages) == said(DIALECTS[name])
    assert canonical(messages) is messages or canonical(messages) == messages


@pytest.mark.parametrize("name", sorted(CALLED))
def test_a_result_belongs_to_its_call(name: str):
    messages = canonical(DIALECTS[name])
    first = next(message for message in messages if message.get("tool_calls"))
    call = first["tool_calls"][0]
    assert first["role"] == "assistant"
    assert call["type"] == "function"
    assert "say argument" in call["function"]["arguments"]
    assert call["id"] in [message.get("tool_call_id") for message in messages if message["role"] == "tool"]


@pytest.mark.parametrize("name", DIALECTS)
def test_the_callers_messages_are_not_changed(name: str):
    before = deepcopy(DIALECTS[name])
    canonical(DIALECTS[name])
    assert DIALECTS[name] == before


def test_results_of_gemini_without_ids_go_to_the_calls_in_order():
    messages = canonical(GEMINI)
    ids = [call["id"] for call in messages[1]["tool_calls"]]
    results = [message for message in messages if message["role"] == "tool"][:2]
    assert [result["tool_call_id"] for result in results] == ids
    assert [result.get("is_error") for result in results] == [None, True]
    assert results[0]["content"] == "say result"
    assert messages[0]["content"][1] == {"type": "image_url", "image_url": {"url": IMAGE}}
    assert messages[1]["reasoning"] == "say thought"


def test_a_failed_tool_of_converse_is_an_error_with_all_its_content():
    tool = canonical(BEDROCK)[2]
    assert (tool["role"], tool["tool_call_id"], tool["is_error"]) == ("tool", "t1", True)
    assert tool["content"][2] == {"type": "image_url", "image_url": {"url": IMAGE}}


def test_a_final_answer_of_smolagents_is_said_once():
    assert [message["content"] for message in canonical(SMOLAGENTS)[-2:]] == ["say last", "say answer"]


def test_the_handshake_of_mcp_is_no_message():
    assert [message["role"] for message in canonical(MCP)] == ["assistant", "tool", "assistant", "tool"]


def test_clock_and_cost_of_tau2_are_not_shown():
    messages = canonical(TAU2)
    assert messages[0] == {"role": "user", "content": "say question"}
    assert messages[2] == {"role": "tool", "content": "say result", "tool_call_id": "u1", "is_error": True}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"role": "model", "parts": [{"hologram": 1}]}, "message 1 part 1 has the keys hologram; a Gemini part"),
        ({"role": "model", "parts": ["a"]}, "part 1 must be an object, not text"),
        ({"from": "narrator", "value": "a"}, "is from 'narrator'; known are human"),
        ({"kind": "response", "parts": [{"part_kind": "smell"}]}, "part 1 has the unknown part_kind 'smell'"),
        ({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage"}, "'sampling/createMessage'"),
        ({"kind": "DreamEvent", "source": "agent"}, "unknown kind 'DreamEvent'"),
        ({"step_id": 1, "source": "dog", "message": "a"}, "has the source 'dog'; ATIF has agent"),
        ({"step_id": 1, "source": "agent", "message": "a", "tool_calls": 5}, "looks like a message of atif"),
        ({"role": "assistant", "turn_idx": 1, "is_audio": True, "content": "UklG"}, "is audio"),
    ],
)
def test_what_a_dialect_does_not_know_is_an_error_that_says_so(message: Any, reason: str):
    with pytest.raises(InputError, match=reason):
        canonical([message])


def action(summary: str, arguments: str) -> dict[str, Any]:
    call = {"id": "c", "name": "look", "arguments": arguments}
    return {"kind": "ActionEvent", "source": "agent", "thought": [], "summary": summary, "tool_call": call}


@pytest.mark.parametrize(
    ("summary", "arguments", "content"),
    [
        ("see the caf\u00e9", '{"at": 1}', "see the caf\u00e9"),
        ("see the caf\u00e9", '{"at": 1, "summary": "see the caf\u00e9"}', None),
        ("see the caf\u00e9", r'{"at": 1, "summary": "see the caf\u00e9"}', None),
        ('look: {"at": 1}', '{"at":1}', None),
    ],
)
def test_the_summary_of_an_action_is_shown_once(summary: str, arguments: str, content: str | None):
    (message,) = canonical([action(summary, arguments)])
    assert message["content"] == content


def test_reasoning_beside_a_message_and_in_it_is_shown_once():
    said = {"role": "assistant", "content": "a", "reasoning_content": "why"}
    event = {"kind": "MessageEvent", "source": "agent", "llm_message": said, "reasoning_content": "why"}
    assert canonical([event])[0]["reasoning"] == "why"
    assert canonical([event | {"reasoning_content": "how"}])[0]["reasoning"] == "how\n\nwhy"
    del said["reasoning_content"]
    assert canonical([event])[0]["reasoning"] == "why"


@pytest.mark.parametrize(
    ("outcome", "is_error"), [("success", []), ("failed", [True]), ("denied", [True]), ("retried", [True])]
)
def test_an_outcome_of_pydantic_ai_says_whether_a_result_is_an_error(outcome: str, is_error: list[bool]):
    part = {"part_kind": "tool-return", "tool_name": "look", "content": "x", "tool_call_id": "p", "outcome": outcome}
    (message,) = canonical([{"kind": "request", "parts": [part]}])
    assert (message["content"], [message[key] for key in ("is_error",) if key in message]) == ("x", is_error)


def test_reasoning_alone_makes_a_step_of_smolagents_a_message():
    step = {"step_number": 1, "model_output": None, "model_output_message": {"content": None, "reasoning_content": "w"}}
    assert [message["reasoning"] for message in canonical([step])] == ["w"]


def test_parts_that_name_their_type_are_not_gemini_s():
    """Reasoning would be read as an answer."""
    (reply,) = canonical([{"role": "assistant", "parts": [{"type": "reasoning", "text": "t"}, text_part("a")]}])
    assert reply == {"role": "assistant", "content": "a", "reasoning": "t"}
    with pytest.raises(InputError, match="message 1 part 1 has the unknown type 'hologram'"):
        canonical([{"role": "assistant", "parts": [{"type": "hologram", "text": "t"}]}])


def text_part(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def test_the_results_of_calls_side_by_side_follow_all_of_them():
    _, calls, *results, _ = canonical(AI_SDK)
    assert [call["id"] for call in calls["tool_calls"]] == ["t1", "t2", "t3"]
    assert [(one["tool_call_id"], one.get("is_error")) for one in results] == [("t1", None), ("t2", True), ("t3", None)]
    assert results[0]["content"] == '{"found":"say result"}'


def test_a_call_that_was_denied_has_failed_and_one_that_still_runs_has_no_result():
    part = {"type": "tool-rm", "toolCallId": "t", "input": {}}
    denied = {"state": "output-denied", "approval": {"id": "p", "approved": False, "reason": "too risky"}}
    _, result = canonical([{"role": "assistant", "parts": [part | denied]}])
    assert (result["content"], result["is_error"]) == ("denied: too risky", True)
    (running,) = canonical([{"role": "assistant", "parts": [part | {"state": "input-available"}]}])
    assert running["tool_calls"][0]["function"] == {"name": "rm", "arguments": "{}"}


def test_an_otel_reply_that_was_cut_off_says_so():
    messages = canonical(OTEL)
    assert messages[-1] == {"role": "assistant", "content": "say answer", "finish_reason": "length"}
    assert [part["image_url"]["url"] for part in messages[0]["content"][1:]] == [IMAGE, "https://x/say.png"]


def request_of(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), **more}


def returned(content: Any) -> Any:
    part = {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": "p1", "content": content}
    return canonical([request_of(part)])[0]["content"]


def test_instructions_that_each_request_of_pydantic_ai_repeats_are_told_once():
    asked = {"part_kind": "user-prompt", "content": "q"}
    rules = [request_of(asked, instructions=text) for text in ("one", "one", "two")]
    assert [(one["role"], one["content"]) for one in canonical(rules)] == [
        ("system", "one"), ("user", "q"), ("user", "q"), ("system", "two"), ("user", "q"),
    ]  # fmt: skip


def test_what_a_tool_of_pydantic_ai_returned_is_whole_and_its_files_are_no_text():
    page = {"kind": "page", "url": "http://a", "body": "long"}
    assert json.loads(returned(page)) == page
    assert json.loads(returned([page])) == [page]
    image = {"kind": "binary", "data": "AAAA", "media_type": "image/png"}
    assert returned([1, page, image]) == [
        {"type": "text", "text": "1"},
        {"type": "text", "text": json.dumps(page, separators=(",", ":"))},
        {"type": "image_url", "image_url": {"url": IMAGE}},
    ]


def test_a_reply_of_pydantic_ai_that_was_cut_off_says_so_and_a_hidden_compaction_is_no_message():
    parts = [{"part_kind": "compaction", "content": None}, {"part_kind": "text", "content": "t"}]
    reply = {"kind": "response", "parts": parts, "finish_reason": "length"}
    assert canonical([reply]) == ({"role": "assistant", "content": "t", "finish_reason": "length"},)


def test_results_of_the_ai_sdk_are_files_errors_and_refusals_as_they_were():
    results = [one for one in canonical(AI_SDK_MODEL) if one["role"] == "tool"]
    assert results[0]["content"][1] == {"type": "image_url", "image_url": {"url": IMAGE}}
    assert [one.get("is_error") for one in results] == [None, True, True]
    assert [one["content"] for one in results[1:]] == ['{"is":"say old"}', "denied: say no"]
    assert "application/pdf" in canonical(AI_SDK_MODEL)[0]["content"][1]["file"]["file_data"]
