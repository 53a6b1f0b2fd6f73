"""Parts of the server's chaos run: processes that are killed and kept running, a cutting proxy, the judge's account."""

from __future__ import annotations

import asyncio
import os
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Self

from benchmarks.environment import ROOT

_RECORDING = 1.0
"""Seconds that recording an answer may take once the judge has sent it."""


@dataclass(frozen=True)
class Kill:
    """Something was killed at ``began`` and ran again at ``ended``, in seconds since 1970."""

    kind: str
    began: float
    ended: float


class Process:
    """A process that prints a line when it is ready, is killed, and is started again."""

    def __init__(self, command: Sequence[str], log: Path, *, port: int = 0) -> None:
        self._command, self._log, self.port = command, log, port
        self._process: subprocess.Popen[bytes] | None = None
        self._wanted = True

    async def start(self) -> None:
        """Start it, and wait until it has said that it is ready, or has ended."""
        self._wanted = True
        env = {**os.environ, "OPENAI_API_KEY": "k", "PYTHONPATH": str(ROOT / "src")}
        env.pop("CALIPERS_SERVER_TOKEN", None)
        with self._log.open("ab") as log:
            begins = log.tell()
            self._process = subprocess.Popen(  # noqa: ASYNC220, S603 - another process of ours
                self._command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=log, stderr=log
            )
        while self._process.poll() is None and not _ready(self._log.read_bytes()[begins:]):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.05)

    def kill(self) -> None:
        """End it as a crash would."""
        self._wanted = False
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                self._process.stdin.close()

    async def keep(self) -> None:
        """Start it again whenever it ends by itself, as a supervisor would: a database may be down when it starts."""
        while True:
            await asyncio.sleep(0.5)
            if self._wanted and self._process is not None and self._process.poll() is not None:
                await self.start()


def _ready(said: bytes) -> bool:
    return b"Serving at" in said or said.startswith(b"ready")


class Proxy:
    """Forwards each connection to the one of ``ports`` for its group; three in ten are cut or delayed."""

    def __init__(self, ports: Sequence[int], draw: random.Random) -> None:
        self._ports, self._draw = ports, draw
        self.cut = self.delayed = self.passed = 0
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        draw, request, answer = self._draw, None, None
        fault = draw.choice(("request", "waiting", "answer", "delay", "delay")) if draw.random() < 0.3 else None
        if fault == "delay":
            self.delayed += 1
            await asyncio.sleep(draw.uniform(0.1, 1.5))
        elif fault is None:
            self.passed += 1
        else:
            self.cut += 1
            request = draw.randrange(1, 700) if fault == "request" else None
            answer = {"waiting": 0, "answer": draw.randrange(1, 300)}.get(fault)
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            theirs, to_them = await asyncio.open_connection("127.0.0.1", self._ports[_group(head) % len(self._ports)])
            pumps = [asyncio.create_task(pump(reader, to_them, request, head))]
            pumps.append(asyncio.create_task(pump(theirs, writer, answer)))
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for task in pumps:
                task.cancel()
            to_them.transport.abort()
        writer.transport.abort()


def _group(head: bytes) -> int:
    """Return the number in the header X-Group-Id; a connection of a worker has requests for one group."""
    found = re.search(rb"\r\nX-Group-Id: ([0-9a-f]+)\r\n", head)
    return int(found[1], 16) if found else 0


async def pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int | None, first: bytes = b""
) -> None:
    """Forward ``first`` and the rest until the end, or until ``most`` bytes are through."""
    with suppress(OSError):
        while data := first or await reader.read(65536):
            first = b""
            writer.write(data if most is None else data[:most])
            await writer.drain()
            if most is not None and len(data) >= most:
                return
            most = None if most is None else most - len(data)


@dataclass
class Again:
    """What the judge was asked: how often, how often again because of a kill, and where there was no such reason."""

    asked: int = 0
    in_flight: int = 0
    unexplained: list[str] = field(default_factory=list)


def asked_again(account: Sequence[str], kills: Sequence[Kill]) -> Again:
    """Return what the lines of the judge's ``account`` say about questions that were asked more than once."""
    asked: dict[int, list[tuple[float, int]]] = defaultdict(list)
    answered: dict[int, float] = {}
    for line in account:
        event, question, of, at = line.split()
        if event == "asked":
            asked[int(of)].append((float(at), int(question)))
        else:
            answered[int(question)] = float(at)
    found = Again(sum(map(len, asked.values())))
    for group, times in asked.items():
        times.sort()
        for (before, number), (after, _) in pairwise(times):
            known = answered.get(number)
            reasons = [
                one
                for one in kills
                if one.began < after and before < one.ended and (known is None or known + _RECORDING > one.began)
            ]
            if reasons:
                found.in_flight += 1
            else:
                found.unexplained.append(f"group {group}: asked at {before}, answered at {known}, asked at {after}")
    return found
