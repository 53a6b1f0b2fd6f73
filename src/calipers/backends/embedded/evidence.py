"""Reads from a candidate's chat messages what the embedded judge counts: answer, tool calls, and tool results.

It reads a bounded part of any input and never raises for its form. Not responsible for counting (``features``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.types import Message

MESSAGES = 256
"""How many messages of a candidate are read. If there are more, the first 32 and the last 224 are read."""
CHARACTERS = 64_000
"""How many characters of a candidate are read. The latest messages are read first."""
MESSAGE_CHARACTERS = 8_000
"""How many characters of a message are read. Of a longer message, three quarters are its beginning and a quarter its
end.
"""

_CALLS = 32
_PARTS = 64
_THOUGHT_END = "</think>"
_FAILED = re.compile(
    r"^[\s#*>(\[-]*(?:(?:error|exception|traceback|failed|failure|fatal)\b|错误|エラー|오류)|"
    r"\"(?:error|exception)\"\s*:(?!\s*(?:null|false|\"\"|\{\}|\[\]|0\b))|\"(?:isError|is_error)\"\s*:\s*true|"
    r"\"(?:success|ok)\"\s*:\s*false|\"status\"\s*:\s*\"(?:error|failed|failure)\"|"
    r"^Traceback \(most recent|\b[A-Z][A-Za-z]{2,30}(?:Error|Exception): ",
    re.IGNORECASE,
)
_LOOKUP = re.compile(
    r"(?:^|[._/-])(?:get|search|list|find|read|look|lookup|fetch|query|calculate|compute|think|check|view|describe|"
    r"show|retrieve|browse|count|verify|validate|inspect|open|grep|cat|ls|python|execute_code)(?:$|[._/-]|(?=[A-Z]))"
)


@dataclass(frozen=True, slots=True)
class Call:
    """A candidate's tool call with its result. ``changes`` is False if the tool's name looks like a look-up."""

    name: str
    arguments: str
    result: str | None
    failed: bool
    changes: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a candidate did. ``said`` is all text of the assistant, and ``heard`` all other text of its trajectory.

    ``answer`` is the assistant's text after the last tool result. If there is none, it is the assistant's last text, or
    "" without any text. ``unfinished`` is True if the trajectory ends with a tool call or a tool result. ``turns``
    counts assistant messages.
    """

    answer: str
    said: str
    heard: str
    calls: tuple[Call, ...]
    turns: int
    unfinished: bool
    dialogue: bool


def task_text(prefix: Sequence[Message], messages: Sequence[Message]) -> str:
    """Return the candidates' task for the embedded backend: the user's text in the shared prefix, or the first user
    message if the prefix has none.
    """
    asked = [text for message in prefix[-16:] if message.get("role") == "user" and (text := message_text(message))]
    if not asked:
        asked = [text for message in messages[:8] if message.get("role") == "user" and (text := message_text(message))][
            :1
        ]
    return shorten_text("\n".join(asked), MESSAGE_CHARACTERS)


def read_evidence(messages: Sequence[Message]) -> Evidence:
    """Return the embedded backend's evidence of what a candidate did, from its own messages (those after the shared
    prefix).
    """
    seen = messages if len(messages) <= MESSAGES else [*messages[:32], *messages[-(MESSAGES - 32) :]]
    texts = _texts(seen)
    roles = [message.get("role") for message in seen]
    spoken = [(i, text) for i, text in enumerate(texts) if roles[i] == "assistant" and text]
    last_result = max((i for i, role in enumerate(roles) if role in ("tool", "function")), default=-1)
    after = [text for i, text in spoken if i > last_result]
    ends = [i for i, role in enumerate(roles) if role in ("assistant", "tool", "function", "user")]
    unfinished = bool(ends) and (
        roles[ends[-1]] in ("tool", "function") or (roles[ends[-1]] == "assistant" and bool(_calls_of(seen[ends[-1]])))
    )
    return Evidence(
        answer="\n".join(after) if after else (spoken[-1][1] if spoken else ""),
        said="\n".join(text for _, text in spoken),
        heard="\n".join(text for i, text in enumerate(texts) if roles[i] != "assistant"),
        calls=tuple(_calls(seen, texts)),
        turns=sum(role == "assistant" for role in roles),
        unfinished=unfinished,
        dialogue="user" in roles,
    )


def _texts(messages: Sequence[Message]) -> list[str]:
    """Return the text of each message. Beyond the limit of characters, the earliest messages get an empty text."""
    texts = [""] * len(messages)
    left = CHARACTERS
    for i in range(len(messages) - 1, -1, -1):
        if left <= 0:
            break
        text = shorten_text(message_text(messages[i]), min(MESSAGE_CHARACTERS, left))
        left -= len(text)
        texts[i] = text
    return texts


def message_text(message: Message) -> str:
    """Return a chat message's text for the embedded backend: its text parts joined, without reasoning that ends in
    ``</think>``.

    Images and other parts are omitted.
    """
    content = message.get("content")
    if isinstance(content, (list, tuple)):
        parts = [part.get("text") for part in content[:_PARTS] if isinstance(part, Mapping)]
        content = "\n".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        return ""
    if message.get("role") == "assistant" and _THOUGHT_END in content:
        content = content[content.rfind(_THOUGHT_END) + len(_THOUGHT_END) :]
    return shorten_text(content, 2 * MESSAGE_CHARACTERS).strip()


def shorten_text(text: str, limit: int) -> str:
    """Return ``text`` for the embedded backend if it has at most ``limit`` characters, otherwise its beginning and its
    end.
    """
    if len(text) <= limit:
        return text
    tail = limit // 4
    return text[: limit - tail] + "\n" + text[len(text) - tail :]


def _calls_of(message: Message) -> Sequence[Any]:
    calls = message.get("tool_calls")
    return calls[:_CALLS] if isinstance(calls, (list, tuple)) else ()


def _calls(messages: Sequence[Message], texts: Sequence[str]) -> Iterator[Call]:
    """Yield every tool call with its result. The result is found by the call's id.

    Results without a known id are assigned in order to the calls that have no result yet.
    """
    results: dict[str, tuple[str, bool]] = {}
    orphans: list[tuple[str, bool]] = []
    for message, text in zip(messages, texts, strict=True):
        if message.get("role") in ("tool", "function"):
            outcome = (text, message.get("is_error") is True or bool(_FAILED.search(text[:400])))
            call_id = message.get("tool_call_id")
            if isinstance(call_id, str) and call_id:
                results[call_id] = outcome
            else:
                orphans.append(outcome)
    orphans.reverse()
    for message in messages:
        for call in _calls_of(message):
            function = call.get("function") if isinstance(call, Mapping) else None
            if not isinstance(function, Mapping):
                continue
            name, arguments = str(function.get("name"))[:100], str(function.get("arguments"))[:MESSAGE_CHARACTERS]
            call_id = call.get("id")
            found = results.get(call_id) if isinstance(call_id, str) else None
            result, failed = found or (orphans.pop() if orphans else (None, False))
            yield Call(name, arguments, result, failed, changes=not _LOOKUP.search(name))
