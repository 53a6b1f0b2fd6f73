"""Writes trajectories as transcripts: for each canonical message, a header line and its text.

::

    @kom user                                   role, and the speaker's name where there is one
    Cancel my booking.
    @kom assistant
    Let me look.
    @kom call c1 get_user {"id": 7}             id, function, arguments as they came (possibly over several lines)
    @kom result c1 get_user                     or "error" for a failed call; id, name where there is one
    {"name": "Ann"}

Further blocks of a message are ``text``, ``image`` and ``part`` (the second and later parts of its content),
``refusal``, ``fields`` (other keys, JSON) and, before its header, ``reasoning``. An assistant message that only calls
tools has no header of its own. Here the marker is still the placeholder ``MARK``: escaped text cannot contain it, so
blocks can be compared, hashed and split before a marker is drawn. ``group`` finds the content that candidates share.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from calipers.render.binaries import plain_json
from calipers.render.canonical import Canonicaliser, Reasoning
from calipers.render.escapes import escape
from calipers.types import Message, Tool, Trajectory, TrajectoryGroup, Transcript

MARK = "\x01"
IMAGE = "\x02"
NONE = "-"
PLAIN_ROLES = frozenset({"system", "user", "assistant", "developer"})
# The header or a separate block shows these keys. All other keys are written as fields.
_PLACED = frozenset({"role", "content", "name", "reasoning", "refusal"})
_PLACED_FOR = {"assistant": _PLACED | {"tool_calls"}, "tool": _PLACED | {"tool_call_id", "is_error"}}
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,63}")
KEY_BYTES = 16
"""The number of bytes of a trajectory's key, and of its group's digest."""

# Readers look for these keys of a tool definition first. The others are sorted, so that equal definitions look the
# same.
_FIRST_KEYS = ("type", "name", "description")


class Transcriber:
    """Writes the trajectories of ``group`` as transcripts, one at a time. Some trajectories may arrive later.

    ``messages`` is the group's context in canonical form, and ``blocks`` is the same context as text. Of the group,
    only its context and tools are used.
    """

    def __init__(self, group: TrajectoryGroup, reasoning: Reasoning) -> None:
        self._group, self._reasoning = group, reasoning
        self._canonicaliser = Canonicaliser(reasoning)
        self.messages = list(map(self._canonicaliser.canonical_message, group.context))
        self.blocks = write_blocks(self.messages, after_assistant=False)
        self.definitions: dict[str, Tool] = {}
        """The tool definitions of all trajectories written so far, by their lines in the transcript."""
        self._lines: dict[str, tuple[str, ...]] = {}

    def transcript(self, trajectory: Trajectory) -> Transcript:
        """Return the transcript of ``trajectory``, or a valid ``trajectory.prepared``. Never raises for content."""
        group, prepared = self._group, trajectory.prepared
        lines = self._tool_lines(trajectory.tools if trajectory.tools is not None else group.tools)
        if (
            prepared is not None
            and prepared.is_valid_for(trajectory.messages, group.context, self._reasoning)
            and prepared.transcript.tools == lines
        ):
            return prepared.transcript
        canonicaliser = self._canonicaliser.copy()
        messages = tuple(map(canonicaliser.canonical_message, trajectory.messages))
        after_assistant = bool(self.messages) and self.messages[-1]["role"] == "assistant"
        blocks = tuple(write_blocks(messages, after_assistant=after_assistant))
        key = hashlib.blake2b("".join((*blocks, MARK, *lines)).encode(), digest_size=KEY_BYTES).digest()
        return Transcript(key, messages, blocks, lines, canonicaliser.omissions())

    def _tool_lines(self, tools: Sequence[Tool] | None) -> tuple[str, ...]:
        """Return a line for each tool definition. Trajectories with the same tools share the lines."""
        if not tools:
            return ()
        key = repr(tools)
        if key not in self._lines:
            definitions = [_ordered(plain_json(tool, [])) for tool in tools]
            self._lines[key] = tuple(_dumps(definition, keep_order=True) for definition in definitions)
            self.definitions.update(zip(self._lines[key], definitions, strict=True))
        return self._lines[key]


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    first = [key for key in _FIRST_KEYS if key in value]
    return {key: _ordered(value[key]) for key in (*first, *sorted(value.keys() - set(first)))}


def write_blocks(messages: Iterable[Message], *, after_assistant: bool) -> list[str]:
    """Return a block of transcript text per message. ``after_assistant``: an assistant's message precedes the first."""
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


def header_word(text: str) -> str:
    """Return ``text`` as one word of a transcript's header line, as a JSON string if it is not already one word."""
    if _WORD.fullmatch(text) and text != "see":
        return text
    return escape(json.dumps(text, ensure_ascii=False))


def _dumps(value: Any, *, keep_order: bool = False) -> str:
    """Return ``value`` as one line of compact JSON, escaped for the transcript, sorted unless ``keep_order``."""
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
    return f"{written}{MARK}fields {_dumps(fields)}\n" if fields else written


def _block(header: str, text: str) -> str:
    return f"{MARK}{header}\n{escape(text)}\n" if text else f"{MARK}{header}\n"


def _header(message: Message, role: str) -> str:
    if role == "tool":
        first = ("error" if message.get("is_error") is True else "result") + " " + message.get("tool_call_id", NONE)
    else:
        first = role if role in PLAIN_ROLES else f"role {header_word(role)}"
    return f"{first} {header_word(message['name'])}" if "name" in message else first


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
    return f"{MARK}part {_dumps(part)}\n"


def _call(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    if call.keys() != {"id", "type", "function"} or call["type"] != "function" or not _is_plain(function):
        rest = {key: value for key, value in call.items() if key != "id"}
        return f"{MARK}call {call['id']} {_dumps(rest)}\n"
    arguments = function["arguments"]
    line = f"{MARK}call {call['id']} {header_word(function['name'])}"
    return f"{line} {escape(arguments)}\n" if arguments else f"{line}\n"


def _is_plain(function: Any) -> TypeGuard[dict[str, str]]:
    """Return whether a tool call is plain: its function has a name and arguments as text, and nothing else."""
    return (
        isinstance(function, dict)
        and function.keys() == {"name", "arguments"}
        and isinstance(function["name"], str)
        and isinstance(function["arguments"], str)
    )
