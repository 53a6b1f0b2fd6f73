"""Samples of inspect_ai's logs: their messages, and what else is kept of them. Not responsible for files
(``eval_file``).

Events, stores and times of a sample are not read. Source of the fields: inspect_ai, and logs that it wrote in both of
its formats.
"""

from __future__ import annotations

from typing import Any

from calipers.inputs.foreign.rollout import rest_of

_NOT_KEPT = ("messages", "input", "events", "events_data", "attachments", "store", "timelines", "output")


def notes_of_sample(sample: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a sample beside its messages, which repeat its input and its output."""
    failed = (sample.get("output") or {}).get("error")
    return rest_of(sample, *_NOT_KEPT) | ({"output_error": failed} if failed else {})


def messages_of_sample(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a sample's messages, with attachments in their places; without messages, its input and output."""
    attachments = sample.get("attachments") or {}
    given = sample.get("messages") or []
    if not given:
        asked = sample.get("input")
        given = [{"role": "user", "content": asked}] if isinstance(asked, str) else list(asked or [])
        given += [choice["message"] for choice in ((sample.get("output") or {}).get("choices") or [])[:1]]
    return [_message(_attached(message, attachments)) for message in given]


def _attached(value: Any, attachments: dict[str, str]) -> Any:
    if isinstance(value, str):
        return attachments.get(value.removeprefix("attachment://"), value) if value.startswith("attachment") else value
    if isinstance(value, dict):
        return {key: _attached(item, attachments) for key, item in value.items()}
    return [_attached(item, attachments) for item in value] if isinstance(value, list) else value


def _message(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list):
        content = [block for part in content for block in _blocks(part)]
    found = {"role": message["role"], "content": content}
    if message.get("tool_calls"):
        found["tool_calls"] = message["tool_calls"]
    if message["role"] == "tool":
        error = message.get("error")
        found["tool_call_id"] = message.get("tool_call_id")
        if error:
            found["is_error"] = True
            found["content"] = content or str(error.get("message", ""))
    return found


def _blocks(part: Any) -> list[dict[str, Any]]:
    """Return a content of inspect_ai as typed blocks."""
    if not isinstance(part, dict):
        return [{"type": "text", "text": str(part)}]
    kind = part.get("type")
    if kind == "text":
        return [{"type": "text", "text": part["text"]}]
    if kind == "reasoning":
        text = (part.get("summary") or "") if part.get("redacted") else part.get("reasoning") or part.get("summary")
        return [{"type": "thinking", "thinking": text or ""}]
    if kind == "tool_use":  # run by the provider, with its result
        call = {"type": "tool_use", "id": part["id"], "name": part["name"], "input": part.get("arguments")}
        failed = {"is_error": True} if part.get("error") else {}
        text = part.get("error") or part.get("result") or ""
        return [call, {"type": "tool_result", "tool_use_id": part["id"], "content": text, **failed}]
    if kind in ("audio", "video", "document"):
        where = str(part.get(kind))
        return [{"type": "file", ("file_data" if where.startswith("data:") else "file_url"): where}]
    return [part]
