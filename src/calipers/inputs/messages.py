"""Convert message lists of any API to canonical OpenAI chat messages: ``canonical``.

``_DIALECTS`` names the forms that are not chat messages already: LangChain and LangGraph, Responses, MCP, ShareGPT.
Each is translated to a dict like a chat message, whose content ``_Reader.chat_messages`` reads by one rule for all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final

from calipers.errors import InputError
from calipers.inputs.parts import REASONING, content_parts, joined_block_text, joined_texts, openai_tool_call
from calipers.inputs.plain import (
    compact_json,
    is_encodable,
    plain_data,
    record_fields,
    type_in_words,
    without_surrogates,
)
from calipers.types import Message

Chat = dict[str, Any]

_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))
_ALIASES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}
_TEXTS = frozenset(("name", "tool_call_id", "reasoning", "refusal"))
_KNOWN = frozenset(("role", "content", "tool_calls", "is_error", *_TEXTS))
# Keys of a response object that is also a message (Anthropic's, a Responses item); they are not part of the message.
_ENVELOPE = frozenset({
    "id", "status", "phase", "model", "usage", "container", "stop_sequence", "stop_details", "diagnostics", "_meta",
    "meta",
})  # fmt: skip
_FOREIGN_CONTENT = frozenset(("parts", "text", "value"))
_EXPECTED = (
    'expected {"role": "user", "content": "..."} or a message of OpenAI, Anthropic, LangChain, MCP or the Responses API'
)


def canonical(messages: Any, *, where: str = "") -> tuple[Message, ...]:
    """Convert foreign ``messages`` to canonical chat messages; messages that are canonical already are not copied.

    A canonical message is a dict with ``role`` (system, developer, user, assistant or tool) and ``content`` (text, None
    or a list of parts), and where present ``tool_calls`` (arguments as text), ``tool_call_id``, ``name``,
    ``reasoning``, ``refusal`` and ``is_error`` (True only). Unknown keys are copied unless they hold None;
    ``finish_reason`` is copied if it is ``length`` or ``content_filter``. Redacted thinking and bookkeeping items are
    dropped. Raises InputError that names the message's 1-based number, after ``where``.
    """
    if not isinstance(messages, list | tuple):
        messages = _message_list(messages, where)
    if all(map(_is_canonical, messages)):
        return tuple(messages)
    reader = _Reader()
    for number, message in enumerate(messages, start=1):
        try:
            reader.add(message, f"call_{number}")
        except InputError as error:
            raise InputError(f"{where}message {number} {error}") from None
        except RecursionError:
            raise InputError(f"{where}message {number} is nested too deeply") from None
    return tuple(reader.done)


def _message_list(messages: Any, where: str) -> Sequence[Any]:
    """Return the messages in a numpy array or another sequence as a list. Raises InputError for anything else."""
    if not isinstance(messages, str | bytes | Mapping):
        if callable(getattr(messages, "tolist", None)):
            return list(messages.tolist())
        if isinstance(messages, Sequence):
            return messages
    raise InputError(f"{where}messages must be a list of chat messages, not {type_in_words(messages)}")


def _is_canonical(message: Any) -> bool:
    """Return whether ``message`` is canonical already, as most messages of most runs are. This check is fast."""
    if type(message) is not dict:
        return False
    role = message.get("role")
    content = message.get("content", _KNOWN)  # the default can never be content, so an absent key differs from None
    if type(role) is not str or role not in _ROLES:
        return False
    if len(message) == 2 and type(content) is str and content.isascii():
        return True
    if content is None:
        is_content = role == "assistant"
    else:
        is_content = _is_text(content) or (type(content) is list and all(map(_is_part, content)))
    return message.keys() <= _KNOWN and is_content and _rest_is_canonical(message)


def _rest_is_canonical(message: Chat) -> bool:
    for key in message.keys() & _TEXTS:
        if not _is_text(message[key]):
            return False
    calls = message.get("tool_calls", _KNOWN)
    is_called = calls is _KNOWN or (bool(calls) and type(calls) in (list, tuple) and all(map(_is_call, calls)))
    return is_called and message.get("is_error", True) is True


def _is_part(part: Any) -> bool:
    if type(part) is not dict or len(part) != 2:
        return False
    image = part.get("image_url")
    return (part.get("type") == "text" and _is_text(part.get("text"))) or (
        part.get("type") == "image_url"
        and type(image) is dict
        and "url" in image
        and all(value and _is_text(value) for value in image.values())
    )


def _is_call(call: Any) -> bool:
    if type(call) is not dict or len(call) != 3 or call.get("type") != "function" or not _is_text(call.get("id")):
        return False
    body = call.get("function")
    return type(body) is dict and len(body) == 2 and _is_text(body.get("name")) and _is_text(body.get("arguments"))


def _is_text(value: Any) -> bool:
    return type(value) is str and (value.isascii() or is_encodable(value))


class _Reader:
    """Reads a message list in order.

    It remembers the messages, and calls without an id that have no result yet.
    """

    def __init__(self) -> None:
        self.done: list[Message] = []
        self.from_item = False
        self.waiting: list[tuple[str, str]] = []

    def add(self, message: Any, fallback_id: str) -> None:
        """Read a message; calls in it that have no id get one that begins with ``fallback_id``."""
        is_awaited = self.waiting and _field(message, "role") == "tool" and _field(message, "tool_call_id") is None
        if _is_canonical(message) and not is_awaited:
            self._append([message], item=False)
            return
        value, finish = _unwrapped_message(message)
        if value.get("object") == "response" and isinstance(value.get("output"), list) and "role" not in value:
            self._instruct(value.get("instructions"))
            for place, item in enumerate(value["output"]):
                if not isinstance(item, dict):
                    raise InputError(f"has {type_in_words(item)} in its 'output', where each item must be an object")
                self._add_plain(item, f"{fallback_id}_{place}", item=True)
        else:
            self._add_plain(value, fallback_id, finish=finish)

    def _add_plain(self, value: Chat, fallback_id: str, finish: Chat | None = None, *, item: bool = False) -> None:
        read = next((read for recognises, read in _DIALECTS if recognises(value)), None)
        item = item or read is _of_item or (read is None and value.get("type") == "message")
        for chat in [value | (finish or {})] if read is None else read(value, fallback_id):
            self._append(self.chat_messages(chat, fallback_id), item=item)

    def _instruct(self, instructions: Any) -> None:
        """Put the instructions of a response before all messages, unless they are there: each response repeats them."""
        message = {"role": "system", "content": instructions}
        if isinstance(instructions, str) and instructions and message not in self.done:
            self.done.insert(0, without_surrogates(message))

    def _append(self, messages: list[Chat], *, item: bool) -> None:
        for message in messages:
            joined = _joined(dict(self.done[-1]), message) if self.done and (item or self.from_item) else None
            if joined is None:
                self.done.append(message if _is_canonical(message) else without_surrogates(message))
            else:
                self.done[-1] = without_surrogates(joined)
            self.from_item = item

    def chat_messages(self, value: Chat, fallback_id: str) -> list[Chat]:
        """Return a chat message of any API as canonical ones: several if results of tools are among its blocks."""
        value = {key: item for key, item in value.items() if item is not None or key == "content"}
        if _is_mcp_result(value):
            value["role"] = "tool"
        head: Chat = {"role": _role(value)}
        if "content" not in value and not any(key in value for key in _STRUCTURED):
            _require_no_content(head["role"], value)
        self._take_calls(head, value, fallback_id)
        _take_reasoning(head, value)
        content = _take_content(head, value)
        for key in _TEXTS & value.keys():
            head[key] = value.pop(key) if isinstance(value[key], str) else str(value.pop(key))
        if head["role"] == "tool" and "tool_call_id" not in head:
            self._answer(head)
        ended = _finish_reason(value.pop("finish_reason", None)) or _finish_reason(value.pop("stop_reason", None))
        if value.pop("type", None) == "message":  # the message is in chat form from here on
            value = {key: item for key, item in value.items() if key not in _ENVELOPE}
        rest = {key: item for key, item in value.items() if item not in ([], {})}
        return messages_from_blocks(head | rest | ended, content, fallback_id=fallback_id)

    def _take_calls(self, head: Chat, value: Chat, fallback_id: str) -> None:
        calls = value.pop("tool_calls", None) or []
        if not isinstance(calls, list):
            raise InputError(f"'tool_calls' must be a list, not {type_in_words(calls)}")
        calls = [(call, f"{fallback_id}_{place}") for place, call in enumerate(calls, start=1)]
        if legacy := value.pop("function_call", None):
            calls.append(({"function": legacy}, fallback_id))
        if calls:
            head["tool_calls"] = [openai_tool_call(call, fallback_id=name) for call, name in calls]
            call_ids = {name for _, name in calls}
            self.waiting += [
                (call["function"]["name"], call["id"]) for call in head["tool_calls"] if call["id"] in call_ids
            ]

    def _answer(self, head: Chat) -> None:
        """Give a result without an id that of the oldest call that has no id of its own and no result: of the function
        that the result names, if it names one.
        """
        for place, (name, call_id) in enumerate(self.waiting):
            if name == head.get("name", name):
                head["tool_call_id"] = call_id
                del self.waiting[place]
                return


def _unwrapped_message(message: Any) -> tuple[Chat, Chat]:
    """Return the message inside a choice or a completion as a plain dict, and its finish reason."""
    finish = {}
    choices = _field(message, "choices")
    if isinstance(choices, list) and _field(message, "role") is None:
        if len(choices) != 1:
            raise InputError(f"is a completion with {len(choices)} choices; give the choice that was taken")
        message = choices[0]
    # Only the message is read: a choice's log-probabilities can be a thousand times longer than its text.
    inner = _field(message, "message")
    if inner is not None and _field(message, "role") is None:
        if isinstance(inner, str):
            raise InputError(f"has text under the key 'message'; write the text as 'content'; {_EXPECTED}")
        finish = _finish_reason(_field(message, "finish_reason"))
        message = inner
    if isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], str):
        message = {"role": message[0], "content": message[1]}
    is_data = isinstance(message, str | bytes | list | tuple | int | float | None)
    fields = message if isinstance(message, Mapping) else None if is_data else record_fields(message)
    if fields is None:
        raise InputError(f"is {type_in_words(message)}; {_EXPECTED}")
    value = plain_data(fields)
    # A content that would be read as none or as text, and is neither: NaN, bytes, an object.
    for key in ("content",) if "content" in fields else _FOREIGN_CONTENT & fields.keys():
        content = fields[key]
        is_text = isinstance(content, str | Enum) or callable(getattr(content, "tolist", None))
        if content is not None and (value[key] is None or (isinstance(value[key], str) and not is_text)):
            shown = str(content) if isinstance(content, float) else type_in_words(content)
            raise InputError(f"{key!r} must be text or a list of parts, not {shown}")
    return value, finish


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _finish_reason(reason: Any) -> Chat:
    kept = {"length": "length", "max_tokens": "length", "content_filter": "content_filter"}
    return {"finish_reason": kept[reason]} if isinstance(reason, str) and reason in kept else {}


def _role(value: Chat) -> str:
    role = value.pop("role", None)
    if role is None:
        raise InputError(f"has no 'role'; {_EXPECTED}")
    role = _ALIASES.get(str(role), str(role))
    if role not in _ROLES:
        near = get_close_matches(role[:40], _ROLES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"has the role {role[:40]!r}; known are system, developer, user, assistant, tool{hint}")
    return role


def _require_no_content(role: str, value: Chat) -> None:
    """Raise InputError unless a message may lack content: an empty reply may, if no other key has its text."""
    near = get_close_matches("content", [key for key in value if key not in _KNOWN], n=1, cutoff=0.8)
    if near and near[0] not in ("context", "contents"):
        raise InputError(f"has no 'content' but the unknown key {near[0]!r}; did you mean 'content'?")
    if role != "assistant" or not value.keys().isdisjoint(_FOREIGN_CONTENT):
        raise InputError("has no 'content'")


def _take_reasoning(head: Chat, value: Chat) -> None:
    """Move a message's reasoning to ``head``, whole: servers repeat it under several names, or divide it among them."""
    thinking = {key: value.pop(key) for key in REASONING if key in value}
    for key, thoughts in thinking.items():
        if not isinstance(thoughts, str | dict | list):
            raise InputError(f"{key!r} must be text or a list of parts, not {type_in_words(thoughts)}")
    if text := joined_texts(map(joined_block_text, thinking.values())):
        head["reasoning"] = text


def _take_content(head: Chat, value: Chat) -> Any:
    if head["role"] == "tool":
        content = _take_result(value)
        if value.pop("is_error", None) is True or value.get("status") == "error":
            head["is_error"] = True
            value.pop("status", None)
        return content
    if value.get("is_error") is not True:
        value.pop("is_error", None)
    content = value.pop("content", None)
    if not content and isinstance(value.get("audio"), dict):  # a reply that was spoken
        return value.pop("audio").get("transcript") or content
    return content


# MCP. Its wire format uses camelCase; the attributes of its Python SDK are snake_case since version 2.
_ERROR = ("isError", "is_error")
_STRUCTURED = ("structuredContent", "structured_content")


def _is_mcp_result(value: Any) -> bool:
    """Return whether a plain value is an MCP tool result: content blocks beside one of MCP's own keys."""
    return (
        isinstance(value, Mapping)
        and "role" not in value
        and (isinstance(value.get("content"), list) or any(key in value for key in _STRUCTURED))
        and any(key in value for key in (*_ERROR, *_STRUCTURED))
    )


def _take_result(message: Chat) -> Any:
    """Remove MCP's keys from a foreign tool message and return its content, structured content included.

    Sets ``is_error`` to True if the result was an error. Structured content that a text block repeats, as MCP advises
    servers to do for old clients, is returned only once.
    """
    for key in ("_meta", "meta", "resultType", "result_type"):
        message.pop(key, None)
    flags = [message.pop(key, None) for key in _ERROR]
    structured = next((data for data in [message.pop(key, None) for key in _STRUCTURED] if data is not None), None)
    content = message.pop("content", None)
    if _is_mcp_result(content):
        inner = dict(content)
        content = _take_result(inner)
        flags.append(inner.get("is_error"))
    if any(flag is True for flag in flags):
        message["is_error"] = True
    blocks = content if isinstance(content, list) else [content] if content else []
    if structured is None or any(_repeats(block, structured) for block in blocks):
        return content
    return [*blocks, {"type": "text", "text": compact_json(structured)}]


def _repeats(block: Any, structured: Any) -> bool:
    text = block.get("text") if isinstance(block, dict) else block
    # SDKs wrap a bare return value as {"result": value}.
    wrapped = isinstance(structured, dict) and structured.keys() == {"result"}
    forms = [structured, structured["result"]] if wrapped else [structured]
    try:
        return isinstance(text, str) and (text in forms or json.loads(text) in forms)
    except (ValueError, RecursionError):  # text that is not JSON differs from any structured value
        return False


# LangChain and LangGraph: model dumps, and the output of ``messages_to_dict`` and ``dumpd``.
_LANGCHAIN = frozenset(("human", "ai", "system", "tool", "function", "chat", "remove", "developer"))


def _is_langchain(value: Chat) -> bool:
    if value.get("lc") == 1 and isinstance(value.get("kwargs"), dict) and "role" not in value:
        return True
    kind = value.get("type")
    if not isinstance(kind, str) or _langchain_kind(kind) not in _LANGCHAIN:
        return False
    return isinstance(value.get("data"), dict) or ("content" in value and ("role" not in value or kind == "chat"))


def _langchain_kind(name: str) -> str:
    """Return a LangChain message's type: of a chunk (``AIMessageChunk``) and of a class's path (``AIMessage``), too."""
    return name.removesuffix("Chunk").removesuffix("Message").lower() if "Message" in name else name


def _of_langchain(value: Chat, _: str) -> list[Chat]:
    """Translate a LangChain message. A RemoveMessage only deletes."""
    is_dumped = value.get("lc") == 1
    body: Chat = next((value[key] for key in ("kwargs", "data") if isinstance(value.get(key), dict)), value)
    path = value.get("id")
    named = path[-1] if is_dumped and isinstance(path, list) and path else value.get("type")
    kind = _langchain_kind(str(body.get("type") or named or ""))
    extra = body.get("additional_kwargs") or {}
    if not isinstance(extra, dict):
        raise InputError(f"'additional_kwargs' must be an object, not {type_in_words(extra)}")
    calls: list[Any] = []
    for key in ("tool_calls", "invalid_tool_calls"):  # the model wrote malformed calls, too
        if not isinstance(body.get(key) or [], list):
            raise InputError(f"{key!r} must be a list, not {type_in_words(body[key])}")
        calls += body.get(key) or []
    role, name = extra.get("__openai_role__") or kind, body.get("name")
    if kind == "chat":  # a role that OpenAI lacks becomes a user message with that name
        known = isinstance(body.get("role"), str) and body["role"] in (*_ROLES, "function")
        role, name = (body["role"], name) if known else ("user", name or body.get("role"))
    message = {
        "role": role,
        "content": body.get("content"),
        "name": name,
        "tool_call_id": body.get("tool_call_id"),
        "tool_calls": calls or extra.get("tool_calls"),
        "function_call": None if calls or extra.get("tool_calls") else extra.get("function_call"),
        **{key: body.get(key) or extra.get(key) for key in REASONING},
        "refusal": extra.get("refusal"),
        "is_error": True if body.get("status") == "error" else None,
    }
    return [] if kind == "remove" else [message]


_SPEAKERS = {"gpt": "assistant", "observation": "tool", "function_response": "tool"}


def _of_sharegpt(value: Chat, _: str) -> list[Chat]:
    """Translate a message of ShareGPT's form (``from``, ``value``)."""
    speaker, content = value["from"], value["value"]
    rest = {key: item for key, item in value.items() if key not in ("from", "value")}
    if speaker != "function_call":
        return [{"role": _SPEAKERS.get(speaker, speaker), "content": content, **rest}]
    try:
        calls = json.loads(content) if isinstance(content, str) else content
    except (ValueError, RecursionError):
        calls = None
    calls = calls if isinstance(calls, list) else [calls]
    if all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        return [{"role": "assistant", "content": None, "tool_calls": calls, **rest}]
    return [{"role": "assistant", "content": content if isinstance(content, str) else compact_json(content), **rest}]


# OpenAI's Responses API splits one turn into several items.
_SILENT = frozenset(("item_reference", "compaction", "mcp_list_tools"))
"""Bookkeeping between client and server: the model neither wrote nor did any of these."""
_OUTPUTS = ("output", "outputs", "results", "result", "error")
_ITEM = frozenset(("type", "id", "call_id", "status", "name", "caller", "created_by", "namespace", *_OUTPUTS))


def _is_item(value: Chat) -> bool:
    """Return whether a plain dict is an item of the Responses API other than a message."""
    kind = value.get("type")
    if not isinstance(kind, str) or "role" in value:
        return False
    return kind in _SILENT or kind == "reasoning" or kind.endswith(("_call", "_output", "_approval_request"))


def _of_item(item: Chat, fallback_id: str) -> list[Chat]:
    """Translate an item: reasoning, a result, or a call, with its result if the provider ran the tool."""
    kind, name, failed = item["type"], item.get("name"), item.get("error") is not None
    if kind in _SILENT:
        return []
    if kind == "reasoning":
        text = joined_block_text(item)
        return [{"role": "assistant", "content": None, "reasoning": text}] if text else []
    outputs = [item[key] for key in _OUTPUTS if item.get(key) is not None]
    content = outputs[0] if outputs else None
    if len(outputs) > 1:
        content = joined_texts(output if isinstance(output, str) else compact_json(output) for output in outputs)
    call_id = item.get("call_id") or item.get("id")
    if kind.endswith("_output"):
        failed = failed or item.get("status") in ("failed", "incomplete")
        head = {"role": "tool", "tool_call_id": call_id, "name": name if isinstance(name, str) else None}
        return [head | {"content": "" if content is None else content, "is_error": failed or None}]
    known = next((item[key] for key in ("arguments", "input", "code") if item.get(key) is not None), None)
    rest = {key: value for key, value in item.items() if key not in _ITEM and value is not None}
    call_id = str(call_id or fallback_id)
    call = {"id": call_id, "name": name or kind.removesuffix("_call"), "arguments": rest if known is None else known}
    asked: Chat = {"role": "assistant", "content": None, "tool_calls": [call]}
    if content is None:
        return [asked]
    if kind == "image_generation_call" and isinstance(item.get("result"), str) and not failed:
        content = [{"type": "image", "data": item["result"]}]
    elif not isinstance(content, str):
        content = compact_json(content)
    return [asked, {"role": "tool", "tool_call_id": call_id, "content": content, "is_error": failed or None}]


def _joined(previous: Chat, following: Chat) -> Chat | None:
    """Join two fragments of Responses items to one assistant message; None if ``following`` begins another.

    In a turn, text follows reasoning and calls follow text; reasoning after text or calls begins a new turn.
    """
    if previous.get("role") != "assistant" or following.get("role") != "assistant":
        return None
    if previous.get("reasoning") and not previous.get("content") and not previous.get("tool_calls"):
        thoughts = [text for text in (previous["reasoning"], following.get("reasoning")) if text]
        return {**following, "reasoning": "\n\n".join(thoughts)}
    adds_calls = following.keys() <= {"role", "content", "tool_calls"} and not following.get("content")
    if adds_calls and following.get("tool_calls"):
        return {**previous, "tool_calls": [*(previous.get("tool_calls") or ()), *following["tool_calls"]]}
    return None


_DIALECTS: Final[tuple[tuple[Callable[[Chat], bool], Callable[[Chat, str], list[Chat]]], ...]] = (
    (_is_langchain, _of_langchain),
    (lambda value: isinstance(value.get("from"), str) and "value" in value and "role" not in value, _of_sharegpt),
    (_is_item, _of_item),
)
"""How messages that are not chat messages are recognised and translated; the first that fits counts."""


# Messages whose content is a list of blocks (Anthropic, LangChain).
_THOUGHTS = frozenset(("thinking", "redacted_thinking", "reasoning"))
_CALLS = frozenset({
    "tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "server_tool_call", "invalid_tool_call",
    "function_call", "custom_tool_call",
})  # fmt: skip


def messages_from_blocks(head: Chat, content: Any, *, fallback_id: str) -> list[Chat]:
    """Convert a foreign message, given as ``head`` (its keys without content) and ``content``, to one or more chat
    messages.

    ``content`` is plain data: None, text, a block or a list of blocks; other data that a tool returned becomes JSON
    text. Raises InputError with the reason.
    """
    role = head["role"]
    if content is None or isinstance(content, str):
        return [{"role": role, "content": content if content is not None or role == "assistant" else "", **head}]
    if isinstance(content, dict) and isinstance(content.get("type"), str):
        content = [content]
    if isinstance(content, list) and (role != "tool" or all(map(_is_block, content))):
        return list(_unfolded(head, content, fallback_id))
    if role == "tool":
        return [{"role": role, "content": compact_json(content), **head}]
    raise InputError(f"'content' must be text or a list of parts, not {type_in_words(content)}")


def _is_block(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get("type"), str))


def _unfolded(head: Chat, blocks: list[Any], fallback_id: str) -> Iterator[Chat]:
    """Yield the chat messages of a message's blocks; a tool result among the blocks ends the current one.

    The message's other keys belong to the first chat message.
    """
    role = head["role"]
    rest = {key: value for key, value in head.items() if key not in ("role", "tool_calls")}
    calls, parts, thoughts = list(head.get("tool_calls", ())), list[Chat](), list[str]()
    known = {call["id"] for call in calls}  # LangChain writes the same tool call twice: as a block and in tool_calls

    def message() -> Chat:
        content: Any = parts or (None if role == "assistant" else "")
        if len(parts) == 1 and parts[0].keys() == {"type", "text"} and parts[0]["type"] == "text":
            content = parts[0]["text"]
        thought = joined_texts((rest.get("reasoning", ""), "\n\n".join(filter(None, thoughts))))
        optional = {"tool_calls": calls, "reasoning": thought}
        return {"role": role, "content": content, **rest} | {key: item for key, item in optional.items() if item}

    is_divided = False
    for number, block in enumerate(blocks, start=1):
        kind = str(block.get("type")) if isinstance(block, dict) else ""
        if kind in _CALLS and role != "tool":  # inside a tool's result, these blocks are data and not calls
            call = openai_tool_call(block, fallback_id=f"{fallback_id}_{number}")
            calls += [] if call["id"] in known else [call]
            known.add(call["id"])
        elif kind in _THOUGHTS and role != "tool":
            thoughts.append(joined_block_text(block))
        elif kind == "refusal" and isinstance(block.get("refusal"), str):
            rest["refusal"] = joined_texts((rest.get("refusal", ""), block["refusal"]))
        elif kind.endswith("tool_result"):
            if parts or calls or any(thoughts) or not rest.keys().isdisjoint(("reasoning", "refusal")):
                yield message()
                rest, calls, parts, thoughts = {}, [], [], []
            is_divided = True
            yield from _of_tool_result(block, fallback_id)
        else:
            parts.extend(content_parts(block))
    if parts or calls or any(thoughts) or not rest.keys().isdisjoint(("reasoning", "refusal")) or not is_divided:
        yield message()


def _of_tool_result(block: Chat, fallback_id: str) -> list[Chat]:
    head: Chat = {"role": "tool"}
    result = {key: block[key] for key in block if key not in ("type", "tool_use_id", "name")}
    content = _take_result(result)
    if call_id := block.get("tool_use_id") or block.get("tool_call_id") or block.get("toolUseId"):
        head["tool_call_id"] = str(call_id)
    failed = isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
    if result.get("is_error") is True or block.get("status") == "error" or failed:
        head["is_error"] = True
    if "output" in block and content is None:  # LangChain's server_tool_result
        content = block["output"]
    return messages_from_blocks(head, content, fallback_id=fallback_id)
