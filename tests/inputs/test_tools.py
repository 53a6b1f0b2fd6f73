from __future__ import annotations

import json
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs.groups import as_group
from calipers.inputs.parts import openai_tool_call, openai_tool_definitions

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b":1,"a":null}'}}
ARGS = {"b": 1, "a": None}


@pytest.mark.parametrize(
    "call",
    [
        CALL,
        {"id": "c1", "type": "function", "index": 0, "function": {"name": "f", "arguments": ARGS}},
        {"type": "tool_use", "id": "c1", "name": "f", "input": ARGS},
        {"name": "f", "args": ARGS, "id": "c1", "type": "tool_call"},
        {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": '{"b":1,"a":null}'},
        {"id": "c1", "type": "custom", "custom": {"name": "f", "input": '{"b":1,"a":null}'}},
    ],
    ids=["openai", "openai-object", "anthropic", "langchain", "responses", "custom"],
)
def test_every_form_of_the_same_call_is_the_same_call(call: dict[str, Any]) -> None:
    assert openai_tool_call(call, fallback_id="x") == CALL


def test_arguments_that_are_text_are_not_touched_even_when_malformed() -> None:
    assert openai_tool_call({"name": "f", "args": "{bad", "id": 7}, fallback_id="x") == {
        "id": "7",
        "type": "function",
        "function": {"name": "f", "arguments": "{bad"},
    }


def test_a_call_without_id_or_arguments_gets_the_fallback_and_empty_text() -> None:
    assert openai_tool_call({"name": "f"}, fallback_id="call_1_1")["id"] == "call_1_1"
    assert openai_tool_call({"name": "f"}, fallback_id="x")["function"]["arguments"] == ""


@pytest.mark.parametrize("call", ["f", None, {}, {"function": {"arguments": "{}"}}, {"function": "f"}])
def test_a_call_without_a_name_is_refused(call: Any) -> None:
    with pytest.raises(InputError, match="a tool call"):
        openai_tool_call(call, fallback_id="x")


DEFINITION = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}},
}
SCHEMA = {"type": "object", "properties": dict[str, Any]()}


@pytest.mark.parametrize(
    "tool",
    [
        DEFINITION,
        {"name": "f", "description": "d", "input_schema": SCHEMA},
        {"name": "f", "description": "d", "inputSchema": SCHEMA, "title": None},
        {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA, "strict": None},
        {"function": DEFINITION["function"]},
    ],
    ids=["openai", "anthropic", "mcp", "responses", "untyped"],
)
def test_every_form_of_the_same_tool_is_the_same_definition(tool: dict[str, Any]) -> None:
    assert openai_tool_definitions([tool]) == (DEFINITION,)


def test_no_tools_are_none_and_provider_tools_are_kept() -> None:
    assert as_group({"trajectories": [[{"role": "user", "content": "a"}]], "tools": None}).tools is None
    assert openai_tool_definitions([]) is None
    assert openai_tool_definitions([{"type": "web_search", "filters": None}]) == ({"type": "web_search"},)


@pytest.mark.parametrize("tools", [5, "f", {"a": 1}, ["f"]])
def test_tools_that_are_no_definitions_are_refused(tools: Any) -> None:
    with pytest.raises(InputError, match="tool"):
        openai_tool_definitions(tools)


def test_definitions_as_json_text_are_definitions() -> None:
    own = {"name": "look", "parameters": {}}
    read = openai_tool_definitions([own])
    assert openai_tool_definitions(json.dumps([own])) == read
    assert openai_tool_definitions([json.dumps(own)]) == read
    (scrubbed,) = openai_tool_definitions('[{"name": "\\ud800", "parameters": {}}]') or ()
    assert scrubbed["function"]["name"] == "\ufffd"
    for text in ("", "f", "{oops", "7"):
        with pytest.raises(InputError, match="'tools' must be a list of tool definitions or null, not"):
            openai_tool_definitions(text)
    with pytest.raises(InputError, match="a tool definition must be an object, not text"):
        openai_tool_definitions(["f"])
