"""Turns a streamed chat completion into the body of an unstreamed one.

calipers needs no partial answers, so a stream is read only after it has ended. This serves models that only stream, and
servers that stream although the request did not ask for it. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from calipers.types.encoding import objects_in

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
    body: dict[str, Any] = {"model": None, "system_fingerprint": None, "usage": None}
    message: dict[str, Any] = {name: [] for name in _TEXTS}
    choice: dict[str, Any] = {"message": message, "finish_reason": None}
    is_complete = False
    for name, data in stream_events(stream):
        if data == "[DONE]":
            is_complete = True
            break
        try:
            chunk = _decode(data)
        except (ValueError, RecursionError):
            chunk = None
        if not isinstance(chunk, dict):
            raise BrokenStreamError(f"an event of the stream is not a chunk: {data[:200]}")
        if (error := error_in(chunk)) or name == "error":
            return {"error": error or chunk, "usage": chunk.get("usage") or body["usage"]}
        _add_chunk(body, choice, chunk)
    if not is_complete and choice["finish_reason"] is None:
        raise BrokenStreamError("the stream broke off before the answer was whole")
    message |= {name: "".join(message[name]) for name in _TEXTS}
    if parts := message.pop("parts", None):
        message["content"] = [*parts, *([{"type": "text", "text": message["content"]}] if message["content"] else [])]
    if calls := message.get("tool_calls"):
        message["tool_calls"] = [{"function": call} for call in calls.values()]
    return {**body, "choices": [choice]}


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


def error_in(part: Mapping[str, Any]) -> Any:
    """Return the error that a server reports in a part of a reply, or as the part itself; None if there is none."""
    return part.get("error") or (part if "error" in (part.get("object"), part.get("type")) else None)


def _add_chunk(body: dict[str, Any], choice: dict[str, Any], chunk: Mapping[str, Any]) -> None:
    """Add a chunk to the body and the choice that the chunks so far add up to."""
    for name in ("model", "system_fingerprint"):
        body[name] = body[name] or chunk.get(name)
    body["usage"] = chunk.get("usage") or body["usage"]
    for row in objects_in(chunk.get("choices"))[:1]:  # the first and the last chunk may have none
        if not row.get("index"):  # else another answer to the same request, which calipers did not ask for
            body["usage"] = body["usage"] or row.get("usage")
            _add_row(choice, row)


def _add_row(choice: dict[str, Any], row: Mapping[str, Any]) -> None:
    earlier, reason = choice["finish_reason"] or "", str(row.get("finish_reason") or "")[:100]
    if reason not in earlier:  # an end that was not natural stays so
        choice["finish_reason"] = f"{earlier} {reason}".strip()[:300]
    choice |= {name: row[name] for name in ("native_finish_reason", "content_filter_results") if row.get(name)}
    logprobs, message = row.get("logprobs"), choice["message"]
    if isinstance(logprobs, dict) and isinstance(logprobs.get("content"), list):
        choice.setdefault("logprobs", {"content": []})["content"] += logprobs["content"]
    delta = row.get("delta")
    if delta is None and not any(message[name] for name in _TEXTS):
        delta = row.get("message")  # the server sent the whole message in a single event
    if not isinstance(delta, dict):
        return
    for name in _TEXTS:
        piece = delta.get(name)
        if isinstance(piece, str):
            message[name].append(piece)
        else:
            message.setdefault("parts", []).extend(objects_in(piece))
    for call in objects_in(delta.get("tool_calls")):
        function, index = call.get("function"), call.get("index")
        if isinstance(function, dict):
            calls = message.setdefault("tool_calls", {})
            written = calls.setdefault(index if isinstance(index, int) else 0, {"name": "", "arguments": ""})
            written["name"] = written["name"] or str(function.get("name") or "")
            written["arguments"] += function["arguments"] if isinstance(function.get("arguments"), str) else ""
