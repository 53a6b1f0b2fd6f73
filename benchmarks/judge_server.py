"""A loopback judge in a process of its own: it answers every question after 50 ms, in the form that was asked for.

    python -m benchmarks.judge_server [--delay 0.05]     prints its address; ends when its standard input does

Asked with a schema keyed by candidate it answers like that; asked with RULER's it answers with RULER's list. It reads
no more of a question than it must, so as not to be what is measured; GET /stats says how much time it used. Only for
the clients of these benchmarks: one request at a time on a connection, with a Content-Length.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import re
import sys
import time
import urllib.request
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from benchmarks.environment import serving

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_KEYED = re.compile(rb'"required": ?\[([^]]+)\]')
_FORCED = re.compile(rb'"enum": ?\["(\w+)"\]')
"""The one word that calipers' question to a new server allows: a server that applies schemas can say no other."""
_SHORT = 2000
"""Bytes that such a question stays below."""
_TRAJECTORY = re.compile(rb'<trajectory id=\\"(\d+)\\">')


class JudgeProtocol(asyncio.Protocol):
    """One connection. Answers come ``delay`` seconds after the question's last byte."""

    def __init__(self, counts: dict[str, int], *, delay: float) -> None:
        self._counts = counts
        self._delay = delay
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._wanted = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a TCP server's always is
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._wanted:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            length = _LENGTH.search(self._received, 0, end)
            self._wanted = end + 4 + (int(length[1]) if length else 0)
        if len(self._received) >= self._wanted:
            question = bytes(self._received)
            self._received.clear()
            self._wanted = 0
            self._answer(question)

    def _answer(self, question: bytes) -> None:
        if question.startswith(b"POST"):
            self._counts["probes" if len(question) < _SHORT and b'"enum"' in question else "answered"] += 1
            self._loop.call_later(self._delay, self._send, completion(question))
        elif question.startswith(b"GET /stats"):
            self._send({**self._counts, "cpu": time.process_time()})
        else:
            self._send({"object": "list", "data": [{"id": "judge", "object": "model"}]})

    def _send(self, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text)
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(head + text)


def completion(question: bytes) -> dict[str, Any]:
    """A chat completion whose text is a whole verdict in the form the question asks for."""
    if b"trajectory_id" in question:
        numbers = [number.decode() for number in _TRAJECTORY.findall(question)]
        rows = [
            {"trajectory_id": number, "explanation": _explained(place), "score": _score(place) / 100}
            for place, number in enumerate(numbers)
        ]
        verdict: dict[str, Any] = {"scores": rows}
    else:
        form = question.find(b'"response_format"')
        found, forced = _KEYED.search(question, form), _FORCED.search(question, form)
        verdict = verdict_for(json.loads(b"[" + found[1] + b"]") if found else [])
        verdict = {"answer": forced[1].decode()} if forced else verdict
    message = {"role": "assistant", "content": json.dumps(verdict)}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_750_000_000,
        "model": "judge",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 2400, "completion_tokens": 160, "total_tokens": 2560},
    }


def verdict_for(keys: Sequence[str]) -> dict[str, Any]:
    """A verdict keyed by candidate, in the order shown."""
    return {
        "explanations": {key: _explained(place) for place, key in enumerate(keys)},
        "scores": {key: _score(place) for place, key in enumerate(keys)},
    }


def _explained(place: int) -> str:
    return f"It looks the order up and answers from what it found, with slip number {place} in the policy it quotes."


def _score(place: int) -> int:
    return max(0, 90 - 15 * place)


async def serve(delay: float) -> None:
    counts = {"answered": 0, "probes": 0}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: JudgeProtocol(counts, delay=delay), "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def running_judge(*, delay: float = 0.05) -> AbstractContextManager[str]:
    """The base URL of a judge in a process of its own."""
    return serving("judge_server", "--delay", str(delay))


def stats(base_url: str) -> dict[str, float]:
    """How many questions about groups the judge ``answered`` so far, and how many seconds of ``cpu`` it used.

    ``probes`` are the questions of a run that wants to know its server.
    """
    with urllib.request.urlopen(base_url.removesuffix("/v1") + "/stats", timeout=10) as reply:  # noqa: S310 - loopback
        said: dict[str, float] = json.load(reply)
    return said


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds before an answer")
    gc.disable()  # nothing here is cyclic, and a pause of the judge would be counted as the client's
    asyncio.run(serve(parser.parse_args().delay))
