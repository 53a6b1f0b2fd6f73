"""Recorded MCP traffic: JSON-RPC requests and replies.

``tools/call`` is a tool call by its tool's name, ``resources/read`` and ``prompts/get`` are calls by their method's.
Handshakes, lists, pings and notifications, and the replies to them, are bookkeeping and are ignored. Client and server
count their requests apart, and a message does not say who sent it, so requests of both may have one id at the same
time: a reply belongs to the request whose kind of result it has. Source: the schema of the Model Context Protocol.
"""

from __future__ import annotations

from typing import Any

from calipers.errors import InputError
from calipers.inputs import mcp
from calipers.inputs.foreign.pending import Pending, Request, tool_call, tool_result
from calipers.inputs.plain import compact_json

_RESULTS = {
    "tools/call": ("content", "structuredContent", "isError", "toolResult", "task"),
    "resources/read": ("contents",),
    "prompts/get": ("messages",),
    "initialize": ("protocolVersion",),
    "server/discover": ("supportedVersions", "capabilities"),
    "tools/list": ("tools",),
    "prompts/list": ("prompts",),
    "resources/list": ("resources",),
    "resources/templates/list": ("resourceTemplates",),
    "completion/complete": ("completion",),
    "roots/list": ("roots",),
}
"""The keys of a method's result; the results of other methods are empty."""
_CALLS = frozenset(("tools/call", "resources/read", "prompts/get"))
_SILENT = ("initialize", "ping", "notifications/", "logging/", "roots/list", "completion/complete", "resources/",
           "tools/list", "prompts/list", "server/discover", "subscriptions/")  # fmt: skip
_CLIENTS = ("roots", "action", "model")
"""Keys of a client's results: of roots, of a question to the user, of a sampled message."""


def is_mcp_rpc(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a JSON-RPC 2.0 message."""
    return value.get("jsonrpc") == "2.0" and "role" not in value


def chat_messages_of_mcp_rpc(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a JSON-RPC message to chat messages. Raises InputError for a method that is neither a call nor
    bookkeeping, such as ``sampling/createMessage``.
    """
    method = value.get("method")
    if not isinstance(method, str):
        return _reply(value, pending)
    if method in _CALLS:
        return [_call(method, value, pending)]
    if not method.startswith(_SILENT):
        raise InputError(f"is the MCP request {method[:40]!r}, which is no part of a conversation; leave it out")
    if value.get("id") is not None:
        pending.requests.append(Request(compact_json(value["id"]), method, None))
    return []


def _call(method: str, value: dict[str, Any], pending: Pending) -> dict[str, Any]:
    params = value.get("params") or {}
    name, arguments = (params.get("name"), params.get("arguments")) if method == "tools/call" else (method, params)
    call_id = pending.unused_id(None if value.get("id") is None else str(value["id"]))
    if value.get("id") is not None:
        pending.requests.append(Request(compact_json(value["id"]), method, call_id))
    return {"role": "assistant", "content": None, "tool_calls": [tool_call(call_id, str(name), arguments)]}


def _reply(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    own, result = compact_json(value.get("id")), value.get("result")
    waiting = [request for request in pending.requests if request.key == own]
    request = _request_of(value, waiting)
    if request is not None:
        pending.requests.remove(request)
        if request.call_id is None:
            return []
    elif waiting or _is_clients(result):
        return []
    call_id = request.call_id if request else None if value.get("id") is None else str(value["id"])
    if "error" in value:
        return [tool_result(compact_json(value["error"]), call_id, failed=True)]
    if isinstance(result, dict) and (mcp.is_mcp_result(result) or isinstance(result.get("content"), list)):
        return [{**result, "role": "tool", "tool_call_id": call_id}]
    return [tool_result(compact_json(result), call_id)]


def _request_of(value: dict[str, Any], waiting: list[Request]) -> Request | None:
    """Return the request among those ``waiting`` under a reply's id that it answers; None if it answers none.

    Nothing tells whose an error or an unusual result is: it is taken for a call's, so that nothing is lost.
    """
    result = value.get("result")
    if isinstance(result, dict) and "error" not in value:
        keys = result.keys() - {"_meta", "resultType"}
        if not isinstance(result.get("content"), list):  # a user's answer is an object, a sampled message a block
            keys -= {"content"}
        for request in waiting:
            known = _RESULTS.get(request.method, ())
            if (not keys and not known) or any(key in keys for key in known):
                return request
        if _is_clients(result):
            return None
    return next((request for request in waiting if request.call_id is not None), next(iter(waiting), None))


def _is_clients(result: Any) -> bool:
    return isinstance(result, dict) and any(key in result for key in _CLIENTS) and not mcp.is_mcp_result(result)
