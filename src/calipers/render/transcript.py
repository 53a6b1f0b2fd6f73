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
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from calipers.render.canonical import Canonicaliser, Reasoning, is_usual_call, plain_json
from calipers.render.escapes import escape, escape_all_in_steps
from calipers.types import Message, Tool, Trajectory, TrajectoryGroup, Transcript
from calipers.types.steps import Steps, at_once

MARK = "\x01"
IMAGE = "\x02"
NONE = "-"
ONE_LINE = frozenset({"call", "fields", "part"})
"""Blocks whose content begins on the header line."""
PLAIN_ROLES = frozenset({"system", "user", "assistant", "developer"})
# The header or a separate block shows these keys. All other keys are written as fields.
_PLACED = frozenset({"role", "content", "name", "reasoning", "refusal"})
_PLACED_FOR = {"assistant": _PLACED | {"tool_calls"}, "tool": _PLACED | {"tool_call_id", "is_error"}}
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,63}")
_LONGEST_RUN = 2**17
_MOST_IN_RUN = 256
"""A run of messages ends when it has more than ``_LONGEST_RUN`` characters, or so many messages."""
KEY_BYTES = 16
"""The number of bytes of a trajectory's key, and of its group's digest."""

# Readers look for these keys of a tool definition first. The others are sorted, so that equal definitions look the
# same.
_FIRST_KEYS = ("type", "name", "description")


class Transcriber:
    """Writes the trajectories of ``group`` as transcripts, one at a time.

    ``messages`` is the group's context in canonical form, and ``blocks`` is the same context as text, after
    ``write_context``. Of the group, only its context and tools are used.
    """

    def __init__(self, group: TrajectoryGroup, reasoning: Reasoning) -> None:
        self._group = group
        self._canonicaliser = Canonicaliser(reasoning)
        self.messages: list[Message] = []
        self.blocks: list[str] = []
        self.definitions: dict[str, Tool] = {}
        """The tool definitions of all trajectories written so far, by their lines in the transcript."""
        self._lines: dict[str, tuple[str, ...]] = {}

    def write_context(self) -> Steps[None]:
        """Write the group's context, before the first trajectory."""
        self.messages = list(map(self._canonicaliser.canonical_message, self._group.context))
        self.blocks = yield from write_blocks_in_steps(self.messages, after_assistant=False)

    def transcript(self, trajectory: Trajectory) -> Steps[Transcript]:
        """Return the transcript of ``trajectory``, in steps. Never raises for content."""
        lines = self._tool_lines(trajectory.tools if trajectory.tools is not None else self._group.tools)
        canonicaliser = self._canonicaliser.copy()
        messages: list[Message] = []
        blocks: list[str] = []
        after_assistant = bool(self.messages) and self.messages[-1]["role"] == "assistant"
        for run in _runs_of(trajectory.messages):
            if messages:
                yield
                after_assistant = messages[-1]["role"] == "assistant"
            canonical = list(map(canonicaliser.canonical_message, run))
            blocks += yield from write_blocks_in_steps(canonical, after_assistant=after_assistant)
            messages += canonical
        key = hashlib.blake2b("".join((*blocks, MARK, *lines)).encode(), digest_size=KEY_BYTES).digest()
        return Transcript(key, tuple(messages), tuple(blocks), lines, canonicaliser.omissions())

    def _tool_lines(self, tools: Sequence[Tool] | None) -> tuple[str, ...]:
        """Return a line for each tool definition. Trajectories with the same tools share the lines."""
        if not tools:
            return ()
        key = repr(tools)
        if key not in self._lines:
            definitions = [_ordered(plain_json(tool, [])) for tool in tools]
            self._lines[key] = tuple(escape(_json(definition, keep_order=True)) for definition in definitions)
            self.definitions.update(zip(self._lines[key], definitions, strict=True))
        return self._lines[key]


def _runs_of(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Split a trajectory's messages into runs, each written in one step. Most trajectories are one run."""
    begin = size = 0
    for end, message in enumerate(messages, start=1):
        content = message.get("content")
        size += len(content) if isinstance(content, str) else 0
        if size > _LONGEST_RUN or end - begin == _MOST_IN_RUN:
            yield messages[begin:end]
            begin, size = end, 0
    if begin < len(messages):
        yield messages[begin:]


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    first = [key for key in _FIRST_KEYS if key in value]
    return {key: _ordered(value[key]) for key in (*first, *sorted(value.keys() - set(first)))}


def write_blocks_in_steps(messages: Sequence[Message], *, after_assistant: bool) -> Steps[list[str]]:
    """Return a block of transcript text per message. ``after_assistant``: an assistant's message precedes the first."""
    texts: list[str] = []
    for message in messages:
        text = message["content"]
        if len(message) != 2 or type(text) is not str or message["role"] not in PLAIN_ROLES:
            break
        texts.append(text)
    else:  # headers and texts, and nothing else, as most trajectories are
        blocks: list[str] = []
        for message, text in zip(messages, (yield from escape_all_in_steps(texts)), strict=True):
            blocks.append(f"{MARK}{message['role']}\n{text}\n" if text else f"{MARK}{message['role']}\n")
        return blocks
    writer = _Writer()
    ends = [0]
    for message in messages:
        role = message["role"]
        if len(message) == 2 and type(message["content"]) is str and role in PLAIN_ROLES:
            writer.block(role, message["content"])
        else:
            writer.message(message, role, after_assistant=after_assistant)
        ends.append(len(writer.pieces))
        after_assistant = role == "assistant"
    pieces = yield from writer.escaped_pieces()
    return ["".join(pieces[first:last]) for first, last in pairwise(ends)]


write_blocks = at_once(write_blocks_in_steps)


def header_word(text: str) -> str:
    """Return ``text`` as one word of a transcript's header line, as a JSON string if it is not already one word."""
    if _WORD.fullmatch(text) and text != "see":
        return text
    return escape(json.dumps(text, ensure_ascii=False))


def _json(value: Any, *, keep_order: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=not keep_order)


class _Writer:
    """Collects the ``pieces`` of a transcript: layout, and texts, which are all escaped together in the end."""

    __slots__ = ("_texts", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._texts: list[int] = []
        """The positions of the pieces that are escaped."""

    def escaped_pieces(self) -> Steps[list[str]]:
        """Return the pieces of the transcript, escaped where they are not layout."""
        texts = [self.pieces[place] for place in self._texts]
        for place, text in zip(self._texts, (yield from escape_all_in_steps(texts)), strict=True):
            self.pieces[place] = text
        return self.pieces

    def block(self, header: str, text: str) -> None:
        """Write a header line of the transcript, and the lines of ``text`` after it."""
        if text:
            self._line(f"{MARK}{header}\n", text)
        else:
            self.pieces.append(f"{MARK}{header}\n")

    def message(self, message: Message, role: str, *, after_assistant: bool) -> None:
        """Write all blocks of a message of the transcript."""
        content = message["content"]
        calls = message.get("tool_calls", ()) if role == "assistant" else ()
        if "reasoning" in message:
            self.block("reasoning", message["reasoning"])
        if content or not calls or after_assistant or "name" in message or "refusal" in message:
            self._content(_header(message, role), content)
        if "refusal" in message:
            self.block("refusal", message["refusal"])
        for call in calls:
            self._call(call)
        placed = _PLACED_FOR.get(role, _PLACED)
        if not message.keys() <= placed:
            fields = {key: value for key, value in message.items() if key not in placed}
            self._line(f"{MARK}fields ", _json(fields))

    def _line(self, before: str, text: str) -> None:
        self._texts.append(len(self.pieces) + 1)
        self.pieces += (before, text, "\n")

    def _content(self, header: str, content: str | list[dict[str, Any]]) -> None:
        if isinstance(content, str):
            self.block(header, content)
            return
        opens = content[0]["type"] == "text"
        self.block(header, content[0]["text"] if opens else "")
        for part in content[1:] if opens else content:
            self._part(part)

    def _part(self, part: Mapping[str, Any]) -> None:
        match part["type"]:
            case "text":
                self.block("text", part["text"])
            case "image_url":
                image = part["image_url"]
                url, detail = escape(image["url"]), escape(image.get("detail", ""))
                self.pieces.append(f"{MARK}image\n{IMAGE}{url}{IMAGE}{detail}{IMAGE}\n")
            case _:
                self._line(f"{MARK}part ", _json(part))

    def _call(self, call: Mapping[str, Any]) -> None:
        if not is_usual_call(call):
            rest = {key: value for key, value in call.items() if key != "id"}
            self._line(f"{MARK}call {call['id']} ", _json(rest))
            return
        function = call["function"]
        line = f"{MARK}call {call['id']} {header_word(function['name'])}"
        if function["arguments"]:
            self._line(f"{line} ", function["arguments"])
        else:
            self.pieces.append(f"{line}\n")


def _header(message: Message, role: str) -> str:
    if role == "tool":
        first = ("error" if message.get("is_error") is True else "result") + " " + message.get("tool_call_id", NONE)
    else:
        first = role if role in PLAIN_ROLES else f"role {header_word(role)}"
    return f"{first} {header_word(message['name'])}" if "name" in message else first
