"""Convert content parts of any API (text, images, audio, files, resources) to OpenAI's kinds.

Base64 data always becomes an ``image_url``, an ``input_audio`` or a ``file`` part, never text. Unknown kinds stay
unchanged. Not responsible for messages, tool calls or reasoning (``blocks``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calipers.errors import InputError
from calipers.inputs.plain import compact_json, type_in_words

Part = dict[str, Any]

_TEXT = frozenset(("text", "input_text", "output_text", "summary_text", "reasoning_text"))
REASONING = ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks", "thinking")
"""The names under which servers return a message's reasoning."""
_THOUGHT = ("text", "thinking", "reasoning", "reasoning_content", "summary", "content")
_NOISE = frozenset(("type", "text", "cache_control", "logprobs", "meta", "_meta", "index", "id", "extras"))


def content_parts(block: Any) -> list[Part]:  # noqa: PLR0911 - one return per kind
    """Convert one foreign content block to canonical parts; a document may hold several.

    Raises InputError with the reason.
    """
    if isinstance(block, str):
        return [{"type": "text", "text": block}]
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        raise InputError(f"a content part must be text or an object with a 'type', not {type_in_words(block)}")
    if kind in _TEXT:
        return [_text(block)]
    if kind in ("image_url", "input_image", "image"):
        return [_image(block)]
    if kind in ("audio", "input_audio"):
        return [_audio(block)]
    if kind in ("file", "input_file", "document", "video"):
        return _file(block)
    if kind == "text-plain" and isinstance(block.get("text"), str):
        return [{"type": "text", "text": block["text"]}]
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return [_resource(block["resource"])]
    return [{key: item for key, item in block.items() if item is not None and not key.startswith("encrypted_")}]


def joined_block_text(blocks: Any) -> str:
    """Join all text in a foreign string, block, or list of blocks, such as a message's reasoning.

    A block may have its text under several keys, as a summary and in full; equal texts are read once.
    """
    if isinstance(blocks, str):
        return blocks
    if isinstance(blocks, dict):
        return joined_texts(joined_block_text(blocks.get(key)) for key in _THOUGHT)
    if isinstance(blocks, list):
        return "\n\n".join(filter(None, map(joined_block_text, blocks)))
    return ""


def joined_texts(texts: Iterable[str]) -> str:
    """Join texts that are not empty; of those that differ in white space alone, only the first.

    White space is kept where there is nothing else. A server repeats a reasoning under another key in one piece or in
    several.
    """
    found: dict[str, str] = {}
    for text in texts:
        if text:
            found.setdefault("".join(text.split()), text)
    return "\n\n".join(text for bare, text in found.items() if bare) or found.get("", "")


def _text(block: Part) -> Part:
    text = block.get("text")
    if isinstance(text, dict):  # the Assistants API nests the text
        text = text.get("value")
    if not isinstance(text, str):
        raise InputError(f"a {block['type']} part needs its 'text', got {type_in_words(text)}")
    # Citations and annotations are evidence for a judge; empty fields and cache marks are not.
    return {"type": "text", "text": text} | {key: item for key, item in block.items() if item and key not in _NOISE}


def _image(block: Part) -> Part:
    given = block.get("image_url") or block.get("image")
    detail = block.get("detail")
    if isinstance(given, dict):
        url, detail = given.get("url"), given.get("detail", detail)
    else:
        url = given if isinstance(given, str) else _content_url(block)
    if not isinstance(url, str) or not url:
        file_id = _data_holder(block).get("file_id")
        if file_id:
            return {"type": "file", "file": {"file_id": file_id}}
        raise InputError(f"an {block['type']} part needs a URL or base64 data")
    image = {"url": url}
    return {"type": "image_url", "image_url": image | ({"detail": detail} if detail else {})}


def _audio(block: Part) -> Part:
    inner = block.get("input_audio")
    if isinstance(inner, dict):
        return {"type": "input_audio", "input_audio": inner}
    origin = _data_holder(block)
    data = _first(origin, "data", "base64")
    if isinstance(data, str):
        name = str(_mime(origin) or "audio/wav").rpartition("/")[2]
        return {"type": "input_audio", "input_audio": {"data": data, "format": name}}
    return {key: item for key, item in block.items() if item is not None}


def _file(block: Part) -> list[Part]:
    origin = _data_holder(block)
    if origin.get("type") == "text" and isinstance(origin.get("data"), str):
        return [{"type": "text", "text": origin["data"]}]
    if isinstance(origin.get("content"), str | list):
        content = origin["content"]
        return [part for item in ([content] if isinstance(content, str) else content) for part in content_parts(item)]
    if isinstance(origin.get("text"), str):
        return [{"type": "text", "text": origin["text"]}]
    inner = block.get("file")
    if isinstance(inner, dict):
        return [{"type": "file", "file": {key: item for key, item in inner.items() if item is not None}}]
    named = _first(block, "filename", "title", "name")
    url = _content_url(block)
    found = {
        "filename": named,
        "file_id": origin.get("file_id"),
        "file_data": block.get("file_data") or (url if url and url.startswith("data:") else None),
        "file_url": block.get("file_url") or (url if url and not url.startswith("data:") else None),
    }
    return [{"type": "file", "file": {key: item for key, item in found.items() if item}}]


def _resource(resource: Part) -> Part:
    """Return an MCP resource as a content part: its text with its URI, or its bytes as an image or a file."""
    uri, text, blob = resource.get("uri"), resource.get("text"), resource.get("blob")
    if isinstance(text, str):
        return {"type": "text", "text": text} | ({"uri": uri} if uri else {})
    mime = _mime(resource) or "application/octet-stream"
    if isinstance(blob, str):
        url = f"data:{mime};base64,{blob}"
        if mime.startswith("image/"):
            return {"type": "image_url", "image_url": {"url": url}}
        return {"type": "file", "file": {"filename": str(uri or "resource"), "file_data": url}}
    return {"type": "text", "text": compact_json({key: item for key, item in resource.items() if item is not None})}


def _data_holder(block: Part) -> Part:
    """Return the object that holds a block's data: Anthropic's ``source``, or the block itself (LangChain, MCP)."""
    source = block.get("source")
    return source if isinstance(source, dict) else block


def _content_url(block: Part) -> str | None:
    origin = _data_holder(block)
    data = _first(origin, "data", "base64")
    if isinstance(data, str):
        return data if data.startswith("data:") else f"data:{_mime(origin) or _default_mime_type(block)};base64,{data}"
    url = origin.get("url")
    return url if isinstance(url, str) else None


def _default_mime_type(block: Part) -> str:
    return {"image": "image/png", "document": "application/pdf"}.get(block["type"], "application/octet-stream")


def _mime(origin: Part) -> str | None:
    found = _first(origin, "media_type", "mime_type", "mimeType", "mediaType")
    return found if isinstance(found, str) else None


def _first(block: Part, *keys: str) -> Any:
    return next((block[key] for key in keys if block.get(key)), None)
