"""Content parts, tool calls and tool definitions of every API in OpenAI's forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs.parts import content_parts, joined_block_text, openai_tool_call, openai_tool_definitions
from inputs.written import not_refused

PARTS = Path(__file__).parents[1] / "fixtures" / "content_parts.jsonl"
"""A content part as an API writes it, and as it is read."""


def test_every_form_of_the_same_part_is_the_same_part() -> None:
    cases = [json.loads(line) for line in PARTS.read_text(encoding="utf-8").splitlines()]
    assert not [(case, found) for case in cases if (found := content_parts(case["part"])) != case["read"]]


def test_what_is_no_part_is_refused_with_the_reason() -> None:
    odd = [(block, "content part must be text") for block in (5, None, {}, {"type": 3})]
    empty = [({"type": "text"}, "needs its 'text'"), ({"type": "text", "text": None}, "needs its 'text'")]
    unseen = ({"type": "image_url", "image_url": {"url": None}}, "needs a URL or base64 data")
    assert not not_refused(content_parts, [*odd, *empty, unseen])


def test_reasoning_text_is_found_in_every_nesting() -> None:
    assert joined_block_text({"type": "thinking", "thinking": "a", "signature": "s"}) == "a"
    assert joined_block_text([{"type": "reasoning.text", "text": "a"}, {"summary": [{"text": "b"}]}]) == "a\n\nb"
    assert joined_block_text({"type": "redacted_thinking", "data": "zz"}) == joined_block_text(None) == ""


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b":1,"a":null}'}}
ARGS = {"b": 1, "a": None}
CALLS: list[Any] = [
    CALL,
    json.dumps(CALL),
    {"id": "c1", "type": "function", "index": 0, "function": {"name": "f", "arguments": ARGS}},
    {"type": "tool_use", "id": "c1", "name": "f", "input": ARGS},
    {"name": "f", "args": ARGS, "id": "c1", "type": "tool_call"},
    {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": '{"b":1,"a":null}'},
    {"id": "c1", "type": "custom", "custom": {"name": "f", "input": '{"b":1,"a":null}'}},
    {"id": "c1", "function": "f", "arguments": ARGS},
]


def test_every_form_of_the_same_call_is_the_same_call() -> None:
    assert [openai_tool_call(call, fallback_id="x") for call in CALLS] == [CALL] * len(CALLS)
    bare = openai_tool_call({"name": "f"}, fallback_id="x")
    assert bare == {"id": "x", "type": "function", "function": {"name": "f", "arguments": ""}}
    malformed = openai_tool_call({"name": "f", "args": "{bad", "id": 7}, fallback_id="x")
    assert (malformed["id"], malformed["function"]["arguments"]) == ("7", "{bad")
    for call in ("f", "{oops", None, {}, {"function": {"arguments": "{}"}}, {"function": "f"}):
        with pytest.raises(InputError, match="a tool call"):
            openai_tool_call(call, fallback_id="x")


SCHEMA = {"type": "object", "properties": dict[str, Any]()}
DEFINITION = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}
DEFINITIONS: list[Any] = [
    DEFINITION,
    json.dumps(DEFINITION),
    {"name": "f", "description": "d", "input_schema": SCHEMA},
    {"name": "f", "description": "d", "inputSchema": SCHEMA, "title": None},
    {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA, "strict": None},
    {"function": DEFINITION["function"]},
]


def test_every_form_of_the_same_tool_is_the_same_definition() -> None:
    assert openai_tool_definitions(DEFINITIONS) == (DEFINITION,) * len(DEFINITIONS)
    assert openai_tool_definitions(json.dumps(DEFINITIONS)) == (DEFINITION,) * len(DEFINITIONS)
    assert openai_tool_definitions({"tools": DEFINITIONS[2:4]}) == (DEFINITION, DEFINITION)
    assert openai_tool_definitions([]) is None
    assert openai_tool_definitions([{"type": "web_search", "filters": None}]) == ({"type": "web_search"},)
    (scrubbed,) = openai_tool_definitions('[{"name": "\\ud800", "parameters": {}}]') or ()
    assert scrubbed["function"]["name"] == "\ufffd"
    for tools in (5, "", "f", "{oops", {"a": 1}, ["f"]):
        with pytest.raises(InputError, match="tool"):
            openai_tool_definitions(tools)
