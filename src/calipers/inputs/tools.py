"""Convert tool calls and tool definitions of any API to OpenAI's form. Not responsible for the messages around them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.errors import InputError
from calipers.inputs.plain import compact_json, plain_data, type_in_words, without_nan, without_surrogates
from calipers.types import Tool


def openai_tool_call(call: Any, *, fallback_id: str) -> dict[str, Any]:
    """Convert a foreign tool call to OpenAI's form; arguments given as data become compact JSON with their key order.

    Understands OpenAI (function and custom), Anthropic ``tool_use``, LangChain (``args``), Responses (``call_id``), and
    inspect_ai's calls, whose ``function`` is a name.
    A call without an id gets ``fallback_id``; JSON text of a call, as verifiers wrote it, is parsed. Raises InputError
    for a call without a name.
    """
    if isinstance(call, str):
        call = _parsed(call)
    if not isinstance(call, dict):
        raise InputError(f"a tool call must be an object with a name and arguments, not {type_in_words(call)}")
    body = call.get("function") or call.get("custom") or call
    if isinstance(body, str) and ("arguments" in call or "args" in call):
        body = {**call, "name": body}
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        raise InputError('a tool call needs a name: {"id", "type": "function", "function": {"name", "arguments"}}')
    call_id = call.get("call_id") or call.get("id") or fallback_id
    return {
        "id": str(call_id),
        "type": "function",
        "function": {"name": body["name"], "arguments": _arguments(body)},
    }


def _parsed(text: str) -> Any:
    """Return what a text is the JSON of, else the text. Raises InputError for data nested too deeply."""
    try:
        found = without_surrogates(json.loads(text))
    except (ValueError, RecursionError):
        return text
    return plain_data(found)


def _arguments(body: Mapping[str, Any]) -> str:
    for key in ("arguments", "args", "input", "parameters"):
        given = body.get(key)
        if given is not None:
            return given if isinstance(given, str) else compact_json(given)
    return ""


def openai_tool_definitions(tools: Any) -> tuple[Tool, ...] | None:
    """Convert foreign tool definitions to OpenAI's form, an empty list to None; providers' own tools stay unchanged.

    Understands Anthropic (``input_schema``), MCP (``inputSchema``) and Responses (flat) definitions, and JSON text of
    one or of all, as data sets have it.
    """
    if isinstance(tools, str):
        tools = _parsed(tools)
    if not isinstance(tools, Sequence) or isinstance(tools, str | bytes):
        tools = plain_data(tools)
    if isinstance(tools, dict) and isinstance(tools.get("tools"), list):  # an MCP list_tools result
        tools = tools["tools"]
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise InputError(f"'tools' must be a list of tool definitions or null, not {type_in_words(tools)}")
    return tuple(_definition(tool) for tool in tools) or None


def _definition(given: Any) -> Tool:
    if type(given) is dict and given.get("type") == "function" and type(given.get("function")) is dict:
        kept: Tool = without_nan(given)
        return given if kept == given else kept
    found = _parsed(given) if isinstance(given, str) else plain_data(given)
    if not isinstance(found, dict):
        raise InputError(f"a tool definition must be an object, not {type_in_words(found)}")
    tool: dict[str, Any] = {key: item for key, item in found.items() if item is not None}
    if isinstance(tool.get("function"), dict):
        return {"type": "function", **tool}
    schema = next((tool[key] for key in ("input_schema", "inputSchema", "parameters") if key in tool), None)
    if schema is None or not isinstance(tool.get("name"), str):
        return tool
    described = {"description": tool["description"]} if "description" in tool else {}
    return {"type": "function", "function": {"name": tool["name"], **described, "parameters": schema}}
