"""Turns a streamed chat completion into the body of an unstreamed one.

calipers needs no partial answers, so a stream is read only after it has ended. This serves models that only stream, and
servers that stream although the request did not ask for it. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_SPOKEN = ("content", "reasoning_content", "reasoning", "refusal")
_DONE = "[DONE]"
_decode = json.JSONDecoder(strict=False).decode  # json.loads would build a decoder for every event


class BrokenStreamError(ValueError):
    """The stream ended before the answer did, or holds an event that is not a chunk; the message says which."""


def whole_completion(stream: bytes) -> dict[str, Any]:
    """Return the chat completion body that a server's finished stream adds up to, or the error that the server
    reported in the stream.

    An error counts even after parts of an answer. Raises BrokenStreamError for a stream that ends without a finish
    reason and without ``[DONE]``, because it may hold half an answer.
    """
    told = _PartialAnswer()
    for name, data in stream_events(stream):
        if data == _DONE:
            told.done = True
            break
        try:
            chunk = _decode(data)
        except (ValueError, RecursionError):
            raise BrokenStreamError(f"an event of the stream is not JSON: {data[:200]}") from None
        if not isinstance(chunk, dict):
            raise BrokenStreamError(f"an event of the stream is not a chunk: {data[:200]}")
        if chunk.get("error") or name == "error":
            return {"error": chunk.get("error") or chunk, "usage": chunk.get("usage") or told.usage}
        told.add_chunk(chunk)
    return told.body()


def stream_events(stream: bytes) -> Iterator[tuple[str, str]]:
    """Yield (event name, data) for each event of a server's stream.

    The stream is read as UTF-8, whatever a header says. Lines end only at CR, LF or both, because JSON strings may hold
    Unicode's other line separators. Comments, ids and empty events are skipped.
    """
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    name, data = "", ""
    for line in text.split("\n"):
        if line.startswith("data:"):
            more = line[6:] if line.startswith("data: ") else line[5:]
            data = f"{data}\n{more}" if data else more
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif not line:
            if data:
                yield name, data
            name, data = "", ""
    if data:  # servers often omit the blank line after the last event
        yield name, data


class _PartialAnswer:
    """The answer that the chunks so far add up to.

    ``done`` is True after the server marked the end of the stream. ``usage`` is the last usage object that the server
    sent.
    """

    def __init__(self) -> None:
        self.done = False
        self._spoken: dict[str, list[str]] = {name: [] for name in _SPOKEN}
        self._parts: list[Mapping[str, Any]] = []
        self._calls: dict[int, list[str]] = {}
        self._tools: dict[int, str] = {}
        self._finish: str | None = None
        self._model: str | None = None
        self._version: str | None = None
        self.usage: object = None
        self._logprobs: list[Any] = []

    def add_chunk(self, chunk: Mapping[str, Any]) -> None:
        self._model = self._model or chunk.get("model")
        self._version = self._version or chunk.get("system_fingerprint")
        self.usage = chunk.get("usage") or self.usage
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return  # the first chunk may hold only filter results, and the last one only usage
        choice = choices[0]
        if choice.get("index"):
            return  # another answer to the same request, which calipers did not ask for
        self._finish = choice.get("finish_reason") or self._finish
        self.usage = self.usage or choice.get("usage")
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, dict) and isinstance(logprobs.get("content"), list):
            self._logprobs += logprobs["content"]
        delta = choice.get("delta")
        if delta is None and not any(self._spoken.values()):
            delta = choice.get("message")  # the server sent the whole message in a single event
        if isinstance(delta, dict):
            self._add_delta(delta)

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        for name, said in self._spoken.items():
            piece = delta.get(name)
            if isinstance(piece, str):
                said.append(piece)
            elif isinstance(piece, list):
                self._parts += [part for part in piece if isinstance(part, dict)]
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict):
                continue
            index = call.get("index")
            at = index if isinstance(index, int) else 0
            tool, arguments = function.get("name"), function.get("arguments")
            if isinstance(tool, str) and tool:
                self._tools.setdefault(at, tool)
            if isinstance(arguments, str):
                self._calls.setdefault(at, []).append(arguments)

    def body(self) -> dict[str, Any]:
        if not self.done and self._finish is None:
            raise BrokenStreamError("the stream broke off before the answer was whole")
        message: dict[str, Any] = {name: "".join(said) for name, said in self._spoken.items()}
        if self._parts:
            spoken = [{"type": "text", "text": message["content"]}] if message["content"] else []
            message["content"] = [*self._parts, *spoken]
        if self._calls:
            message["tool_calls"] = [{"function": self._function(at)} for at in self._calls]
        choice: dict[str, Any] = {"message": message, "finish_reason": self._finish}
        if self._logprobs:
            choice["logprobs"] = {"content": self._logprobs}
        told = {"model": self._model, "system_fingerprint": self._version}
        return {**told, "choices": [choice], "usage": self.usage}

    def _function(self, at: int) -> dict[str, str]:
        """Return a tool call of a server's stream: the tool's name, if the stream names it, and the arguments."""
        named = {"name": self._tools[at]} if at in self._tools else {}
        return {**named, "arguments": "".join(self._calls[at])}
