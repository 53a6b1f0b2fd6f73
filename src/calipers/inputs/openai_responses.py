"""Convert items of OpenAI's Responses API to fragments of chat messages.

That API splits one turn into several items; ``join_assistant_messages`` decides which fragments belong to one assistant
message.
"""

from __future__ import annotations

from typing import Any

from calipers.inputs.parts import joined_block_text, joined_texts, openai_tool_call
from calipers.inputs.plain import compact_json

# Bookkeeping between client and server: the model neither wrote nor did any of these.
_SILENT = frozenset({
    "item_reference", "compaction", "compaction_trigger", "configuration_update", "additional_tools", "mcp_list_tools",
})  # fmt: skip
_OUTPUTS = ("output", "outputs", "results", "result", "error")
_ENVELOPE = frozenset(("type", "id", "call_id", "status", "name", "caller", "created_by", "namespace", *_OUTPUTS))


def is_responses_item(value: dict[str, Any]) -> bool:
    """Return whether a plain dict from a groups file is an item of OpenAI's Responses API other than a message."""
    kind = value.get("type")
    if not isinstance(kind, str) or "role" in value:
        return False
    return (
        kind in _SILENT
        or kind in ("reasoning", "program")
        or kind.endswith(("_call", "_output", "_approval_request", "_approval_response"))
    )


def message_fragments(item: dict[str, Any], *, fallback_id: str) -> list[dict[str, Any]]:
    """Convert a foreign Responses item to chat message fragments, none for bookkeeping; blocks may remain."""
    kind = item["type"]
    if kind in _SILENT:
        return []
    if kind == "reasoning":
        text = joined_block_text(item)
        return [{"role": "assistant", "content": None, "reasoning": text}] if text else []
    if kind.endswith("_output"):
        return [_output(item)]
    if kind.endswith("_approval_response"):
        return [_approval(item)]
    return _call(item, fallback_id)


def join_assistant_messages(previous: dict[str, Any], following: dict[str, Any]) -> dict[str, Any] | None:
    """Join two fragments of foreign Responses items to one assistant message; None if ``following`` begins another.

    In a turn, text follows reasoning and calls follow text; reasoning after text or calls begins a new turn.
    """
    if previous.get("role") != "assistant" or following.get("role") != "assistant":
        return None
    bare = not previous.get("content") and not previous.get("tool_calls")
    if bare and previous.get("reasoning"):
        thoughts = [text for text in (previous["reasoning"], following.get("reasoning")) if text]
        return {**following, "reasoning": "\n\n".join(thoughts)}
    adds_calls = following.keys() <= {"role", "content", "tool_calls"} and not following.get("content")
    if adds_calls and following.get("tool_calls"):
        return {**previous, "tool_calls": [*(previous.get("tool_calls") or ()), *following["tool_calls"]]}
    return None


def _output(item: dict[str, Any]) -> dict[str, Any]:
    content = _returned(item)
    if content is None and item.get("tools"):  # what a tool search found
        content = compact_json(item["tools"])
    message: dict[str, Any] = {"role": "tool", "content": content if content is not None else ""}
    if isinstance(content, dict) and isinstance(content.get("image_url"), str):  # a computer's screenshot
        message["content"] = [{"type": "input_image", "image_url": content["image_url"]}]
    call_id = item.get("call_id") or item.get("id")
    if call_id:
        message["tool_call_id"] = str(call_id)
    if isinstance(item.get("name"), str):
        message["name"] = item["name"]
    if item.get("status") in ("failed", "incomplete") or item.get("error") is not None:
        message["is_error"] = True
    return message


def _approval(item: dict[str, Any]) -> dict[str, Any]:
    """Return what a user answered to the request of a server's tool, as the result of that request."""
    given = item.get("approve") is True
    text = ": ".join(filter(None, ("approved" if given else "denied", str(item.get("reason") or ""))))
    message = {"role": "tool", "content": text, "tool_call_id": str(item.get("approval_request_id") or item.get("id"))}
    return message if given else message | {"is_error": True}


def _call(item: dict[str, Any], fallback_id: str) -> list[dict[str, Any]]:
    """Return the messages of a Responses tool call: the call, and its result if the provider ran the tool."""
    name = item.get("name") or item["type"].removesuffix("_call")
    known = next((item[key] for key in ("arguments", "input", "code") if item.get(key) is not None), None)
    rest = _without_none({key: value for key, value in item.items() if key not in _ENVELOPE})
    call = openai_tool_call(
        {"id": item.get("call_id") or item.get("id"), "name": name, "arguments": rest if known is None else known},
        fallback_id=fallback_id,
    )
    found: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    content, failed = _returned(item), item.get("error") is not None
    if content is None:
        return found
    if item["type"] == "image_generation_call" and isinstance(item.get("result"), str) and not failed:
        kind = item.get("output_format") or "png"
        content = [{"type": "image", "data": item["result"], "mime_type": f"image/{kind}"}]
    elif not isinstance(content, str):
        content = compact_json(content)
    result = {"role": "tool", "tool_call_id": call["id"], "content": content}
    return [*found, result | ({"is_error": True} if failed else {})]


def _returned(item: dict[str, Any]) -> Any:
    """Return what a tool returned: its only output, or all of them as text; None if there is none."""
    shown = [item[key] for key in _OUTPUTS if item.get(key) is not None]
    if len(shown) < 2:
        return shown[0] if shown else None
    return joined_texts(one if isinstance(one, str) else compact_json(one) for one in shown)


def _without_none(value: Any) -> Any:
    """Return a provider's own fields without None values; never used for arguments that a model wrote."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value
