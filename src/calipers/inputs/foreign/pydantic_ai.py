"""Messages of pydantic-ai: requests and responses of parts, each with a ``part_kind``.

Deltas of settings, instructions' digests and cache points are bookkeeping and are ignored; a part of an unknown kind is
an error. Source of the fields: ``pydantic_ai.messages``, and files that ``ModelMessagesTypeAdapter`` wrote.
"""

from __future__ import annotations

from typing import Any

from calipers.errors import InputError
from calipers.inputs.foreign.pending import Pending, tool_call, tool_result
from calipers.inputs.plain import compact_json, type_in_words

_SILENT = frozenset({
    "instruction-delta", "tool-availability-delta", "capability-load-delta", "model-settings-delta",
    "instruction-digest", "instruction-baseline",
})  # fmt: skip
_TEXTS = {
    "system-prompt": "system", "instruction": "system", "user-prompt": "user", "text": "assistant",
    "file": "assistant", "retry-feedback": "user", "compaction": "user",
}  # fmt: skip
_CALLS = frozenset(("tool-call", "builtin-tool-call"))
_MEDIA = frozenset(("image-url", "audio-url", "video-url", "document-url", "binary"))
"""The kinds of a file. A tool's own data may have a ``kind`` and a ``url``, too."""


def is_pydantic_ai(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a ``ModelRequest`` or a ``ModelResponse``."""
    return value.get("kind") in ("request", "response") and isinstance(value.get("parts"), list)


def chat_messages_of_pydantic_ai(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a message of pydantic-ai to chat messages: a response to one, a request to one for each part."""
    found = _instructions(value, pending)
    blocks: list[dict[str, Any]] = []
    for number, part in enumerate(value["parts"], start=1):
        if not isinstance(part, dict):
            raise InputError(f"part {number} must be an object, not {type_in_words(part)}")
        message = _message(part, pending, number)
        if message is None:
            continue
        if message["role"] == "assistant":
            blocks += message["content"]
        else:
            found += _turn(blocks)
            found.append(message)
            blocks = []
    ended = {"finish_reason": value["finish_reason"]} if value.get("finish_reason") else {}
    return found + [turn | ended for turn in _turn(blocks)]


def _instructions(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Return a request's instructions as a message, unless they are those of the request before: each repeats them."""
    given = value.get("instructions")
    if not isinstance(given, str) or given == pending.instructions:
        return []
    pending.instructions = given
    return [{"role": "system", "content": given}]


def _turn(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": blocks}] if blocks else []


def _message(  # noqa: PLR0911 - one return per kind
    part: dict[str, Any], pending: Pending, number: int
) -> dict[str, Any] | None:
    kind, name = str(part.get("part_kind")), part.get("tool_name")
    if kind in _SILENT or (kind == "compaction" and part.get("content") is None):  # kept by the provider
        return None
    if kind in _CALLS:
        call = tool_call(pending.opened(str(name), part.get("tool_call_id")), str(name), part.get("args"))
        return {"role": "assistant", "content": [{"type": "tool_use", **call}]}
    if kind == "thinking":
        return {"role": "assistant", "content": [{"type": "thinking", "thinking": part.get("content") or ""}]}
    if kind in ("tool-return", "builtin-tool-return") or (kind == "retry-prompt" and name):
        failed = kind == "retry-prompt" or part.get("outcome") in ("failed", "denied", "retried")
        call_id = pending.answered(name, part.get("tool_call_id"))
        return tool_result(_returned(part.get("content")), call_id, name=name, failed=failed)
    if kind == "speech":
        return _speech(part)
    if kind == "retry-prompt":
        return {"role": "user", "content": _returned(part.get("content"))}
    if kind in _TEXTS:
        return {"role": _TEXTS[kind], "content": _contents(part.get("content"))}
    raise InputError(f"part {number} has the unknown part_kind {kind[:40]!r}")


def _speech(part: dict[str, Any]) -> dict[str, Any]:
    audio = _contents(part["audio"]) if isinstance(part.get("audio"), dict) else []
    text = [{"type": "text", "text": part["transcript"]}] if part.get("transcript") else audio
    return {"role": "assistant" if part.get("speaker") == "assistant" else "user", "content": text}


def _returned(content: Any) -> Any:
    """Return what a tool returned: as parts if there is a file in it, or texts alone, else as text."""
    listed = content if isinstance(content, list) else [content]
    if any(map(_is_media, listed)) or (listed is content and listed and all(isinstance(item, str) for item in listed)):
        return _contents(content)
    return _text(content)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else compact_json(content)


def _is_media(item: Any) -> bool:
    return isinstance(item, dict) and str(item.get("kind")) in _MEDIA and ("url" in item or "data" in item)


def _contents(content: Any) -> list[dict[str, Any]]:
    """Return the parts of text, a file, or a list of them."""
    listed = content if isinstance(content, list) else [content]
    return [_content(item) for item in listed if not (isinstance(item, dict) and item.get("kind") == "cache-point")]


def _content(item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        return {"type": "text", "text": "" if item is None else _text(item)}
    if item.get("kind", "text-content") == "text-content" and isinstance(item.get("content"), str):
        return {"type": "text", "text": item["content"]}
    if not _is_media(item):
        return {"type": "text", "text": compact_json(item)}
    mime = str(item.get("media_type") or "")
    kind = str(item.get("kind") or "")
    where = {"url": item["url"]} if "url" in item else {"data": item.get("data"), "mime_type": mime}
    if kind == "image-url" or mime.startswith("image/"):
        return {"type": "image", **where}
    if mime.startswith("audio/") and "data" in where:
        return {"type": "audio", **where}
    return {"type": "file", **where}
