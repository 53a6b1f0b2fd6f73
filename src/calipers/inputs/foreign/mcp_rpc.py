"""Recorded MCP traffic: JSON-RPC requests and replies.

``tools/call`` is a tool call by its tool's name, ``resources/read`` and ``prompts/get`` are calls by their method's.
Handshakes, lists, pings and notifications, and the replies to them, are bookkeeping and are ignored. Source: the
schema of the Model Context Protocol.
"""

from __future__ import annotations

from typing import Any

from calipers.errors import InputError
from calipers.inputs import mcp
from calipers.inputs.foreign.pending import Pending, tool_call, tool_result
from calipers.inputs.plain import compact_json

_CALLS = frozenset(("tools/call", "resources/read", "prompts/get"))
_SILENT = ("initialize", "ping", "notifications/", "logging/", "roots/list", "completion/complete", "resources/",
           "tools/list", "prompts/list")  # fmt: skip


def is_mcp_rpc(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a JSON-RPC 2.0 message."""
    return value.get("jsonrpc") == "2.0" and "role" not in value


def chat_messages_of_mcp_rpc(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a JSON-RPC message to chat messages. Raises InputError for a method that is neither a call nor
    bookkeeping, such as ``sampling/createMessage``.
    """
    own = "rpc" + str(value.get("id"))
    method = value.get("method")
    if isinstance(method, str):
        if method in _CALLS:
            pending.ignored.discard(own)
            return [_call(method, value, pending)]
        if not method.startswith(_SILENT):
            raise InputError(f"is the MCP request {method[:40]!r}, which is no part of a conversation; leave it out")
        pending.ignored.add(own)
        return []
    if own in pending.ignored:
        return []
    call_id = pending.answered(call_id=value.get("id")) if value.get("id") is not None else None
    if "error" in value:
        return [tool_result(compact_json(value["error"]), call_id, failed=True)]
    result = value.get("result")
    if isinstance(result, dict) and (mcp.is_mcp_result(result) or isinstance(result.get("content"), list)):
        return [{**result, "role": "tool", "tool_call_id": call_id}]
    return [tool_result(compact_json(result), call_id)]


def _call(method: str, value: dict[str, Any], pending: Pending) -> dict[str, Any]:
    params = value.get("params") or {}
    name, arguments = (params.get("name"), params.get("arguments")) if method == "tools/call" else (method, params)
    call_id = pending.opened(str(name), str(value["id"]) if value.get("id") is not None else None)
    return {"role": "assistant", "content": None, "tool_calls": [tool_call(call_id, str(name), arguments)]}
