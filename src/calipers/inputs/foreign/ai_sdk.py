"""Model messages of the AI SDK (Vercel): content of parts, with calls and results as ``tool-call`` and ``tool-result``.

Source of the fields: ``content-part.ts`` of vercel/ai, versions 4 (``args``, ``result``) to 6. Not responsible for its
UI messages, which have ``parts`` (``typed_parts``).
"""

from __future__ import annotations

from typing import Any

from calipers.inputs.foreign.pending import Pending, tool_call
from calipers.inputs.plain import compact_json

Part = dict[str, Any]
_KINDS = frozenset(("tool-call", "tool-result"))


def is_ai_sdk(value: Part) -> bool:
    """Return whether a plain dict is a model message with a call or a result."""
    content = value.get("content")
    return "role" in value and isinstance(content, list) and any(map(_is_own, content))


def chat_messages_of_ai_sdk(value: Part, pending: Pending) -> list[Part]:
    """Translate a message to one with typed blocks."""
    return [value | {"content": [_block(part, pending) if _is_own(part) else part for part in value["content"]]}]


def _is_own(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("type")) in _KINDS and "toolCallId" in part


def _block(part: Part, pending: Pending) -> Part:
    if part["type"] == "tool-call":
        name = str(part.get("toolName"))
        given = next((part[key] for key in ("input", "args") if part.get(key) is not None), None)
        return {"type": "tool_use", **tool_call(pending.opened(name, part["toolCallId"]), name, given)}
    output = part.get("output")
    kind = str(output.get("type")) if isinstance(output, dict) else ""
    failed = part.get("isError") is True or kind in ("error-text", "error-json", "execution-denied")
    own = pending.answered(part.get("toolName"), part["toolCallId"])
    result = {"type": "tool_result", "tool_use_id": own, "content": _returned(part, kind)}
    return result | ({"is_error": True} if failed else {})


def _returned(part: Part, kind: str) -> Any:
    """Return what a tool returned, as text or as parts."""
    if kind == "execution-denied":
        return f"denied: {part['output'].get('reason') or 'no reason given'}"
    if kind == "content" and isinstance(part["output"].get("value"), list):
        return [_content(one) for one in part["output"]["value"]]
    given = part["output"].get("value") if kind else part.get("output", part.get("result"))
    return given if isinstance(given, str) else compact_json(given)


def _content(part: Any) -> Any:
    """Return a part of a result: a file under its kind's name, anything else as it is."""
    if not isinstance(part, dict) or part.get("type") == "text":
        return part
    mime, kind = str(part.get("mediaType") or ""), str(part.get("type"))
    where = {key: part[key] for key in ("data", "url") if part.get(key)}
    if not where:
        return {"type": "text", "text": compact_json(part)}
    is_image = mime.startswith("image/") or kind.startswith("image")
    return {"type": "image" if is_image else "file", "mime_type": mime, **where}
