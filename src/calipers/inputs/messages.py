"""Convert message lists of any API to canonical OpenAI chat messages.

This file recognises the form of each message; ``blocks``, ``langchain``, ``mcp`` and ``openai_responses`` read the
forms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import Any

from calipers.errors import InputError
from calipers.inputs import langchain, mcp, openai_responses
from calipers.inputs.parts import REASONING, joined_block_text, joined_texts, messages_from_blocks, openai_tool_call
from calipers.inputs.plain import (
    compact_json,
    is_encodable,
    plain_data,
    record_fields,
    type_in_words,
    without_surrogates,
)
from calipers.types import Message

_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))
_ALIASES = {"human": "user", "ai": "assistant", "model": "assistant"}
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
            reader.add(message, number)
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
    return message.keys() <= _KNOWN and _is_content(content, role) and _rest_is_canonical(message)


def _is_content(content: Any, role: str) -> bool:
    if content is None:
        return role == "assistant"
    return _is_text(content) if type(content) is str else type(content) is list and all(map(_is_part, content))


def _rest_is_canonical(message: dict[str, Any]) -> bool:
    for key in message.keys() & _TEXTS:
        if not _is_text(message[key]):
            return False
    calls = message.get("tool_calls", ())
    if "tool_calls" in message and not calls:
        return False
    return message.get("is_error", True) is True and type(calls) in (list, tuple) and all(map(_is_call, calls))


def _is_part(part: Any) -> bool:
    if type(part) is not dict:
        return False
    if part.get("type") == "text":
        return len(part) == 2 and _is_text(part.get("text"))
    image = part.get("image_url")
    return (
        part.get("type") == "image_url"
        and len(part) == 2
        and type(image) is dict
        and all(value and _is_text(value) for value in image.values())
        and "url" in image
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

    It remembers two things between messages: the last message, and calls without an id that have no result yet.
    """

    def __init__(self) -> None:
        self.done: list[Message] = []
        self.from_item = False
        self.waiting: list[tuple[str, str]] = []
        self.called: set[str] = set()

    def add(self, message: Any, number: int) -> None:
        if _is_canonical(message) and not self._is_awaited(message):
            self._append([message], item=False)
            return
        value, finish = _unwrapped_message(message)
        fallback_id = f"call_{number}"
        if langchain.is_langchain_message(value):
            chat = langchain.chat_message_from_langchain(value)
            if chat is not None:
                self._append(self._chat(chat, fallback_id), item=False)
        elif value.get("object") == "response" and isinstance(value.get("output"), list) and "role" not in value:
            self._instruct(value.get("instructions"))
            for place, item in enumerate(value["output"]):
                self._item(item, f"{fallback_id}_{place}")
        elif mcp.is_rpc(value):
            for chat in mcp.chat_messages_of_rpc(value, self.called):
                self._append(self._chat(chat, fallback_id), item=False)
        elif isinstance(value.get("from"), str) and "value" in value and "role" not in value:
            self._append(self._chat(_of_sharegpt(value), fallback_id), item=False)
        elif openai_responses.is_responses_item(value) or value.get("type") == "message":
            self._item(value, fallback_id)
        else:
            self._append(self._chat(value | finish, fallback_id), item=False)

    def _is_awaited(self, message: Message) -> bool:
        """Return whether a message may be the result of a call that got its id here, and does not have that id yet."""
        return bool(self.waiting) and message["role"] == "tool" and "tool_call_id" not in message

    def _instruct(self, instructions: Any) -> None:
        """Put the instructions of a response before all messages, unless they are there: each response repeats them."""
        told = {"role": "system", "content": instructions}
        if isinstance(instructions, str) and instructions and told not in self.done:
            self.done.insert(0, without_surrogates(told))

    def _item(self, item: Any, fallback_id: str) -> None:
        if not isinstance(item, dict):
            raise InputError(f"has {type_in_words(item)} in its 'output', where each item must be an object")
        if not openai_responses.is_responses_item(item):
            self._append(self._chat(item, fallback_id), item=True)
            return
        for fragment in openai_responses.message_fragments(item, fallback_id=fallback_id):
            head = {key: value for key, value in fragment.items() if key != "content"}
            self._append(messages_from_blocks(head, fragment["content"], fallback_id=fallback_id), item=True)

    def _append(self, found: list[dict[str, Any]], *, item: bool) -> None:
        for message in found:
            joined = (
                openai_responses.join_assistant_messages(dict(self.done[-1]), message)
                if self.done and (item or self.from_item)
                else None
            )
            if joined is None:
                self.done.append(without_surrogates(message) if item or not _is_canonical(message) else message)
            else:
                self.done[-1] = without_surrogates(joined)
            self.from_item = item

    def _chat(self, value: dict[str, Any], fallback_id: str) -> list[dict[str, Any]]:
        value = {key: item for key, item in value.items() if item is not None or key == "content"}
        if mcp.is_mcp_result(value):
            value["role"] = "tool"
        head: dict[str, Any] = {"role": self._role(value)}
        if "content" not in value and not mcp.has_structured_content(value):
            meant = next((key for key in value if key not in _KNOWN and get_close_matches(key, ["content"])), None)
            if meant is not None and meant not in ("context", "contents"):
                raise InputError(f"has no 'content' but the unknown key {meant!r}; did you mean 'content'?")
            if not _may_lack_content(head["role"], value):
                raise InputError("has no 'content'")
        self._calls(head, value, fallback_id)
        _take_reasoning(head, value)
        content = _take_content(head, value)
        for key in _TEXTS & value.keys():
            head[key] = value.pop(key) if isinstance(value[key], str) else str(value.pop(key))
        if head["role"] == "tool" and "tool_call_id" not in head:
            self._answer(head)
        return messages_from_blocks(head | _rest(value), content, fallback_id=fallback_id)

    def _role(self, value: dict[str, Any]) -> str:
        role = value.pop("role", None)
        if role is None:
            raise InputError(f"has no 'role'; {_EXPECTED}")
        role = "tool" if role == "function" else _ALIASES.get(str(role), str(role))
        if role not in _ROLES:
            near = get_close_matches(role[:40], _ROLES, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"has the role {role[:40]!r}; known are system, developer, user, assistant, tool{meant}")
        return role

    def _calls(self, head: dict[str, Any], value: dict[str, Any], fallback_id: str) -> None:
        calls = value.pop("tool_calls", None) or []
        if not isinstance(calls, list):
            raise InputError(f"'tool_calls' must be a list, not {type_in_words(calls)}")
        made = [f"{fallback_id}_{place}" for place, _ in enumerate(calls, start=1)]
        read = [openai_tool_call(call, fallback_id=own) for call, own in zip(calls, made, strict=True)]
        self.waiting += [(call["function"]["name"], call["id"]) for call in read if call["id"] in made]
        legacy = value.pop("function_call", None)
        if legacy:
            read.append(openai_tool_call({"function": legacy}, fallback_id=fallback_id))
            self.waiting.append((read[-1]["function"]["name"], fallback_id))
        if read:
            head["tool_calls"] = read

    def _answer(self, head: dict[str, Any]) -> None:
        """Give a result without an id that of the oldest call that has no id of its own and no result: of the function
        that the result names, if it names one.
        """
        for place, (name, call_id) in enumerate(self.waiting):
            if name == head.get("name", name):
                head["tool_call_id"] = call_id
                del self.waiting[place]
                return


_SPEAKERS = {"human": "user", "gpt": "assistant", "observation": "tool", "function_response": "tool"}


def _of_sharegpt(value: dict[str, Any]) -> dict[str, Any]:
    """Return a message of ShareGPT's form (``from``, ``value``) as a chat message."""
    speaker, said = value["from"], value["value"]
    rest = {key: item for key, item in value.items() if key not in ("from", "value")}
    if speaker != "function_call":
        return {"role": _SPEAKERS.get(speaker, speaker), "content": said, **rest}
    try:
        calls = json.loads(said) if isinstance(said, str) else said
    except (ValueError, RecursionError):
        return {"role": "assistant", "content": said, **rest}
    calls = calls if isinstance(calls, list) else [calls]
    if not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        return {"role": "assistant", "content": said if isinstance(said, str) else compact_json(said), **rest}
    return {"role": "assistant", "content": None, "tool_calls": calls, **rest}


def _unwrapped_message(message: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the message inside a choice or a completion as a plain dict, and its finish reason."""
    finish = {}
    choices = _field(message, "choices")
    if isinstance(choices, list) and _field(message, "role") is None:
        if len(choices) != 1:
            raise InputError(f"is a completion with {len(choices)} choices; give the choice that was taken")
        message = choices[0]
    # Only the message is read: a choice's log-probabilities can be a thousand times longer than its text.
    inner = _field(message, "message")
    if isinstance(inner, str) and _field(message, "role") is None:
        raise InputError(f"has text under the key 'message', which holds a message; write it as 'content'; {_EXPECTED}")
    if inner is not None and not isinstance(inner, str) and _field(message, "role") is None:
        finish = _finish_reason(_field(message, "finish_reason"))
        message = inner
    if isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], str):
        message = {"role": message[0], "content": message[1]}
    fields = message if isinstance(message, Mapping) else _message_fields(message)
    value = plain_data(fields)
    _require_content(fields, value)
    return value, finish


def _require_content(given: Mapping[Any, Any], value: dict[str, Any]) -> None:
    """Raise InputError for a content that would be read as none or as text, and is neither: NaN, bytes, an object."""
    for key in ("content",) if "content" in given else _FOREIGN_CONTENT & given.keys():
        content = given[key]
        is_text = isinstance(content, str | Enum) or callable(getattr(content, "tolist", None))
        if content is not None and (value[key] is None or (isinstance(value[key], str) and not is_text)):
            shown = str(content) if isinstance(content, float) else type_in_words(content)
            raise InputError(f"{key!r} must be text or a list of parts, not {shown}")


def _message_fields(message: Any) -> dict[str, Any]:
    fields = None if isinstance(message, str | bytes | list | tuple | int | float | None) else record_fields(message)
    if fields is None:
        raise InputError(f"is {type_in_words(message)}; {_EXPECTED}")
    return fields


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _finish_reason(reason: Any) -> dict[str, Any]:
    kept = {"length": "length", "max_tokens": "length", "content_filter": "content_filter"}
    return {"finish_reason": kept[reason]} if isinstance(reason, str) and reason in kept else {}


def _take_reasoning(head: dict[str, Any], value: dict[str, Any]) -> None:
    """Move a message's reasoning to ``head``, whole: servers repeat it under several names, or divide it among them."""
    given = {key: value.pop(key) for key in REASONING if key in value}
    for key, thoughts in given.items():
        if not isinstance(thoughts, str | dict | list):
            raise InputError(f"{key!r} must be text or a list of parts, not {type_in_words(thoughts)}")
    text = joined_texts(map(joined_block_text, given.values()))
    if text:
        head["reasoning"] = text


def _may_lack_content(role: str, value: dict[str, Any]) -> bool:
    """Return whether a message may lack ``content``: an empty reply may, unless its text is under another API's key."""
    return role == "assistant" and value.keys().isdisjoint(_FOREIGN_CONTENT)


def _take_content(head: dict[str, Any], value: dict[str, Any]) -> Any:
    if head["role"] != "tool":
        if value.get("is_error") is not True:
            value.pop("is_error", None)
        content = value.pop("content", None)
        return _with_audio(content, value.pop("audio")) if isinstance(value.get("audio"), dict) else content
    content = mcp.take_mcp_content(value)
    if value.pop("is_error", None) is True or value.get("status") == "error":
        head["is_error"] = True
        value.pop("status", None)
    return content


def _with_audio(content: Any, audio: dict[str, Any]) -> Any:
    """Return the content of a message that was spoken: its transcript, or the sound of a message without one."""
    spoken = audio.get("transcript")
    if not spoken and isinstance(audio.get("data"), str):
        spoken = [{"type": "audio", "data": audio["data"]}]
    if not content or not spoken or content == spoken:
        return content or spoken or content
    listed = [one if isinstance(one, list) else [{"type": "text", "text": one}] for one in (content, spoken)]
    said = [part.get("text") for part in listed[0] if isinstance(part, dict)]
    return listed[0] + [part for part in listed[1] if part.get("text") is None or part["text"] not in said]


def _rest(value: dict[str, Any]) -> dict[str, Any]:
    """Return the remaining keys of a message: unknown keys unchanged, without envelopes and empty annotations."""
    ended = _finish_reason(value.pop("finish_reason", None)) or _finish_reason(value.pop("stop_reason", None))
    if value.pop("type", None) == "message":  # the message is in chat form from here on
        value = {key: item for key, item in value.items() if key not in _ENVELOPE}
    return {key: item for key, item in value.items() if item not in ([], {})} | ended
