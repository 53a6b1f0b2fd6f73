"""Messages of Bedrock's Converse API: content blocks that are named by their only key, such as ``toolUse``.

Cache points and redacted reasoning are not part of the conversation and are ignored. Source of the fields: the service
model of bedrock-runtime in botocore 1.44.
"""

from __future__ import annotations

from typing import Any

from calipers.inputs.foreign.pending import Pending
from calipers.inputs.plain import compact_json

_KINDS = frozenset({
    "text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint",
    "reasoningContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval",
})  # fmt: skip
_MIME = {"image": "image", "audio": "audio", "video": "video", "document": "application"}


def is_bedrock(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a Converse message: a role, and blocks without a type but with a known key."""
    content = value.get("content")
    return "role" in value and isinstance(content, list) and bool(content) and all(map(_is_block, content))


def _is_block(block: Any) -> bool:
    return isinstance(block, dict) and "type" not in block and len(block) == 1 and block.keys() <= _KINDS


def chat_messages_of_bedrock(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a Converse message to one with Anthropic's typed blocks, which ``blocks`` reads."""
    del pending  # Converse's calls all have ids
    return [value | {"content": [block for given in value["content"] for block in _blocks(given)]}]


def _blocks(block: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: C901, PLR0911 - one case and return per kind
    [(kind, given)] = block.items()
    match kind, given:
        case "text", str():
            return [{"type": "text", "text": given}]
        case "cachePoint", _:
            return []
        case "reasoningContent", {"reasoningText": {"text": str(text)}}:
            return [{"type": "thinking", "thinking": text}]
        case "reasoningContent", {"redactedContent": _}:
            return []
        case "toolUse", dict():
            return [{"type": "tool_use", "id": given.get("toolUseId"), **_without(given, "toolUseId", "type")}]
        case "toolResult", dict():
            content = [part for item in given.get("content") or [] for part in _blocks(item)]
            failed = {"is_error": True} if given.get("status") == "error" else {}
            return [{"type": "tool_result", "tool_use_id": given.get("toolUseId"), "content": content, **failed}]
        case "guardContent", {"text": {"text": str(text)}}:
            return [{"type": "text", "text": text}]
        case "guardContent", {"image": dict(image)}:
            return [_media("image", image)]
        case "citationsContent", {"content": list(texts)}:
            text = "".join(str(item.get("text", "")) for item in texts)
            return [{"type": "text", "text": text, "citations": given.get("citations")}]
        case (("image" | "audio" | "video" | "document"), {"source": dict()}):
            return [_media(kind, given)]
    return [{"type": "text", "text": compact_json(given if kind == "json" else block)}]


def _media(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    source, form = given["source"], given.get("format")
    name = {"filename": given["name"]} if given.get("name") else {}
    if kind == "document" and (isinstance(source.get("text"), str) or isinstance(source.get("content"), list)):
        texts = [source["text"]] if "text" in source else [str(item.get("text", "")) for item in source["content"]]
        return {"type": "text", "text": "\n\n".join(texts), **name}
    where: dict[str, Any] = {"data": source.get("bytes"), "mime_type": f"{_MIME[kind]}/{form}"}
    if isinstance(source.get("s3Location"), dict):
        where = {"url": source["s3Location"].get("uri")}
    return {"type": kind if kind == "image" or (kind == "audio" and "data" in where) else "file", **where, **name}


def _without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}
