"""Turns a streamed chat completion into the body of an unstreamed one.

calipers needs no partial answers, so a stream is read only after it has ended. This serves models that only stream, and
servers that stream although the request did not ask for it. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
_decode = json.JSONDecoder(strict=False).decode  # json.loads would build a decoder for every event


class BrokenStreamError(ValueError):
    """The stream ended before the answer did, or holds an event that is not a chunk; the message says which."""


def whole_completion(stream: bytes) -> dict[str, Any]:
    """Return the chat completion body that a server's finished stream adds up to, or the error that the server
    reported in the stream.

    An error counts even after parts of an answer. Raises BrokenStreamError for a stream that ends without a finish
    reason and without ``[DONE]``, because it may hold half an answer.
    """
    answer = _PartialAnswer()
    for name, data in stream_events(stream):
        if data == "[DONE]":
            answer.done = True
            break
        try:
            chunk = _decode(data)
        except (ValueError, RecursionError):
            chunk = None
        if not isinstance(chunk, dict):
            raise BrokenStreamError(f"an event of the stream is not a chunk: {data[:200]}")
        if chunk.get("error") or name == "error":
            return {"error": chunk.get("error") or chunk, "usage": chunk.get("usage") or answer.body["usage"]}
        answer.add_chunk(chunk)
    return answer.whole()


def stream_events(stream: bytes) -> Iterator[tuple[str, str]]:
    """Yield (event name, data) for each event of a server's stream.

    The stream is read as UTF-8, whatever a header says. Lines end only at CR, LF or both, because JSON strings may hold
    Unicode's other line separators. Comments, ids and empty events are skipped.
    """
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    name, data = "", ""
    for line in (*text.split("\n"), ""):  # servers often omit the blank line after the last event
        if line.startswith("data:"):
            more = line[5:].removeprefix(" ")
            data = f"{data}\n{more}" if data else more
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif not line:
            if data:
                yield name, data
            name, data = "", ""


class _PartialAnswer:
    """The answer that the chunks so far add up to; ``done`` is True after the server marked the end of the stream."""

    def __init__(self) -> None:
        self.done = False
        self.body: dict[str, Any] = {"model": None, "system_fingerprint": None, "usage": None}
        self._texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        self._parts: list[Mapping[str, Any]] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finish: str | None = None
        self._logprobs: list[Any] = []

    def add_chunk(self, chunk: Mapping[str, Any]) -> None:
        for name in ("model", "system_fingerprint"):
            self.body[name] = self.body[name] or chunk.get(name)
        self.body["usage"] = chunk.get("usage") or self.body["usage"]
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return  # the first chunk may hold only filter results, and the last one only usage
        choice = choices[0]
        if choice.get("index"):
            return  # another answer to the same request, which calipers did not ask for
        self._finish = choice.get("finish_reason") or self._finish
        self.body["usage"] = self.body["usage"] or choice.get("usage")
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, dict) and isinstance(logprobs.get("content"), list):
            self._logprobs += logprobs["content"]
        delta = choice.get("delta")
        if delta is None and not any(self._texts.values()):
            delta = choice.get("message")  # the server sent the whole message in a single event
        if isinstance(delta, dict):
            self._add_delta(delta)

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        for name, pieces in self._texts.items():
            piece = delta.get(name)
            if isinstance(piece, str):
                pieces.append(piece)
            elif isinstance(piece, list):
                self._parts += [part for part in piece if isinstance(part, dict)]
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                index = call.get("index")
                written = self._calls.setdefault(index if isinstance(index, int) else 0, {"name": "", "arguments": ""})
                written["name"] = written["name"] or str(function.get("name") or "")
                if isinstance(function.get("arguments"), str):
                    written["arguments"] += function["arguments"]

    def whole(self) -> dict[str, Any]:
        if not self.done and self._finish is None:
            raise BrokenStreamError("the stream broke off before the answer was whole")
        message: dict[str, Any] = {name: "".join(pieces) for name, pieces in self._texts.items()}
        if self._parts:
            text = [{"type": "text", "text": message["content"]}] if message["content"] else []
            message["content"] = [*self._parts, *text]
        if self._calls:
            message["tool_calls"] = [{"function": call} for call in self._calls.values()]
        choice: dict[str, Any] = {"message": message, "finish_reason": self._finish}
        if self._logprobs:
            choice["logprobs"] = {"content": self._logprobs}
        return {**self.body, "choices": [choice]}
