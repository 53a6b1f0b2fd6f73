"""A loopback HTTP server that answers as scripted, faults included. Raw asyncio, for no HTTP library will cut a body
short.

It runs in a thread with a loop of its own, so that tests may use, and close, any loops they like.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from servers.tongues import in_tongue


@dataclass(frozen=True)
class Answer:
    """What one request gets. ``body`` is sent as it is, or as JSON.

    ``cut`` sends only that many bytes of the body it promised; ``reset`` breaks the connection after the request was
    read; ``hang`` never answers; ``raw`` replaces the whole answer, status line included; ``takes`` are the seconds
    before the answer.
    """

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    reset: bool = False
    hang: bool = False
    raw: bytes | None = None
    takes: float = 0.0

    def encoded(self) -> bytes:
        if self.raw is not None:
            return self.raw
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **self.headers}
        head = [f"HTTP/1.1 {self.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*head, "", ""]).encode("latin-1") + (body if self.cut is None else body[: self.cut])


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; ``body`` is parsed JSON, or None for a GET."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


Reply = Answer | Callable[[Asked], Answer]


def said(text: str | None = '{"scores": {}}', *, finish_reason: str | None = "stop", **message: Any) -> Answer:
    """A chat completion that says ``text``."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}
    return Answer(body={"id": "x", "model": "served-model", "choices": [choice], "usage": usage})


def error(status: int, message: str = "scripted", *, headers: Mapping[str, str] | None = None, **detail: Any) -> Answer:
    """An error object in OpenAI's form."""
    return Answer(status, {"error": {"message": message, **detail}}, headers or {})


def streamed(*chunks: Any, done: bool = True, headers: Mapping[str, str] | None = None) -> Answer:
    """A stream of these chunks, each an event."""
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + (["data: [DONE]\n\n"] if done else [])
    return Answer(body="".join(events).encode(), headers={"Content-Type": "text/event-stream", **(headers or {})})


def chunks(
    text: str, *, finish_reason: str | None = "stop", pieces: int = 3, usage: bool = True
) -> list[dict[str, Any]]:
    """The chunks that spell ``text``."""
    size = max(1, -(-len(text) // pieces))
    said = [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [(delta, None) for delta in said] + [({}, finish_reason)]
    spelled: list[dict[str, Any]] = [
        {"model": "served-model", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        for delta, finish in deltas
    ]
    counted = {"prompt_tokens": 10, "completion_tokens": 5}
    return [*spelled, {"model": "served-model", "choices": [], "usage": counted}] if usage else spelled


class FaultyServer:
    """``with FaultyServer() as server``: answers POSTs from ``script`` in order, the last one for good.

    A chat completion asked for at another API's path goes out as that API says it (``tongues``).

    GETs have scripts of their own by path (``get``), 404 otherwise. ``asked`` keeps every request, and ``most_at_once``
    how many were unanswered at a time; ``idle`` is set when the last open connection was closed.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.get: dict[str, Answer] = {}
        self.most_at_once = self._unanswered = 0
        self._script: list[Reply] = [said()]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._connections: set[asyncio.StreamWriter] = set()
        self.idle = threading.Event()

    def script(self, *replies: Reply) -> None:
        self._script = list(replies)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def posts(self) -> list[Any]:
        """Bodies of the questions asked so far."""
        return [asked.body for asked in self.asked if asked.method == "POST"]

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        ).result(10)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        self.idle.clear()
        try:
            while (asked := await _request(reader, writer)) is not None:
                self.asked.append(asked)
                answer = self._answer(asked)
                self._unanswered += 1
                self.most_at_once = max(self.most_at_once, self._unanswered)
                await asyncio.sleep(answer.takes)
                self._unanswered -= 1
                if answer.hang:
                    await asyncio.Event().wait()
                if answer.reset:
                    writer.transport.abort()
                    return
                writer.write(answer.encoded())
                await writer.drain()
                if answer.cut is not None or answer.raw is not None:
                    return
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client, or the test, has gone
        finally:
            self._connections.discard(writer)
            writer.close()
            if not self._connections:
                self.idle.set()

    def _answer(self, asked: Asked) -> Answer:
        if asked.method == "GET":
            return self.get.get(asked.path.partition("?")[0], error(404))
        reply = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        answer = reply if isinstance(reply, Answer) else reply(asked)
        return replace(answer, body=in_tongue(asked.path, asked.body, answer.body))


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked | None:
    """One HTTP/1.1 request with a Content-Length, or None where the connection ends or brings none."""
    first_byte = await reader.read(1)
    if first_byte == b"\x16":  # a TLS hello, to which plain servers answer in plain text
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        return None
    try:
        head = (first_byte + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    method, path, _ = first.split(" ")
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, json.loads(body) if body else None)
