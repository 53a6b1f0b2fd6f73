"""Convert content parts of any API (text, images, audio, files, resources) to OpenAI's kinds.

Base64 data always becomes an ``image_url``, an ``input_audio`` or a ``file`` part, never text. Unknown kinds stay
unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calipers.errors import InputError
from calipers.inputs import mcp
from calipers.inputs.plain import compact_json, plain_data, type_in_words, without_nan, without_surrogates
from calipers.types import Tool

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


_THOUGHTS = frozenset(("thinking", "redacted_thinking", "reasoning"))
_CALLS = frozenset({
    "tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "server_tool_call", "invalid_tool_call",
    "function_call", "custom_tool_call",
})  # fmt: skip


def messages_from_blocks(head: dict[str, Any], content: Any, *, fallback_id: str) -> list[dict[str, Any]]:
    """Convert a foreign message, given as ``head`` (its keys without content) and ``content``, to one or more chat
    messages.

    ``content`` is plain data: None, text, a block or a list of blocks; other data that a tool returned becomes JSON
    text. Raises InputError with the reason.
    """
    if content is None or isinstance(content, str):
        return [_message_with_content(head, content if content is not None or head["role"] == "assistant" else "")]
    if isinstance(content, dict) and isinstance(content.get("type"), str):
        content = [content]
    if not isinstance(content, list) or (head["role"] == "tool" and not all(map(_is_block, content))):
        if head["role"] == "tool":
            return [_message_with_content(head, compact_json(content))]
        raise InputError(f"'content' must be text or a list of parts, not {type_in_words(content)}")
    return _Unfolding(head, fallback_id).run(content)


def _is_block(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get("type"), str))


def _message_with_content(head: dict[str, Any], content: Any) -> dict[str, Any]:
    return {"role": head["role"], "content": content, **head}


class _Unfolding:
    """Converts the blocks of one message; a tool result among the blocks ends the current chat message."""

    def __init__(self, head: dict[str, Any], fallback_id: str) -> None:
        self.role = head["role"]
        self.fallback_id = fallback_id
        self.done: list[dict[str, Any]] = []
        # LangChain writes the same tool call twice: as a block and in ``tool_calls``.
        self.known = {call["id"] for call in head.get("tool_calls", ())}
        self._open({key: value for key, value in head.items() if key != "role"})

    def _open(self, rest: dict[str, Any]) -> None:
        self.rest = rest
        self.parts: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = list(rest.pop("tool_calls", ()))
        self.thoughts: list[str] = []

    def run(self, blocks: list[Any]) -> list[dict[str, Any]]:
        for number, block in enumerate(blocks, start=1):
            kind = str(block.get("type")) if isinstance(block, dict) else ""
            if kind in _CALLS and self.role != "tool":  # inside a tool's result, these blocks are data and not calls
                self._call(block, number)
            elif kind in _THOUGHTS and self.role != "tool":
                self.thoughts.append(joined_block_text(block))
            elif kind == "refusal" and isinstance(block.get("refusal"), str):
                self.rest["refusal"] = joined_texts((self.rest.get("refusal", ""), block["refusal"]))
            elif kind.endswith("tool_result"):
                self._close()
                self.done.extend(_tool_messages(block, self.fallback_id))
            else:
                self.parts.extend(content_parts(block))
        self._close(last=not self.done)
        return self.done

    def _call(self, block: dict[str, Any], number: int) -> None:
        call = openai_tool_call(block, fallback_id=f"{self.fallback_id}_{number}")
        if call["id"] not in self.known:
            self.known.add(call["id"])
            self.calls.append(call)

    def _close(self, *, last: bool = False) -> None:
        thoughts = joined_texts((self.rest.get("reasoning", ""), "\n\n".join(filter(None, self.thoughts))))
        is_filled = self.parts or self.calls or thoughts or not self.rest.keys().isdisjoint(("reasoning", "refusal"))
        if not (is_filled or last):
            return  # the message's other keys belong to the blocks that follow
        message = {"role": self.role, "content": _content(self.role, self.parts), **self.rest}
        if self.calls:
            message["tool_calls"] = self.calls
        if thoughts:
            message["reasoning"] = thoughts
        self.done.append(message)
        self._open({})


def _content(role: str, found: list[dict[str, Any]]) -> Any:
    if not found:
        return None if role == "assistant" else ""
    if len(found) == 1 and found[0].keys() == {"type", "text"} and found[0]["type"] == "text":
        return found[0]["text"]
    return found


def _tool_messages(block: dict[str, Any], fallback_id: str) -> list[dict[str, Any]]:
    head: dict[str, Any] = {"role": "tool"}
    result = {key: block[key] for key in block if key not in ("type", "tool_use_id", "name")}
    content = mcp.take_mcp_content(result)
    call_id = block.get("tool_use_id") or block.get("tool_call_id") or block.get("toolUseId")
    if call_id:
        head["tool_call_id"] = str(call_id)
    failed = isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
    if result.get("is_error") is True or block.get("status") == "error" or failed:
        head["is_error"] = True
    if "output" in block and content is None:  # LangChain's server_tool_result
        content = block["output"]
    return messages_from_blocks(head, content, fallback_id=fallback_id)


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
    call_id = call.get("call_id") or call.get("id") or fallback_id
    return {
        "id": str(call_id),
        "type": "function",
        "function": {"name": body["name"], "arguments": _arguments(body)},
    }


def _parsed(text: str) -> Any:
    """Return what a text is the JSON of, else the text. Raises InputError for data nested too deeply."""
    try:
        found = without_surrogates(json.loads(text))
    except (ValueError, RecursionError):
        return text
    return plain_data(found)


def _arguments(body: Mapping[str, Any]) -> str:
    for key in ("arguments", "args", "input", "parameters"):
        given = body.get(key)
        if given is not None:
            return given if isinstance(given, str) else compact_json(given)
    return ""


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
    if type(given) is dict and given.get("type") == "function" and type(given.get("function")) is dict:
        kept: Tool = without_nan(given)
        return given if kept == given else kept
    found = _parsed(given) if isinstance(given, str) else plain_data(given)
    if not isinstance(found, dict):
        raise InputError(f"a tool definition must be an object, not {type_in_words(found)}")
    tool: dict[str, Any] = {key: item for key, item in found.items() if item is not None}
    if isinstance(tool.get("function"), dict):
        return {"type": "function", **tool}
    schema = next((tool[key] for key in ("input_schema", "inputSchema", "parameters") if key in tool), None)
    if schema is None or not isinstance(tool.get("name"), str):
        return tool
    described = {"description": tool["description"]} if "description" in tool else {}
    return {"type": "function", "function": {"name": tool["name"], **described, "parameters": schema}}
