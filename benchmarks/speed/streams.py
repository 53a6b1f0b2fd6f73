"""The client's CPU per event of a streamed answer, parsing alone and over a loopback socket.

    python -m benchmarks.speed.streams

Sockets: a server in a process of its own sends one event a write, ``pause`` seconds apart, so that every event may be
a packet of its own; the client's whole process time (interpreter start excluded) is divided by the events received.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time

from calipers.backends.transport.event_stream import whole_completion
from calipers.backends.transport.http import HttpClient

EVENTS = 500


def stream(events: int) -> list[bytes]:
    """Events as llama.cpp sends them: one token each."""
    common = {
        "created": 1795176420,
        "id": "chatcmpl-lbfOJyRRgxcvOR350W1K6dw9LO6KAKGF",
        "model": "judge",
        "object": "chat.completion.chunk",
    }
    deltas = [{"content": f" {number}"} for number in range(events - 1)]
    choices = [{"finish_reason": None, "index": 0, "delta": delta} for delta in deltas]
    choices.append({"finish_reason": "stop", "index": 0, "delta": {}})
    return [f"data: {json.dumps({'choices': [choice], **common})}\n\n".encode() for choice in choices]


def parsing(rounds: int = 200) -> float:
    """Seconds an event, parsing alone."""
    body = b"".join(stream(EVENTS)) + b"data: [DONE]\n\n"
    whole_completion(body)
    started = time.process_time()
    for _ in range(rounds):
        whole_completion(body)
    return (time.process_time() - started) / rounds / EVENTS


async def _serve(pause: float) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                return writer.close()
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for event in [*stream(EVENTS), b"data: [DONE]\n\n"]:
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
                await writer.drain()
                if pause:
                    await asyncio.sleep(pause)
            writer.write(b"0\r\n\r\n")

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


async def _receive(port: int, *, calls: int, in_flight: int) -> float:
    client = HttpClient(f"http://127.0.0.1:{port}/v1", headers={"content-type": "application/json"}, timeout=60)
    places = asyncio.Semaphore(in_flight)

    async def one() -> None:
        async with places:
            whole_completion((await client.request("POST", "/chat/completions", body=b"{}")).body)

    await one()
    started = time.process_time()
    await asyncio.gather(*(one() for _ in range(calls)))
    return (time.process_time() - started) / calls / EVENTS


def over_a_socket(*, pause: float, calls: int, in_flight: int) -> float:
    """Seconds an event, sockets and all."""
    with subprocess.Popen(  # noqa: S603 - this very file
        [sys.executable, "-m", "benchmarks.speed.streams", "--serve", str(pause)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None  # noqa: S101 - asked for above
        try:
            return asyncio.run(_receive(int(server.stdout.readline()), calls=calls, in_flight=in_flight))
        finally:
            server.kill()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--serve", type=float)
    given = arguments.parse_args()
    if given.serve is not None:
        asyncio.run(_serve(given.serve))
    print(f"parsing alone:                     {1e6 * parsing():5.1f} us an event")
    for pause in (0.0, 0.002):
        taken = over_a_socket(pause=pause, calls=40, in_flight=8)
        print(f"socket, a packet every {1000 * pause:3.0f} ms, 8 at a time: {1e6 * taken:5.1f} us an event")
