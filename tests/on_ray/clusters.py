"""A Ray cluster of two nodes on this machine, and a process that judges datasets there (``program.py``)."""

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


class Program:
    """A process that is connected to the cluster and judges one dataset after the other."""

    def __init__(self, address: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("program.py")), address],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    def begin(self, groups: Path, out: Path, **options: Any) -> None:
        """Judge the groups of a file with the arguments of ``score_dataset``; the rows of the result go to ``out``."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([str(groups), str(out), options]) + "\n")
        self._process.stdin.flush()

    def wait_until(self, condition: Callable[[], bool], *, seconds: float = 90.0) -> None:
        """Wait for ``condition`` of another program while this one runs; it is another program, so this polls."""
        ends = time.monotonic() + seconds
        while not condition():
            assert self._process.poll() is None
            assert time.monotonic() < ends, "the program waited for something else"
            time.sleep(0.02)

    def error(self) -> str | None:
        """Wait for the end of the program that was begun, and return the error of calipers that it raised."""
        assert self._process.stdout is not None
        found: str | None = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        self._process.communicate()
