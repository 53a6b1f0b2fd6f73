"""Messages of typed ``parts``: the AI SDK's UI messages (Vercel), and the messages of OpenTelemetry's GenAI spans.

A call of the AI SDK holds its result. States, approvals that were given, steps and the SDK's metadata are not part of
the conversation and are ignored; a part of an unknown type is an error. Source of the fields: ``ui-messages.ts`` of
vercel/ai (versions 4 to 6), OpenTelemetry's GenAI conventions, and messages that pydantic-ai 2.68 wrote.
"""

from __future__ import annotations

from typing import Any

from calipers.errors import InputError
from calipers.inputs.foreign.pending import Pending, tool_call
from calipers.inputs.plain import compact_json

Part = dict[str, Any]
_OTEL_CALLS = frozenset(("tool_call", "server_tool_call"))
_OTEL_RESULTS = frozenset(("tool_call_response", "server_tool_call_response"))
_MEDIA = frozenset(("file", "blob", "uri", "binary", "image-url", "audio-url", "video-url", "document-url"))


def is_typed_parts(value: Part) -> bool:
    """Return whether a plain dict has a role and ``parts`` that all name their type, as Gemini's parts never do."""
    parts = value.get("parts")
    if "role" not in value or not isinstance(parts, list) or not parts:
        return False
    return all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts)


def chat_messages_of_typed_parts(value: Part, pending: Pending) -> list[Part]:
    """Translate a message to one with typed blocks; the results of calls follow all calls beside them."""
    blocks: list[Part] = []
    results: list[Part] = []
    for number, part in enumerate(value["parts"], start=1):
        call = _call(part, pending)
        if call is None:
            blocks += [*results, *_blocks(part, pending, number)]
            results = []
        else:
            blocks.append(call[0])
            results += call[1:]
    kept = {key: value[key] for key in ("name", "finish_reason") if value.get(key)}
    return [{"role": value["role"], "content": blocks + results} | kept]


def _call(part: Part, pending: Pending) -> list[Part] | None:
    """Return the call of an AI SDK's part, and its result if it has one; None for any other part."""
    given = part.get("toolInvocation") if part["type"] == "tool-invocation" else part  # the form of version 4
    if not isinstance(given, dict) or "toolCallId" not in given:
        return None
    name = str(given.get("toolName") or part["type"].removeprefix("tool-"))
    own = pending.opened(name, given["toolCallId"])
    arguments = next((given[key] for key in ("input", "args", "rawInput") if given.get(key) is not None), None)
    found = [{"type": "tool_use", **tool_call(own, name, arguments)}]
    failed = given.get("state") in ("output-error", "output-denied")
    returned = next((given[key] for key in ("output", "result", "errorText") if given.get(key) is not None), None)
    if given.get("state") == "output-denied":
        returned = f"denied: {(given.get('approval') or {}).get('reason') or 'no reason given'}"
    if returned is None and given.get("state") not in ("output-available", "output-error", "result"):
        return found
    return [*found, _result(returned, pending.answered(call_id=own), failed=failed)]


def _result(content: Any, call_id: str | None, *, failed: bool = False) -> Part:
    text = content if isinstance(content, str) else compact_json(content)
    return {"type": "tool_result", "tool_use_id": call_id, "content": text, **({"is_error": True} if failed else {})}


def _blocks(part: Part, pending: Pending, number: int) -> list[Part]:  # noqa: PLR0911 - one case and return per type
    kind = part["type"]
    text = part.get("text") if part.get("text") is not None else part.get("content")
    match kind:
        case "text":
            return [{"type": "text", "text": text}]
        case "reasoning" | "thinking":
            return [{"type": "thinking", "thinking": text or part.get("reasoning") or ""}]
        case "step-start":
            return []
        case "source-url" | "source-document" | "source":
            return [{"type": "text", "text": compact_json(_named(part))}]
    if kind in _OTEL_CALLS:
        given = part.get("arguments") if "arguments" in part else part.get(kind)
        name = str(part.get("name"))
        return [{"type": "tool_use", **tool_call(pending.opened(name, part.get("id")), name, given)}]
    if kind in _OTEL_RESULTS:
        given = next((part[key] for key in ("response", "result", kind) if part.get(key) is not None), None)
        call_id = pending.answered(part.get("name"), part.get("id"))
        return [_result("" if given is None else given, call_id)]
    if kind in _MEDIA:
        return [_media(part)]
    if kind.startswith("data-"):
        return [{"type": "text", "text": compact_json({kind: part.get("data")})}]
    raise InputError(f"part {number} has the unknown type {kind[:40]!r}")


def _named(part: Part) -> Part:
    return {key: item for key, item in part.items() if key not in ("sourceId", "providerMetadata")}


def _media(part: Part) -> Part:
    mime = str(next((part[key] for key in ("mediaType", "mimeType", "mime_type", "media_type") if part.get(key)), ""))
    kind = str(part.get("modality") or mime.partition("/")[0] or part["type"].partition("-")[0])
    kind = part["type"].partition("-")[0] if part["type"].endswith("-url") else kind
    where = {"url": part.get("url") or part.get("uri")}
    data = next((part[key] for key in ("content", "data") if part.get(key)), None)
    if data is not None:
        where = {"data": data, "mime_type": mime}
    if part.get("file_id"):
        where = {"file_id": part["file_id"]}
    name = {"filename": part["filename"]} if part.get("filename") else {}
    if kind == "audio" and "data" in where:
        return {"type": "audio", **where}
    return {"type": "image" if kind == "image" else "file", **where, **name}
