r"""How one canonical message is written: a header line per block, then text as it is.

::

    @kom user                                   role, and the speaker's name where there is one
    Cancel my booking.
    @kom assistant
    Let me look.
    @kom call c1 get_user {"id": 7}             id, function, arguments as they came (they may run over lines)
    @kom result c1 get_user                     or "error" where the tool said so; id, name where one was given
    {"name": "Ann"}

Further blocks of a message: ``text``, ``image`` and ``part`` (the second and later parts of its content),
``refusal``, ``fields`` (other keys, JSON), and before its header ``reasoning``. An assistant message that only calls
tools has no header of its own. Here the marker is still the placeholder ``MARK``: escaped text cannot contain it, so
blocks can be compared, hashed and taken apart before a marker is drawn. Not responsible for what groups share.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from calipers.render.escapes import escape
from calipers.types import Message

MARK = "\x01"
IMAGE = "\x02"
NONE = "-"
PLAIN_ROLES = frozenset({"system", "user", "assistant", "developer"})
# Keys with a place of their own in the transcript; all others are fields.
_PLACED = frozenset({"role", "content", "name", "reasoning", "refusal"})
_PLACED_FOR = {"assistant": _PLACED | {"tool_calls"}, "tool": _PLACED | {"tool_call_id", "is_error"}}
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,63}")


def write(messages: Iterable[Message], *, after_assistant: bool) -> list[str]:
    """One block of text per message. ``after_assistant`` tells whether the message before them is an assistant's."""
    blocks = []
    for message in messages:
        role = message["role"]
        content = message["content"]
        if len(message) == 2 and type(content) is str and role in PLAIN_ROLES:
            blocks.append(f"{MARK}{role}\n{escape(content)}\n" if content else f"{MARK}{role}\n")
        else:
            blocks.append(_write_message(message, role, after_assistant=after_assistant))
        after_assistant = role == "assistant"
    return blocks


def word(text: str) -> str:
    """``text`` as one word of a header line: itself where it is one, else a JSON string."""
    if _WORD.fullmatch(text) and text != "see":
        return text
    return escape(json.dumps(text, ensure_ascii=False))


def dumps(value: Any, *, keep_order: bool = False) -> str:
    """``value`` as one line of compact JSON, escaped. Equal values write alike, unless their ``keep_order`` is asked for."""
    return escape(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=not keep_order))


def _write_message(message: Message, role: str, *, after_assistant: bool) -> str:
    content = message["content"]
    calls = message.get("tool_calls", ()) if role == "assistant" else ()
    written = _block("reasoning", message["reasoning"]) if "reasoning" in message else ""
    if content or not calls or after_assistant or "name" in message or "refusal" in message:
        written += _header_and_content(_header(message, role), content)
    if "refusal" in message:
        written += _block("refusal", message["refusal"])
    for call in calls:
        written += _call(call)
    placed = _PLACED_FOR.get(role, _PLACED)
    fields = {key: value for key, value in message.items() if key not in placed}
    return f"{written}{MARK}fields {dumps(fields)}\n" if fields else written


def _block(header: str, text: str) -> str:
    return f"{MARK}{header}\n{escape(text)}\n" if text else f"{MARK}{header}\n"


def _header(message: Message, role: str) -> str:
    if role == "tool":
        first = ("error" if message.get("is_error") is True else "result") + " " + message.get("tool_call_id", NONE)
    else:
        first = role if role in PLAIN_ROLES else f"role {word(role)}"
    return f"{first} {word(message['name'])}" if "name" in message else first


def _header_and_content(header: str, content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return _block(header, content)
    opens = content[0]["type"] == "text"
    written = _block(header, content[0]["text"] if opens else "")
    return written + "".join(_part(part) for part in (content[1:] if opens else content))


def _part(part: Mapping[str, Any]) -> str:
    match part["type"]:
        case "text":
            return _block("text", part["text"])
        case "image_url":
            image = part["image_url"]
            return f"{MARK}image\n{IMAGE}{escape(image['url'])}{IMAGE}{escape(image.get('detail', ''))}{IMAGE}\n"
    return f"{MARK}part {dumps(part)}\n"


def _call(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    if call.keys() != {"id", "type", "function"} or call["type"] != "function" or not _is_plain(function):
        rest = {key: value for key, value in call.items() if key != "id"}
        return f"{MARK}call {call['id']} {dumps(rest)}\n"
    arguments = function["arguments"]
    line = f"{MARK}call {call['id']} {word(function['name'])}"
    return f"{line} {escape(arguments)}\n" if arguments else f"{line}\n"


def _is_plain(function: Any) -> TypeGuard[dict[str, str]]:
    """Whether a call's function is a name and arguments as text, and nothing else."""
    return (
        isinstance(function, dict)
        and function.keys() == {"name", "arguments"}
        and isinstance(function["name"], str)
        and isinstance(function["arguments"], str)
    )
