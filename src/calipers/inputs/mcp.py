"""Read MCP: the content of tool results (``CallToolResult``), and recorded JSON-RPC messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from calipers.inputs.plain import compact_json

# MCP's wire format uses camelCase; the attributes of its Python SDK are snake_case since version 2.
_ERROR = ("isError", "is_error")
_ENVELOPE = ("_meta", "meta", "resultType", "result_type")
_STRUCTURED = ("structuredContent", "structured_content")


def is_mcp_result(value: Any) -> bool:
    """Return whether a plain value from a groups file is an MCP tool result: content blocks beside one of MCP's own
    keys.
    """
    return (
        isinstance(value, Mapping) and "role" not in value and _content(value) and any(map(value.__contains__, _KEYS))
    )


def has_structured_content(message: Mapping[str, Any]) -> bool:
    """Return whether a foreign MCP tool result without ``content`` has structured content."""
    return any(key in message for key in _STRUCTURED)


def take_mcp_content(message: dict[str, Any]) -> Any:
    """Remove MCP's keys from a foreign tool message and return its content, structured content included.

    Sets ``is_error`` to True if the result was an error. Structured content that a text block repeats, as MCP advises
    servers to do for old clients, is returned only once.
    """
    for key in _ENVELOPE:
        message.pop(key, None)
    flags = [message.pop(key, None) for key in _ERROR]
    if any(flag is True for flag in flags):
        message["is_error"] = True
    structured = next((found for found in [message.pop(key, None) for key in _STRUCTURED] if found is not None), None)
    content = message.pop("content", None)
    if is_mcp_result(content):
        inner = dict(content)
        content = take_mcp_content(inner)
        if inner.get("is_error"):
            message["is_error"] = True
    blocks = content if isinstance(content, list) else [content] if content else []
    if structured is None or _is_repeated(blocks, structured):
        return content
    return [*blocks, {"type": "text", "text": compact_json(structured)}]


def _is_repeated(blocks: Any, structured: Any) -> bool:
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    # SDKs wrap a bare return value as {"result": value}.
    forms = [structured]
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        forms.append(structured["result"])
    return any(isinstance(text, str) and any(_same(text, form) for form in forms) for text in texts)


def _same(text: str, value: Any) -> bool:
    if text == value:
        return True
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):  # text that is not JSON differs from any structured value
        return False


def _content(value: Any) -> bool:
    return isinstance(value, Mapping) and (isinstance(value.get("content"), list) or has_structured_content(value))


_KEYS = (*_ERROR, *_STRUCTURED)


def is_rpc(value: Mapping[str, Any]) -> bool:
    """Return whether a plain dict from a groups file is a JSON-RPC message."""
    return value.get("jsonrpc") == "2.0" and "role" not in value


def chat_messages_of_rpc(value: Mapping[str, Any], called: set[str]) -> list[dict[str, Any]]:
    """Translate a foreign JSON-RPC message: a call of a tool, or the reply to one. All else is bookkeeping.

    ``called`` holds the ids of calls without a reply.
    """
    own = compact_json(value.get("id"))
    if value.get("method") == "tools/call":
        called.add(own)
        params = value.get("params")
        call: dict[str, Any] = {"arguments": {}} | (params if isinstance(params, dict) else {}) | {"id": own}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}]
    if "method" in value or own not in called:
        return []
    called.remove(own)
    reply = {"role": "tool", "tool_call_id": own}
    if "error" in value:
        return [reply | {"content": compact_json(value["error"]), "is_error": True}]
    result = value.get("result")
    return [{**result, **reply} if isinstance(result, dict) and _content(result) else reply | {"content": result}]
