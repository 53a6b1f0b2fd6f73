"""Reads a question back into tools and canonical messages per candidate, to show that a judge saw all the evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calipers.render.escapes import escape, unescape
from calipers.render.transcript import IMAGE, NONE, PLAIN_ROLES
from calipers.types import Image, Message, Part, Tool

_FIRST = re.compile(r"(?m)^(@[a-z]{3,}) marks layout")
_SEE = re.compile(r" see (X\d+)$")
_TURNS = re.compile(r"… [\d,]+ turns? \([\d,]+ characters\) left out …\n?")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class Decoded:
    """The tools of the head, and for each candidate key the messages shown and the tools that it had."""

    tools: tuple[Tool, ...]
    messages: Mapping[str, tuple[Message, ...]]
    offered: Mapping[str, tuple[Tool, ...]]


def decode(parts: Sequence[Part], *, keys: Sequence[str] | None = None) -> Decoded:
    """Decode the transcript in a question. A gap in a text is a line of it; turns left out are a message."""
    text = "".join(part if isinstance(part, str) else _image_text(part) for part in parts)
    found = _FIRST.search(text)
    assert found is not None, "no line names a marker"
    start = rf"(?m)^{re.escape(found[1])} "
    pieces = re.split(start, re.sub(rf"{start}(?=… [\d,]+ characters left out …$)", "", text))[1:]
    reader = _Reader({name: text for kind, name, text in map(_split, pieces) if kind == "exhibit"})
    for piece in pieces:
        reader.take(piece)
    tools = tuple(reader.tools)
    wanted = reader.candidates if keys is None else keys
    return Decoded(
        tools,
        {key: (*reader.context, *reader.candidates[key]) for key in wanted},
        {key: reader.offered.get(key, tools) for key in wanted},
    )


def count_characters(parts: Iterable[Part]) -> int:
    """How many characters of text the parts contain; images count as 0."""
    return sum(len(part) for part in parts if not isinstance(part, Image))


@dataclass(slots=True)
class _Reader:
    """Reads the blocks of a transcript in order. ``messages`` is the list to which the next message is added."""

    exhibits: Mapping[str, str]
    tools: list[Tool] = field(default_factory=list)
    context: list[dict[str, Any]] = field(default_factory=list)
    candidates: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    offered: dict[str, tuple[Tool, ...]] = field(default_factory=dict)
    key: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    reasoning: str | None = None

    def take(self, piece: str) -> None:
        kind, rest, text = _split(piece)
        match kind:
            case "tools":
                self.tools = [json.loads(unescape(line)) for line in text.split("\n") if line]
            case "context":
                self.messages = self.context
            case "candidate":
                self.key = _words(rest)[0]
                self.messages = self.candidates.setdefault(self.key, [])
            case "offered":
                numbers = rest.removeprefix("tools ").split() if rest != "no tools" else []
                self.offered[self.key] = tuple(self.tools[int(number) - 1] for number in numbers)
            case "marks" | "exhibit" | "no" | "end":
                pass
            case "…":
                assert _TURNS.fullmatch(piece), piece
                self._start({"role": "left_out", "content": piece.removesuffix("\n")})
            case "call" | "fields" | "part":
                self._take_line(kind, piece.removesuffix("\n").partition(" ")[2])
            case _:
                self._take_text(kind, rest, text)

    def _take_line(self, kind: str, line: str) -> None:
        if kind == "part":
            self._add_part(json.loads(unescape(line)))
        elif kind == "fields":
            self.messages[-1].update(json.loads(unescape(line)))
        else:
            if not self.messages or self.reasoning is not None or self.messages[-1]["role"] != "assistant":
                self._start({"role": "assistant", "content": ""})
            self.messages[-1].setdefault("tool_calls", []).append(_call(line))

    def _take_text(self, kind: str, rest: str, text: str) -> None:
        reference = _SEE.search(f"{kind} {rest}")
        if reference:
            rest, text = rest[: -len(reference[0])].rstrip(), self.exhibits[reference[1]]
        text = text.removesuffix("\n")
        match kind:
            case "image":
                self._add_part({"type": "image_url", "image_url": _image_field(text)})
            case "text":
                self._add_part({"type": "text", "text": unescape(text)})
            case "reasoning":
                self.reasoning = unescape(text)
            case "refusal":
                self.messages[-1]["refusal"] = unescape(text)
            case _:
                self._start({**_header(kind, rest), "content": unescape(text)})

    def _start(self, message: dict[str, Any]) -> None:
        if self.reasoning is not None:
            message["reasoning"] = self.reasoning
        self.reasoning = None
        self.messages.append(message)

    def _add_part(self, part: dict[str, Any]) -> None:
        message = self.messages[-1]
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}] if message["content"] else []
        message["content"].append(part)


def _split(piece: str) -> tuple[str, str, str]:
    header, _, text = piece.partition("\n")
    kind, _, rest = header.partition(" ")
    return kind, rest, text


def _header(kind: str, rest: str) -> dict[str, Any]:
    words = _words(rest)
    message: dict[str, Any] = {"role": kind}
    if kind in {"result", "error"}:
        message["role"] = "tool"
        call_id = words.pop(0)
        message |= {"tool_call_id": call_id} if call_id != NONE else {}
        message |= {"is_error": True} if kind == "error" else {}
    elif kind == "role":
        message["role"] = words.pop(0)
    elif kind not in PLAIN_ROLES:
        raise ValueError(f"unknown block {kind!r}")
    return message | ({"name": words[0]} if words else {})


def _call(line: str) -> dict[str, Any]:
    call_id, _, rest = line.partition(" ")
    if rest.startswith("{"):
        return {"id": call_id, **json.loads(unescape(rest))}
    name, arguments = _word(rest)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": unescape(arguments)}}


def _words(text: str) -> list[str]:
    words = []
    while text:
        word, text = _word(text)
        words.append(word)
    return words


def _word(text: str) -> tuple[str, str]:
    if not text.startswith('"'):
        word, _, rest = text.partition(" ")
        return word, rest
    quoted = _QUOTED.match(text)
    if quoted is None:
        raise ValueError("a quoted word without its closing quote")
    return json.loads(unescape(quoted[0])), text[quoted.end() + 1 :]


def _image_text(image: Image) -> str:
    return f"{IMAGE}{escape(image.url)}{IMAGE}{escape(image.detail or '')}{IMAGE}"


def _image_field(text: str) -> dict[str, str]:
    _, url, detail, _ = text.split(IMAGE)
    image = {"url": unescape(url)}
    return image | {"detail": unescape(detail)} if detail else image
