"""Convert content parts, tool calls and tool definitions of any API to OpenAI's forms.

Base64 data always becomes an ``image_url``, an ``input_audio`` or a ``file`` part, never text. Unknown kinds stay
unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calipers.errors import InputError
from calipers.inputs.plain import compact_json, plain_data, type_in_words, without_surrogates
from calipers.types import Tool

Part = dict[str, Any]

REASONING = ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks", "thinking")
"""The names under which servers return a message's reasoning."""
_THOUGHT = ("text", "thinking", "reasoning", "reasoning_content", "summary", "content")
_TEXT = frozenset(("text", "input_text", "output_text", "summary_text", "reasoning_text", "text-plain"))
_NOISE = frozenset(("type", "text", "cache_control", "logprobs", "meta", "_meta", "index", "id", "extras"))
_MEDIA = {
    "image": "image", "image_url": "image", "input_image": "image", "computer_screenshot": "image",
    "audio": "audio", "input_audio": "audio",
    "file": "file", "input_file": "file", "document": "file", "video": "file", "resource": "file",
}  # fmt: skip
"""Kinds of parts that hold no text, or may hold none, by what they become."""
_HOLDERS = ("source", "image_url", "input_audio", "file", "resource")
"""Keys whose object holds a part's data. Otherwise the part itself does (LangChain, MCP)."""
_URLS = ("image_url", "image", "url", "file_url", "document", "video", "audio")
_MIME_TYPES = {"image": "image/png", "audio": "audio/wav", "document": "application/pdf"}


def content_parts(block: Any) -> list[Part]:
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
    if kind in _MEDIA:
        return _media(block, kind)
    return [{key: item for key, item in block.items() if item is not None and not key.startswith("encrypted_")}]


def _text(block: Part) -> Part:
    text = block.get("text")
    if isinstance(text, dict):  # the Assistants API nests the text
        text = text.get("value")
    if not isinstance(text, str):
        raise InputError(f"a {block['type']} part needs its 'text', got {type_in_words(text)}")
    # Citations and annotations are evidence for a judge; empty fields and cache marks are not.
    return {"type": "text", "text": text} | {key: item for key, item in block.items() if item and key not in _NOISE}


def _media(block: Part, kind: str) -> list[Part]:
    """Convert an image, a sound, a file or a resource, from wherever the API puts its data, address and name."""
    holder = next((block[key] for key in _HOLDERS if isinstance(block.get(key), dict)), block)
    held, becomes = block | holder, _MEDIA[kind]
    text = holder.get("data") if holder.get("type") == "text" else holder.get("text")
    if becomes == "file" and isinstance(inner := text if isinstance(text, str) else holder.get("content"), str | list):
        address = {"uri": held["uri"]} if held.get("uri") else {}
        listed = [inner] if isinstance(inner, str) else inner
        return [part | address for item in listed for part in content_parts(item)]
    mime, data, url = (
        next((held[key] for key in keys if isinstance(held.get(key), str) and held[key]), None)
        for keys in (
            ("media_type", "mime_type", "mimeType", "mediaType"), ("data", "base64", "blob"), _URLS
        )
    )  # fmt: skip
    url, data = (data, None) if data and data.startswith("data:") else (url, data)
    if becomes == "audio" and (sound := data or (url or "").partition(";base64,")[2]):
        form = held.get("format") or (mime or "audio/wav").rpartition("/")[2]
        return [{"type": "input_audio", "input_audio": {"data": sound, "format": form}}]
    if data:
        url = f"data:{mime or _MIME_TYPES.get(kind, 'application/octet-stream')};base64,{data}"
    if becomes == "image" or (url and kind == "resource" and (mime or "").startswith("image/")):
        if url:
            detail = {"detail": held["detail"]} if held.get("detail") and isinstance(held["detail"], str) else {}
            return [{"type": "image_url", "image_url": {"url": url, **detail}}]
        if not held.get("file_id"):
            raise InputError(f"an {kind} part needs a URL or base64 data")
    if isinstance(block.get("file"), dict):
        return [{"type": "file", "file": {key: item for key, item in block["file"].items() if item is not None}}]
    is_data = url is not None and url.startswith("data:")
    name = next((held[key] for key in ("filename", "title", "name", "uri") if held.get(key)), None)
    where = {"file_data": held.get("file_data") or (url if is_data else None), "file_url": None if is_data else url}
    file = {key: item for key, item in {"filename": name, "file_id": held.get("file_id"), **where}.items() if item}
    return [{"type": "file", "file": file} if file else {key: item for key, item in block.items() if item is not None}]


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
    distinct: dict[str, str] = {}
    for text in texts:
        if text:
            distinct.setdefault("".join(text.split()), text)
    return "\n\n".join(text for bare, text in distinct.items() if bare) or distinct.get("", "")


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
    value = next((body[key] for key in ("arguments", "args", "input", "parameters") if body.get(key) is not None), "")
    return {
        "id": str(call.get("call_id") or call.get("id") or fallback_id),
        "type": "function",
        "function": {"name": body["name"], "arguments": value if isinstance(value, str) else compact_json(value)},
    }


def _parsed(text: str) -> Any:
    """Return what a text is the JSON of, else the text. Raises InputError for data nested too deeply."""
    try:
        value = without_surrogates(json.loads(text))
    except (ValueError, RecursionError):
        return text
    return plain_data(value)


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
    value = _parsed(given) if isinstance(given, str) else plain_data(given)
    if not isinstance(value, dict):
        raise InputError(f"a tool definition must be an object, not {type_in_words(value)}")
    if value.get("type") == "function" and isinstance(value.get("function"), Mapping):
        return given if value == given else value
    tool: dict[str, Any] = {key: item for key, item in value.items() if item is not None}
    if isinstance(tool.get("function"), dict):
        return {"type": "function", **tool}
    schema = next((tool[key] for key in ("input_schema", "inputSchema", "parameters") if key in tool), None)
    if schema is None or not isinstance(tool.get("name"), str):
        return tool
    described = {"description": tool["description"]} if "description" in tool else {}
    return {"type": "function", "function": {"name": tool["name"], **described, "parameters": schema}}
