"""Recorded MCP traffic: requests of client and server may have the same id at the same time."""

from __future__ import annotations

from typing import Any

import pytest

from calipers.inputs import canonical

TEXT: dict[str, Any] = {"content": [{"type": "text", "text": "found"}]}


def call(own: Any, name: str = "look") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": own, "method": "tools/call", "params": {"name": name, "arguments": {}}}


def request(own: Any, method: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": own, "method": method}


def reply(own: Any, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": own, "result": result}


def failed(own: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": own, "error": {"code": 1, "message": "broken"}}


def results(*messages: dict[str, Any]) -> list[tuple[str | None, Any]]:
    return [(one.get("tool_call_id"), one["content"]) for one in canonical(list(messages)) if one["role"] == "tool"]


@pytest.mark.parametrize(
    "messages",
    [
        (call(1), request(1, "ping"), reply(1, {}), reply(1, TEXT)),
        (call(1), request(1, "ping"), reply(1, TEXT), reply(1, {})),
        (request(1, "ping"), call(1), reply(1, {}), reply(1, TEXT)),
        (call(1), request(1, "roots/list"), reply(1, {"roots": []}), reply(1, TEXT)),
        (call(1), request(1, "roots/list"), reply(1, TEXT), reply(1, {"roots": []})),
        (call(1), reply(1, {"action": "accept", "content": {"name": "x"}}), reply(1, TEXT)),
        (
            call(1),
            reply(1, {"role": "assistant", "model": "m", "content": {"type": "text", "text": "x"}}),
            reply(1, TEXT),
        ),
        (request(1, "tools/list"), reply(1, {"tools": []}), call(1), reply(1, TEXT), reply(1, {"roots": []})),
    ],
)
def test_a_result_goes_to_the_call_and_not_to_the_other_sides_request(messages: tuple[dict[str, Any], ...]):
    assert results(*messages) == [("1", "found")]


def test_ids_that_are_used_again_stay_apart():
    first, second = {"content": [{"type": "text", "text": "one"}]}, {"content": [{"type": "text", "text": "two"}]}
    assert results(call(1), reply(1, first), call(1), reply(1, second)) == [("1", "one"), ("1-2", "two")]
    assert results(call(1), call("1"), reply("1", second), reply(1, first)) == [("1-2", "two"), ("1", "one")]


def test_an_error_or_an_odd_result_is_never_lost():
    assert results(call(1), request(1, "ping"), failed(1), reply(1, {})) == [("1", '{"code":1,"message":"broken"}')]
    assert results(call(1), reply(1, {"odd": 1})) == [("1", '{"odd":1}')]
    assert results(reply(7, {"odd": 1})) == [("7", '{"odd":1}')]
    assert results(call(1), reply(1, {})) == [("1", "{}")]


def test_what_a_resource_and_a_prompt_hold_is_the_result_of_their_calls():
    read = {"contents": [{"uri": "u", "text": "page"}]}
    assert results(request(1, "resources/read"), request(1, "ping"), reply(1, {}), reply(1, read)) == [
        ("1", '{"contents":[{"uri":"u","text":"page"}]}')
    ]
