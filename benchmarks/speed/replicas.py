"""Replicas of ``calipers serve`` with one ledger in Postgres under load: rollouts a second, and CPU a rollout.

    python -m benchmarks.speed.replicas [--seconds 10] [--groups 64]

Groups of 8 rollouts of about 2 kB in a closed loop, through one server on SQLite, then on Postgres: one server, two
with each group sent to one of them, and two with each group spread over both. A loopback judge answers after 20 ms.
Judge, servers, Postgres (without fsync) and this load generator share the machine's cores: with two cores, two servers
cannot be faster than one, and CPU a rollout is what counts. Postgres' programs must be installed (Linux).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path

from benchmarks.environment import ROOT
from benchmarks.judge_server import running_judge, stats
from benchmarks.speed.server import SIZE, TOKEN, Connection, Load, closed_loop, cpu
from servers.postgres_server import PostgresServer


class SpreadLoad(Load):
    """Groups over several servers: each sent to one of them in turn, or each spread over all."""

    def __init__(self, ports: Sequence[int], *, spread: bool) -> None:
        super().__init__(ports[0])
        self._idle: dict[int, list[Connection]] = {port: [] for port in ports}
        self._of: dict[Connection, int] = {}
        self._next = cycle(port for port in ports for _ in range(1 if spread else SIZE))
        self._free = []

    async def connection(self) -> Connection:
        while self._free:
            free = self._free.pop()
            self._idle[self._of[free]].append(free)
        port = next(self._next)
        if self._idle[port]:
            return self._idle[port].pop()
        _, made = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
        self._of[made] = port
        return made


@contextmanager
def replica(judge: str, ledger: str) -> Iterator[tuple[int, int]]:
    """Run ``calipers serve``; yields its port and its process id."""
    command = [
        *(sys.executable, "-m", "calipers", "serve", "--judge", "openai/judge", "--base-url", judge, "--port", "0"),
        *("--ledger", ledger, "--concurrency", "256"),
    ]
    env = os.environ | {"CALIPERS_SERVER_TOKEN": TOKEN, "OPENAI_API_KEY": "k", "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        assert process.stderr is not None  # noqa: S101 - a pipe was asked for
        try:
            line = process.stderr.readline()
            while "Serving at" not in line:
                if not line:
                    raise SystemExit("a server did not start")
                line = process.stderr.readline()
            yield int(line.split("Serving at http://127.0.0.1:")[1].split()[0]), process.pid
        finally:
            process.terminate()
            process.communicate()


def cpu_of_postgres(server: PostgresServer) -> float:
    """Seconds of CPU of Postgres: its first process, those that it has now, and those that have ended."""
    tick, parent, total = os.sysconf("SC_CLK_TCK"), server.process, 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(folder.name) == parent:
            total += sum(map(int, fields[11:15]))
        elif int(fields[1]) == parent:
            total += sum(map(int, fields[11:13]))
    return total / tick


def measured(name: str, ledger: str, replicas: int, options: argparse.Namespace, postgres: PostgresServer) -> None:
    """Print a row of the table: ``replicas`` below 0 are servers over which each group is spread."""
    with ExitStack() as stack:
        judge = stack.enter_context(running_judge(delay=0.02))
        running = [stack.enter_context(replica(judge, ledger)) for _ in range(abs(replicas))]
        load = SpreadLoad([port for port, _ in running], spread=replicas < 0)

        def used() -> tuple[float, ...]:
            servers = sum(cpu(process) for _, process in running)
            return servers, cpu_of_postgres(postgres), stats(judge)["cpu"], time.process_time()

        async def run() -> None:
            await closed_loop(load, groups=options.groups, seconds=2.0)
            before, asked = used(), stats(judge)["answered"]
            rate, sent = await closed_loop(load, groups=options.groups, seconds=options.seconds)
            spent = [1e6 * (now - then) / sent for now, then in zip(used(), before, strict=True)]
            again = stats(judge)["answered"] - asked - sent / SIZE
            print(f"{name:<36}{rate:>8.0f}" + "".join(f"{one:>10.0f}" for one in spent) + f"{again:>10.0f}", flush=True)

        asyncio.run(run())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--groups", type=int, default=64, help="groups in flight")
    options = parser.parse_args(arguments)
    gc.disable()
    print(f"load of the machine at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':<36}{'rollouts':>8}{'CPU in µs a rollout of':>40}{'asked':>10}")
    print(f"{'':<36}{'a second':>8}{'servers':>10}{'Postgres':>10}{'judge':>10}{'load':>10}{'again':>10}")
    postgres = PostgresServer()
    try:
        with tempfile.TemporaryDirectory() as folder:
            measured("one server, SQLite", str(Path(folder) / "ledger.db"), 1, options, postgres)
        measured("one server, Postgres", postgres.url("one"), 1, options, postgres)
        measured("two servers, groups routed", postgres.url("routed"), 2, options, postgres)
        measured("two servers, groups spread", postgres.url("spread"), -2, options, postgres)
    finally:
        postgres.close()
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
