"""Messages, groups and rows in the forms in use, whole and with places changed, are read as the golden file says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import golden
from calipers.errors import CalipersError
from calipers.inputs import as_group, canonical

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
MESSAGES: dict[str, list[Any]] = {
    "chat": [
        {"role": "system", "content": "s"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [CALL],
            "reasoning_content": "rc",
            "finish_reason": "length",
        },
        {"role": "tool", "tool_call_id": "c1", "content": "42", "name": "f"},
        {"role": "assistant", "content": "done", "refusal": None, "audio": {"id": "a", "transcript": "said"}},
    ],
    "choices": [
        {
            "finish_reason": "stop",
            "index": 0,
            "message": {"role": "assistant", "content": "a", "reasoning": "r", "tool_calls": [CALL]},
        }
    ],
    "completion": [
        {
            "object": "chat.completion",
            "choices": [{"message": {"role": "assistant", "content": "a"}, "finish_reason": "content_filter"}],
        }
    ],
    "blocks": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "q"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hmm", "signature": "s"},
                {"type": "redacted_thinking", "data": "zz"},
                {"type": "text", "text": "I look.", "citations": None},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1}},
                {"type": "server_tool_use", "id": "t2", "name": "web_search", "input": {"query": "x"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "t2",
                    "content": [{"type": "web_search_result", "title": "T", "url": "https://a"}],
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "text", "text": "r"}],
                    "is_error": True,
                },
                {"type": "text", "text": "go on"},
            ],
        },
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "end"}],
            "stop_reason": "max_tokens",
        },
    ],
    "responses": [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": "https://a/b.png"}],
        },
        {
            "id": "r",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "think"}],
            "content": [{"type": "reasoning_text", "text": "more"}],
        },
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "status": "incomplete",
            "content": [{"type": "output_text", "text": "Let me look."}, {"type": "refusal", "refusal": "no"}],
        },
        {"type": "function_call", "call_id": "c1", "id": "fc1", "name": "f", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "raw"},
        {"type": "function_call_output", "call_id": "c1", "output": "r1"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "r2"}]},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "x"}},
    ],
    "response": [
        {
            "object": "response",
            "id": "x",
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "t"}]}],
        }
    ],
    "langchain": [
        {"type": "system", "content": "s", "additional_kwargs": {}},
        {
            "type": "human",
            "content": [{"type": "text", "text": "look"}, {"type": "image", "url": "https://a/b.png"}],
            "name": None,
        },
        {
            "type": "ai",
            "content": "t",
            "additional_kwargs": {"reasoning_content": "rc", "refusal": None},
            "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}],
            "invalid_tool_calls": [
                {"type": "invalid_tool_call", "id": "c9", "name": "g", "args": "{bad", "error": "e"}
            ],
        },
        {"type": "tool", "content": "boom", "name": "f", "tool_call_id": "c1", "artifact": {"x": 1}, "status": "error"},
        {"type": "chat", "content": "x", "role": "narrator"},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "HumanMessage"],
            "kwargs": {"content": "hi", "type": "human"},
        },
    ],
    "mcp": [
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": {"content": [{"type": "text", "text": "boom"}], "isError": True, "_meta": {"x": 1}},
        },
        {
            "content": [
                {"type": "text", "text": "found one"},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            ],
            "isError": False,
            "structuredContent": {"a": 1},
        },
        {
            "role": "tool",
            "content": [
                {"type": "resource", "resource": {"uri": "file:///a", "text": "body", "mimeType": "text/plain"}}
            ],
        },
        {
            "role": "tool",
            "content": [{"type": "resource_link", "uri": "file:///b", "name": "b"}],
            "structuredContent": {"result": 5},
        },
    ],
}
GROUPS: dict[str, Any] = {
    "plain": {
        "group_id": "g",
        "context": [{"role": "user", "content": "q"}],
        "trajectories": [
            {"id": "a", "messages": [{"role": "assistant", "content": "1"}], "reward": 0.5},
            {
                "id": "b",
                "messages": [{"role": "assistant", "content": "2"}],
                "gold": 1,
                "metadata": {"k": 1},
                "more": "x",
            },
        ],
        "rubric": "be kind",
        "note": 3,
    },
    "lists": [
        [{"role": "user", "content": "q"}, {"role": "assistant", "content": "1"}],
        [{"role": "user", "content": "q"}, {"role": "assistant", "content": "2"}],
    ],
    "completions": {"prompt": "q", "completions": ["1", "2", [{"role": "assistant", "content": "3"}]]},
    "rollouts": {
        "trajectories": [
            {
                "messages_and_choices": [
                    {"role": "user", "content": "q"},
                    {"message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"},
                ],
                "tools": None,
                "additional_histories": [],
                "reward": 1.0,
                "metadata": {"k": 1},
                "metrics": {},
            }
        ],
        "exceptions": [],
    },
    "criteria": {
        "group_id": "g",
        "rubric": {
            "title": "t",
            "criteria": [
                {"id": "x", "text": "Is x.", "points": 2, "tags": ["axis:a"]},
                {"text": "Is y.", "points": -1, "veto": True},
            ],
        },
        "trajectories": [
            {
                "messages": [{"role": "assistant", "content": "1"}],
                "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
            }
        ],
        "tools": [{"name": "g", "description": "d", "input_schema": {"type": "object"}}],
    },
}


def outcome(read: Callable[[Any], Any], value: Any) -> Any:
    """What is read as plain JSON, or how it is refused."""
    try:
        return json.loads(json.dumps(read(value), default=repr, sort_keys=True))
    except CalipersError as error:
        return type(error).__name__


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("name", MESSAGES)
def test_messages_are_read_as_ever(name: str, part: int) -> None:
    versions = golden.altered(MESSAGES[name], 120)[part::4]
    golden.check("messages", {json.dumps(one): outcome(canonical, one) for one in versions})


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("name", GROUPS)
def test_groups_are_read_as_ever(name: str, part: int) -> None:
    versions = golden.altered(GROUPS[name], 100)[part::2]
    golden.check("groups", {json.dumps(one): outcome(grouped, one) for one in versions})


def grouped(value: Any) -> Any:
    return as_group(value).to_dict()
