from __future__ import annotations

from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import canonical

OUTPUT: list[dict[str, Any]] = [
    {"id": "r", "type": "reasoning", "summary": [{"type": "summary_text", "text": "think"}]},
    {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
    },
    {"type": "function_call", "call_id": "c1", "id": "fc1", "name": "f", "arguments": "{}", "status": "completed"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "raw text"},
]


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


TURN = {
    "role": "assistant",
    "content": "Let me look.",
    "reasoning": "think",
    "tool_calls": [call("c1", "f", "{}"), call("c2", "g", "raw text")],
}


def test_reasoning_words_and_calls_of_one_turn_are_one_message() -> None:
    assert canonical(OUTPUT) == (TURN,)


def test_outputs_answer_their_calls_and_the_next_reasoning_begins_a_turn() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        *OUTPUT,
        {"type": "function_call_output", "call_id": "c1", "output": "r1"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "r2"}]},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "more"}]},
        {"role": "assistant", "content": "Done."},
    ]
    assert canonical(items) == (
        {"role": "user", "content": "hi"},
        TURN,
        {"role": "tool", "content": "r1", "tool_call_id": "c1"},
        {"role": "tool", "content": "r2", "tool_call_id": "c2"},
        {"role": "assistant", "content": "Done.", "reasoning": "more"},
    )


def test_a_whole_response_is_its_output() -> None:
    assert canonical([{"object": "response", "id": "x", "model": "m", "output": OUTPUT}]) == (TURN,)


def test_two_replies_in_a_row_stay_two_messages() -> None:
    reply = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
    assert len(canonical([reply, reply])) == 2


@pytest.mark.parametrize(
    ("item", "name", "arguments", "content"),
    [
        (
            {"type": "mcp_call", "id": "k", "name": "t", "arguments": "{}", "output": "out", "error": None},
            "t",
            "{}",
            "out",
        ),
        (
            {"type": "code_interpreter_call", "id": "k", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
            "code_interpreter",
            "1+1",
            '[{"type":"logs","logs":"2"}]',
        ),
        (
            {"type": "image_generation_call", "id": "k", "result": "AAAA", "size": "1x1"},
            "image_generation",
            '{"size":"1x1"}',
            [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
        ),
    ],
)
def test_tools_run_by_the_provider_are_a_call_and_its_result(
    item: dict[str, Any], name: str, arguments: str, content: Any
) -> None:
    asked, answered = canonical([item])
    assert asked["tool_calls"] == [call("k", name, arguments)]
    assert answered == {"role": "tool", "content": content, "tool_call_id": "k"}


def test_a_call_the_provider_does_not_answer_here_stands_alone_with_what_it_holds() -> None:
    item = {
        "type": "web_search_call",
        "id": "w",
        "status": "completed",
        "action": {"type": "search", "query": "q", "x": None},
    }
    assert canonical([item])[0]["tool_calls"] == [call("w", "web_search", '{"action":{"type":"search","query":"q"}}')]


def test_a_failed_provider_call_is_an_error() -> None:
    item = {"type": "mcp_call", "id": "k", "name": "t", "arguments": "{}", "output": None, "error": "no route"}
    assert canonical([item])[1] == {"role": "tool", "content": "no route", "tool_call_id": "k", "is_error": True}


@pytest.mark.parametrize(
    ("status", "error"), [("failed", True), ("incomplete", True), ("completed", False), (None, False)]
)
def test_an_output_says_whether_its_tool_failed(status: str | None, *, error: bool) -> None:
    (read,) = canonical([{"type": "function_call_output", "call_id": "c", "output": "r", "status": status}])
    assert read == {"role": "tool", "content": "r", "tool_call_id": "c"} | ({"is_error": True} if error else {})


def test_a_screenshot_is_an_image() -> None:
    shot = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}
    read = canonical([{"type": "computer_call_output", "call_id": "c", "output": shot}])
    assert read[0]["content"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]


def test_bookkeeping_items_are_no_messages() -> None:
    silent = [{"type": "item_reference", "id": "i"}, {"type": "compaction", "encrypted_content": "zz"}]
    assert canonical([*silent, {"type": "reasoning", "summary": [], "encrypted_content": "zz"}]) == ()


def test_a_real_response_reads_like_its_recorded_form() -> None:
    responses = pytest.importorskip(
        "openai.types.responses", reason="openai is not installed: only recorded forms are tested"
    )
    body = {"id": "x", "object": "response", "created_at": 1, "model": "m", "tools": [], "tool_choice": "auto"}
    real = responses.Response.model_validate({**body, "parallel_tool_calls": True, "output": OUTPUT})
    assert canonical([real]) == canonical(real.output) == (TURN,)


@pytest.mark.parametrize("item", [None, "text", 5, [OUTPUT[1]]], ids=str)
def test_an_item_of_a_response_that_is_no_object_is_refused_by_number(item: Any) -> None:
    with pytest.raises(InputError, match=r"message 2 has .* in its 'output'"):
        canonical([{"role": "user", "content": "hi"}, {"object": "response", "output": [*OUTPUT, item]}])


def test_a_reasoning_items_summary_and_content_are_both_read() -> None:
    item = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "in short"}],
        "content": [{"type": "reasoning_text", "text": "at length"}],
    }
    assert canonical([item])[0]["reasoning"] == "in short\n\nat length"


def test_all_that_a_tool_returned_is_read() -> None:
    call = {"type": "code_interpreter_call", "id": "c", "code": "x", "outputs": "first", "results": ["second"]}
    assert canonical([call])[1]["content"] == 'first\n\n["second"]'
    item = {"type": "function_call_output", "call_id": "c", "output": None, "error": "broke"}
    assert canonical([item]) == ({"role": "tool", "content": "broke", "tool_call_id": "c", "is_error": True},)


def test_the_answer_to_an_approval_request_is_its_result() -> None:
    asked = {"type": "mcp_approval_request", "id": "a", "name": "rm", "server_label": "s", "arguments": "{}"}
    answer = {"type": "mcp_approval_response", "approval_request_id": "a", "approve": False, "reason": "not that one"}
    call_message, denied = canonical([asked, answer])
    assert call_message["tool_calls"] == [call("a", "rm", "{}")]
    assert denied == {"role": "tool", "content": "denied: not that one", "tool_call_id": "a", "is_error": True}
    (_, given) = canonical([asked, answer | {"approve": True, "reason": None}])
    assert given == {"role": "tool", "content": "approved", "tool_call_id": "a"}


def test_the_tools_that_a_tool_search_found_are_its_result() -> None:
    (found,) = canonical([{"type": "tool_search_output", "call_id": "t", "tools": [{"type": "function", "name": "f"}]}])
    assert found == {"role": "tool", "content": '[{"type":"function","name":"f"}]', "tool_call_id": "t"}


def test_the_instructions_of_responses_are_told_once_and_first():
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
    answer = {"object": "response", "instructions": "rules", "output": [item]}
    asked = {"role": "user", "content": "q"}
    told = [(one["role"], one["content"]) for one in canonical([asked, answer, asked, answer])]
    turn = [("user", "q"), ("assistant", "a")]
    assert told == [("system", "rules"), *turn, *turn]
