"""A Ray cluster of two nodes on this machine, and ``calipers score`` run on it as a program of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MEMORY = 100 * 2**20


@contextmanager
def two_nodes() -> Iterator[Any]:
    """A cluster with one node of two CPUs; ``add_node`` adds the second."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - only where Ray is installed

    node = {"object_store_memory": MEMORY, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "num_cpus": 2})
    try:
        yield cluster
    finally:
        cluster.shutdown()


def add_node(cluster: Any) -> Any:
    """Add a node with one CPU."""
    return cluster.add_node(num_cpus=1, object_store_memory=MEMORY)


def workers_of(node: Any) -> list[int]:
    """The process ids of the workers on ``node`` that judge."""
    raylet = node.all_processes["raylet"][0].process.pid
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = status.read_text().partition("\nPPid:\t")[2].partition("\n")[0]
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue  # it has just ended
        if parent == str(raylet) and command.startswith(b"ray::MapWorker"):
            found.append(int(status.parent.name))
    return found


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str], *, seconds: float = 90.0) -> None:
    """Wait for ``condition`` of another program while ``process`` runs; it is another program, so this polls."""
    ends = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None or time.monotonic() > ends:
            process.kill()
            raise AssertionError(f"the command waited for something else: {process.communicate()[1]}")
        time.sleep(0.02)


def command(*arguments: str) -> subprocess.Popen[str]:
    """Start ``calipers`` with ``arguments``, as a user does."""
    return python("-m", "calipers", *arguments)


def python(*arguments: str, stdin: int | None = None) -> subprocess.Popen[str]:
    """Start Python with ``arguments``."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"},
    )


class Driver:
    """A process that is connected to the cluster, and runs one program after the other there (``driver.py``)."""

    def __init__(self, address: str) -> None:
        self._process = python(str(Path(__file__).with_name("driver.py")), address, stdin=subprocess.PIPE)

    def ended(self, *words: str) -> tuple[int, str]:
        """The exit code of a program, and what it wrote to stderr: of ``calipers``, or of a file in Python."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"the driver has ended: {self._process.communicate()[1]}")
        code, told = json.loads(line)
        return code, told

    def close(self) -> None:
        self._process.communicate()


def ended(process: subprocess.Popen[str], *, seconds: float = 100.0) -> tuple[int, str]:
    """The exit code of a command and what it wrote to stderr."""
    _, told = process.communicate(timeout=seconds)
    return process.returncode, told
