"""A loopback judge that answers every question in one way, when it is not failing in one of many.

    python -m benchmarks.faults.fault_server [--rate 0.3] [--seed 0]    prints its address; ends with its standard input

The score of a candidate is drawn from its text, so that the right answer to a question is known without asking. Raw
asyncio, for no HTTP library will cut an answer short. POST /control {"revoked": true} makes every key wrong; GET /log
tells which fault each question met, in order. Faults are drawn from the seed and the number of the request.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import hashlib
import json
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate
from typing import Any

CANDIDATE = re.compile(r"^(@\w+) candidate (\w+)\n(.*?)(?=^\1 (?:candidate|end\n))", re.MULTILINE | re.DOTALL)
TASK = re.compile(r"Task (\d+)")
MARK = re.compile(r"^@\w+ ", re.MULTILINE)
DRIP_SECONDS = 0.2


def truth(body: str) -> int:
    """The score (0-100) of a candidate with this transcript, whatever the marker of its question is."""
    plain = MARK.sub("@ ", body).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(plain, digest_size=4).digest()) % 101


def verdict(scores: Mapping[str, Any]) -> str:
    return json.dumps({"explanations": dict.fromkeys(scores, "As the record shows."), "scores": scores})


def completion(text: str | None, *, finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 500, "completion_tokens": 60}
    return {"id": "x", "object": "chat.completion", "model": "judge", "choices": [choice], "usage": usage}


def http(
    status: int, body: bytes, *, kind: str = "application/json", headers: Mapping[str, str] | None = None
) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def ok(said: Mapping[str, Any], **options: Any) -> bytes:
    return http(200, json.dumps(said).encode(), **options)


def failed(status: int, message: str, headers: Mapping[str, str] | None = None, **detail: Any) -> bytes:
    return http(status, json.dumps({"error": {"message": message, **detail}}).encode(), headers=headers)


def stream(text: str, *, pieces: int, done: bool, finish: bool = True, error: bool = False) -> bytes:
    """An event stream of the first ``pieces`` of five pieces of a completion."""
    size = -(-len(text) // 5)
    parts = [text[at : at + size] for at in range(0, len(text), size)][:pieces]
    chunks: list[dict[str, Any]] = [
        {"model": "judge", "choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None}]}
        for part in parts
    ]
    if finish:
        chunks.append({"model": "judge", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if error:
        chunks.append({"error": {"message": "the engine died", "type": "server_error"}})
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + (["data: [DONE]\n\n"] if done else [])
    return http(200, "".join(events).encode(), kind="text/event-stream")


Scores = Mapping[str, int]
Fault = Callable[[Scores], bytes]


def _others(scores: Scores) -> dict[str, int]:
    return {key: 100 - value for key, value in scores.items()}


def _ago(seconds: float) -> dict[str, str]:
    """A Retry-After of a moment, told by a server whose clock is wrong by ``seconds``."""
    import time  # noqa: PLC0415 - only this fault looks at a clock

    now = time.time() + seconds
    return {"Date": formatdate(now, usegmt=True), "Retry-After": formatdate(now + 1, usegmt=True)}


FAULTS: Mapping[str, Fault] = {
    "429 with Retry-After": lambda _: failed(429, "slow down", {"Retry-After": "0.3"}),
    "429 without": lambda _: failed(429, "slow down"),
    "500": lambda _: failed(500, "internal error"),
    "502": lambda _: http(502, b"<html><h1>Bad Gateway</h1></html>", kind="text/html"),
    "503": lambda _: failed(503, "overloaded"),
    "HTML error page": lambda _: http(200, b"<!doctype html><html><body>We'll be right back</body></html>",
                                      kind="text/html"),
    "wrong content type": lambda scores: ok(completion(verdict(scores)), kind="text/plain"),
    "empty body": lambda _: http(200, b""),
    "empty content": lambda _: ok(completion("")),
    "no content": lambda _: ok(completion(None)),
    "refusal": lambda _: ok(completion("I'm sorry, but I can't help with grading this.")),
    "refusal field": lambda _: ok(completion(None, refusal="I won't judge this.")),
    "content filter": lambda _: ok(completion("", finish_reason="content_filter")),
    "length stop": lambda scores: ok(completion(verdict(scores)[: -len(verdict(scores)) // 4], finish_reason="length")),
    "truncated stream": lambda scores: stream(verdict(scores), pieces=3, done=False, finish=False),
    "missing [DONE]": lambda scores: stream(verdict(scores), pieces=5, done=False),
    "error after partial content": lambda scores: stream(
        verdict(scores), pieces=3, done=False, finish=False, error=True),
    "duplicated ids": lambda scores: ok(completion(_doubled(scores))),
    "foreign ids": lambda scores: ok(completion(verdict({**scores, "ZZZZ": 50}))),
    "off-scale scores": lambda scores: ok(completion(
        verdict({key: value * 10 + 101 for key, value in scores.items()}))),
    "NaN scores": lambda scores: ok(completion(verdict(dict.fromkeys(scores, float("nan"))))),
    "two verdicts": lambda scores: ok(completion(
        f"A draft: {verdict(_others(scores))}\n\nFinal verdict: {verdict(scores)}")),
    "gzip garbage": lambda _: http(200, gzip.compress(b"x" * 100)[:20] + b"garbage",
                                   headers={"Content-Encoding": "gzip"}),
    "10 MB reply": lambda scores: ok(completion("x" * 10_000_000 + verdict(scores))),
    "endless reply": lambda _: http(200, b'{"choices": "' + b"x" * 17_000_000 + b'"}'),
    "schema 400": lambda _: failed(400, "response_format json_schema is not supported", param="response_format"),
    "model gone": lambda _: failed(404, "The model `judge` does not exist", code="model_not_found"),
    "key revoked": lambda _: failed(401, "Incorrect API key provided"),
    "clock an hour ahead": lambda _: failed(429, "slow down", _ago(3600)),
    "clock an hour behind": lambda _: failed(503, "overloaded", _ago(-3600)),
}  # fmt: skip
"""What is answered instead, by name; the faults below are of the connection."""

CONNECTION = ("connection refused", "reset before an answer", "reset mid-body", "hang", "slow drip")
EVERY = (*FAULTS, *CONNECTION)


def _doubled(scores: Scores) -> str:
    """A verdict that scores its first candidate twice, differently."""
    rows = [{"id": key, "score": value} for key, value in scores.items()]
    first = rows[0]
    return json.dumps({"scores": [*rows, {"id": first["id"], "score": (int(first["score"]) + 37) % 101}]})


class FaultServer:
    """One judge. ``log`` has (task, fault or None) for every question, in the order they came."""

    def __init__(self, *, rate: float, seed: int) -> None:
        self._rate = rate
        self._seed = seed
        self.log: list[tuple[int, str | None]] = []
        self._revoked = False
        self._server: asyncio.Server | None = None
        self._port = 0
        self._down: asyncio.Task[None] | None = None

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, backlog=1024)
        self._port = int(self._server.sockets[0].getsockname()[1])
        return f"http://127.0.0.1:{self._port}/v1"

    async def _refuse_for(self, seconds: float) -> None:
        """Nobody listens for a while; connections that there are go on."""
        if self._server is not None:
            self._server.close()
            await asyncio.sleep(seconds)
            await self.open()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._answer_one(reader, writer):
                await writer.drain()
        writer.close()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _ = head.split(" ", 2)
        length = re.search(r"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1]) if length else 0)
        if path == "/control":
            self._revoked = json.loads(body)["revoked"]
            writer.write(ok({}))
        elif path == "/log":
            writer.write(ok({"log": self.log}))
        elif method == "GET":
            writer.write(ok({"object": "list", "data": [{"id": "judge", "object": "model"}]}))
        else:
            return await self._judge(json.loads(body), writer)
        return True

    async def _judge(self, asked: Mapping[str, Any], writer: asyncio.StreamWriter) -> bool:
        text = "".join(str(message["content"]) for message in asked["messages"][1:])
        scores = {key: truth(body) for _, key, body in CANDIDATE.findall(text)}
        fault = self._drawn()
        task = TASK.search(text)
        self.log.append((int(task[1]) if task else -1, fault))
        if self._revoked:
            writer.write(failed(401, "This API key has been revoked"))
            return True
        if fault is None:
            writer.write(ok(completion(verdict(scores))))
            return True
        if fault in FAULTS:
            writer.write(FAULTS[fault](scores))
            return fault not in {"truncated stream", "error after partial content", "missing [DONE]"}
        return await self._break(fault, ok(completion(verdict(scores))), writer)

    def _drawn(self) -> str | None:
        drawn = random.Random(f"{self._seed}:{len(self.log)}")
        return drawn.choice(EVERY) if drawn.random() < self._rate else None

    async def _break(self, fault: str, answer: bytes, writer: asyncio.StreamWriter) -> bool:
        if fault == "hang":
            await asyncio.sleep(3600)
        elif fault == "slow drip":
            for at in range(len(answer)):
                writer.write(answer[at : at + 1])
                await writer.drain()
                await asyncio.sleep(DRIP_SECONDS)
        elif fault == "reset mid-body":
            writer.write(answer[: len(answer) - 40])
            await writer.drain()
        elif fault == "connection refused" and (self._down is None or self._down.done()):
            self._down = asyncio.create_task(self._refuse_for(0.05))
        writer.transport.abort()
        return False


async def serve(options: argparse.Namespace) -> None:
    server = FaultServer(rate=options.rate, seed=options.seed)
    print(await server.open(), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=0.3, help="share of the questions that meet a fault")
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(serve(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
