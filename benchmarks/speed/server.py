"""``calipers serve`` under load: rollouts a second, the time to an answer, memory of waiting rollouts, CPU a rollout.

    python -m benchmarks.speed.server [--seconds 15] [--groups 64] [--waiting 16000] [--judge-delay 0.02]

The server is a process of its own, with a ledger and a token, before a loopback judge that answers after 20 ms. The
load generator is this process: each rollout of about 2 kB is a request on a kept connection, and belongs to a group of
8. All three share this machine's cores. Throughput is a closed loop of ``--groups`` groups; the time to an answer is an
open loop at half of the throughput (of the target, if that is less), from the last rollout of a group until the
group's last answer. While others use the cores, that is mostly the wait for one of them, of which the share is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.environment import ROOT
from benchmarks.judge_server import running_judge, stats

SIZE = 8
TOKEN = "benchmark-token-of-32-characters"  # noqa: S105 - of a server on loopback
RATE, P99, MEGABYTES = 1500.0, 0.050, 800.0
_TICK = os.sysconf("SC_CLK_TCK")
_WORDS = [
    "order",
    "slot",
    "tool",
    "answer",
    "check",
    "policy",
    "refund",
    "ticket",
    "table",
    "total",
    "reply",
    "value",
    "customer",
    "number",
    "the",
    "of",
    "and",
    "to",
]


class Connection(asyncio.Protocol):
    """A kept connection: one request at a time, of which only the status is looked at."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._waiting: asyncio.Future[bytes] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what the type checker cannot see
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        start = self._received.find(b"content-length: ") + 16
        length = int(self._received[start : self._received.find(b"\r", start)])
        if len(self._received) >= end + 4 + length and self._waiting is not None:
            found, self._received = bytes(self._received), bytearray()
            waiting, self._waiting = self._waiting, None
            waiting.set_result(found)

    def connection_lost(self, _: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("the server closed the connection"))

    def send(self, request: bytes) -> asyncio.Future[bytes]:
        self._waiting = asyncio.get_running_loop().create_future()
        assert self.transport is not None  # noqa: S101 - what the type checker cannot see
        self.transport.write(request)
        return self._waiting


class Load:
    """Groups of eight rollouts, sent over as many connections as are needed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[Connection] = []
        self._numbers = iter(range(10**9))
        draw = random.Random(3)
        self._texts = [" ".join(draw.choices(_WORDS, k=330)) for _ in range(512)]

    async def connection(self) -> Connection:
        if self._free:
            return self._free.pop()
        _, made = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", self._port)
        return made

    def requests(self) -> list[bytes]:
        """The requests of a new group: about 2 kB each, no two alike."""
        number = next(self._numbers)
        head = (
            f"POST /v1/rollouts HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )
        made = []
        for index in range(SIZE):
            text = f"{index}.{number} {self._texts[(number * SIZE + index) % 512]}"
            body = (
                f'{{"group_id":"step-{number // 64}/prompt-{number % 64}","group_size":{SIZE},"index":{index},'
                f'"context":[{{"role":"user","content":"Question {number}: what was the order, and is it right?"}}],'
                f'"messages":[{{"role":"assistant","content":"{text}"}}]}}'
            )
            made.append(f"{head}{len(body)}\r\n\r\n{body}".encode())
        return made

    async def group(self) -> float:
        """Send a whole group; return the seconds from its last rollout until its last answer."""
        connections = [await self.connection() for _ in range(SIZE)]
        answers = [one.send(request) for one, request in zip(connections, self.requests(), strict=True)]
        sent = time.perf_counter()
        for one in answers:
            _require_scored(await one)
        taken = time.perf_counter() - sent
        self._free += connections
        return taken


def _require_scored(reply: bytes) -> None:
    if not reply.startswith(b"HTTP/1.1 200") or b'"status":"scored"' not in reply:
        raise SystemExit(f"the server did not score a rollout: {reply.decode(errors='replace')}")


@contextmanager
def server(judge: str, *, waiting: int) -> Iterator[tuple[int, int]]:
    """Run ``calipers serve``; yields its port and its process id."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "calipers", "serve", "--judge", "openai/judge", "--base-url", judge, "--port", "0"),
            *("--ledger", str(Path(folder) / "ledger.db"), "--max-waiting", str(waiting), "--group-deadline", "300"),
            *("--concurrency", "256"),
        ]
        env = os.environ | {"CALIPERS_SERVER_TOKEN": TOKEN, "OPENAI_API_KEY": "k", "PYTHONPATH": str(ROOT / "src")}
        with subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
            assert process.stderr is not None  # noqa: S101 - what the type checker cannot see
            try:
                line = process.stderr.readline()
                while "Serving at" not in line:
                    if not line:
                        raise SystemExit("the server did not start")
                    print(line, end="")
                    line = process.stderr.readline()
                yield int(line.split("Serving at http://127.0.0.1:")[1].split()[0]), process.pid
            finally:
                process.terminate()
                process.communicate()


def cpu(process: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def waited(process: int) -> float:
    """Seconds for which a process's main thread could have run, but other processes had the cores."""
    return int(Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9


def megabytes(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


async def closed_loop(load: Load, *, groups: int, seconds: float) -> tuple[float, int]:
    """Rollouts a second with so many groups in flight, and how many were sent."""
    ends, done = time.perf_counter() + seconds, 0

    async def one() -> None:
        nonlocal done
        while time.perf_counter() < ends:
            await load.group()
            done += 1

    started = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(groups)))
    return done * SIZE / (time.perf_counter() - started), done * SIZE


async def open_loop(load: Load, *, rate: float, seconds: float) -> list[float]:
    """The time to an answer of groups that arrive at random at ``rate`` rollouts a second."""
    draw, running = random.Random(5), []
    at, ends = time.perf_counter(), time.perf_counter() + seconds
    while at < ends:
        at += draw.expovariate(rate / SIZE)
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        running.append(asyncio.create_task(load.group()))
    return await asyncio.gather(*running)


async def held(load: Load, process: int, *, waiting: int) -> tuple[float, float]:
    """Megabytes of the server before and while so many rollouts wait; then their groups are completed."""
    before = megabytes(process)
    groups, sent = [load.requests() for _ in range(-(-waiting // (SIZE - 1)))], []
    for number, requests in enumerate(groups):
        for request in requests[:-1]:
            connection = await load.connection()
            sent.append((connection, connection.send(request)))
        if number % 64 == 63:
            await asyncio.sleep(0.05)
    while True:  # until the server has read them all
        used = cpu(process)
        await asyncio.sleep(0.5)
        if cpu(process) - used < 0.1:
            break
    most = megabytes(process)
    for requests in groups:
        connection = await load.connection()
        _require_scored(await connection.send(requests[-1]))
        load._free.append(connection)  # noqa: SLF001 - of this module
    for connection, answer in sent:
        _require_scored(await answer)
        load._free.append(connection)  # noqa: SLF001 - likewise
    return before, most


def told(what: str, value: str, *, met: bool) -> str:
    return f"{'met ' if met else 'MISS'}  {what}: {value}"


async def measured(options: argparse.Namespace, judge: str, port: int, process: int) -> None:
    load = Load(port)
    await closed_loop(load, groups=8, seconds=2.0)
    used, own, asked = cpu(process), time.process_time(), stats(judge)["cpu"]
    rate, sent = await closed_loop(load, groups=options.groups, seconds=options.seconds)
    used, own, asked = cpu(process) - used, time.process_time() - own, stats(judge)["cpu"] - asked
    print(told("rollouts/s through whole groups of 8", f"{rate:.0f} (at least {RATE:.0f})", met=rate >= RATE))
    print(
        f"      CPU a rollout: server {used / sent * 1e6:.0f} us, load generator {own / sent * 1e6:.0f} us, judge "
        f"{asked / sent * 1e6:.0f} us"
    )
    half = min(rate, RATE) / 2
    both, started = (process, os.getpid()), time.perf_counter()
    before = [waited(one) for one in both]
    times = sorted(await open_loop(load, rate=half, seconds=options.seconds))
    elapsed = time.perf_counter() - started
    without = [100 * (waited(one) - then) / elapsed for one, then in zip(both, before, strict=True)]
    over = times[int(0.99 * len(times))] - options.judge_delay
    print(
        told(
            f"p99 from a group's last rollout to its answers at {half:.0f}/s, over the judge's {options.judge_delay}s",
            f"{over * 1000:.0f} ms of {len(times)} groups (at most {P99 * 1000:.0f}); median "
            f"{(median(times) - options.judge_delay) * 1000:.0f} ms",
            met=over <= P99,
        )
    )
    print(f"      waited for a core: server {without[0]:.0f} % of the time, load generator {without[1]:.0f} %")
    idle, most = await held(load, process, waiting=options.waiting)
    print(
        told(
            f"resident MB with {options.waiting} rollouts waiting",
            f"{most:.0f} (at most {MEGABYTES:.0f}); {idle:.0f} before, "
            f"{(most - idle) * 1024 / options.waiting:.1f} kB a rollout",
            met=most <= MEGABYTES,
        )
    )
    print(f"      it needs {options.waiting + 256} open files in the server: one a connection, and some more")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--groups", type=int, default=64, help="groups in flight")
    parser.add_argument("--waiting", type=int, default=16_000)
    parser.add_argument("--judge-delay", type=float, default=0.02)
    options = parser.parse_args(arguments)
    gc.disable()
    print(f"load of the machine at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with (
        running_judge(delay=options.judge_delay) as judge,
        server(judge, waiting=options.waiting * 2) as (port, process),
    ):
        asyncio.run(measured(options, judge, port, process))
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
