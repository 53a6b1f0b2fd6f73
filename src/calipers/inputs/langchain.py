"""Read LangChain and LangGraph messages: model dumps, and the output of ``messages_to_dict`` and ``dumpd``.

Only the envelope is read here.
"""

from __future__ import annotations

from typing import Any

from calipers.errors import InputError
from calipers.inputs.parts import REASONING
from calipers.inputs.plain import type_in_words

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
_TYPES = frozenset((*_ROLES, "chat", "remove", "developer"))
_OPENAI_ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function"))


def is_langchain_message(value: dict[str, Any]) -> bool:
    """Return whether a plain dict from a groups file is a LangChain message in any of its serialised forms."""
    if value.get("lc") == 1 and isinstance(value.get("kwargs"), dict) and "role" not in value:
        return True
    kind = value.get("type")
    if not isinstance(kind, str) or _kind(kind) not in _TYPES:
        return False
    return isinstance(value.get("data"), dict) or ("content" in value and ("role" not in value or kind == "chat"))


def chat_message_from_langchain(value: dict[str, Any]) -> dict[str, Any] | None:
    """Convert a foreign LangChain message to an OpenAI-like dict; None for RemoveMessage, which only deletes."""
    body = value.get("kwargs") if value.get("lc") == 1 else value.get("data", value)
    if not isinstance(body, dict):
        raise InputError("a LangChain message needs its fields in 'data' or 'kwargs'")
    kind = _kind(str(body.get("type") or _class_kind(value)))
    if kind == "remove":
        return None
    extra = body.get("additional_kwargs") or {}
    if not isinstance(extra, dict):
        raise InputError(f"'additional_kwargs' must be an object, not {type_in_words(extra)}")
    message = {
        "role": extra.get("__openai_role__") or _ROLES.get(kind, kind),
        "content": body.get("content"),
        "name": body.get("name"),
        "tool_call_id": body.get("tool_call_id"),
        "tool_calls": _calls(body) or extra.get("tool_calls"),
        **{key: body.get(key) or extra.get(key) for key in REASONING},
        "refusal": extra.get("refusal"),
        "is_error": True if body.get("status") == "error" else None,
    }
    if not message["tool_calls"]:
        message["function_call"] = extra.get("function_call")
    if kind == "chat":
        _set_chat_role(message, body.get("role"))
    return message


def _calls(body: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    # The model also wrote malformed calls, so a judge sees them like the others.
    for key in ("tool_calls", "invalid_tool_calls"):
        calls = body.get(key) or []
        if not isinstance(calls, list):
            raise InputError(f"{key!r} must be a list, not {type_in_words(calls)}")
        found.extend(calls)
    return found


def _set_chat_role(message: dict[str, Any], role: Any) -> None:
    """Set the role of a LangChain ChatMessage: a role that OpenAI lacks becomes a user message with that name."""
    if isinstance(role, str) and role in _OPENAI_ROLES:
        message["role"] = role
    else:
        message["role"], message["name"] = "user", message["name"] or role


def _kind(kind: str) -> str:
    """Return a LangChain message's type without the suffix of a chunk: ``AIMessageChunk`` -> ``ai``."""
    if kind.endswith("MessageChunk"):
        return kind.removesuffix("MessageChunk").lower()
    return kind


def _class_kind(value: dict[str, Any]) -> str:
    path = value.get("id") if value.get("lc") == 1 else None
    if isinstance(path, list) and path:
        return str(path[-1]).removesuffix("Chunk").removesuffix("Message").lower()
    return str(value.get("type", ""))
