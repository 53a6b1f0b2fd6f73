"""Messages of AgentDojo: text parts with ``content``, and tool messages that repeat their call.

Source of the fields: ``agentdojo.types`` and ``agentdojo.functions_runtime`` (agentdojo 0.1.35). A call with its
function's name as text is read by ``tools``.
"""

from __future__ import annotations

from typing import Any

from calipers.inputs.foreign.pending import Pending, tool_result

_KINDS = frozenset(("text", "thinking", "redacted_thinking"))


def is_agentdojo(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a message of AgentDojo: a result with its call, or parts with ``content``."""
    if "role" not in value:
        return False
    content = value.get("content")
    return isinstance(value.get("tool_call"), dict) or (
        isinstance(content, list) and bool(content) and all(map(_is_part, content))
    )


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("type")) in _KINDS and isinstance(part.get("content"), str)


def chat_messages_of_agentdojo(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a message of AgentDojo to a chat message. An error of a tool follows what the tool returned."""
    del pending  # AgentDojo's results name their calls
    content = value.get("content")
    parts = [_part(part) for part in content] if isinstance(content, list) else content
    if value.get("role") != "tool":
        return [value | {"content": parts}]
    call = value.get("tool_call") or {}
    error = value.get("error")
    if error:
        given = [{"type": "text", "text": parts}] if isinstance(parts, str) and parts else parts or []
        parts = [*(part for part in given if part != {"type": "text", "text": ""}), {"type": "text", "text": error}]
    name = call.get("function")
    return [tool_result(parts, value.get("tool_call_id") or call.get("id"), name=name, failed=bool(error))]


def _part(part: Any) -> Any:
    if not _is_part(part):
        return part
    if part["type"] == "text":
        return {"type": "text", "text": part["content"]}
    return {"type": part["type"], "thinking": part["content"] if part["type"] == "thinking" else ""}
