"""One of a kind a process: threads that come together share what the first of them makes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.trainers.process.once import once_per_process


def test_threads_that_come_together_get_the_same() -> None:
    together, begun = threading.Barrier(8), []

    @once_per_process(maxsize=4)
    def make(name: str) -> object:
        begun.append(name)
        threading.Event().wait(0.01)  # so that the others come meanwhile
        return object()

    def ask(name: str) -> object:
        together.wait(60)
        return make(name)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, "aaaabbbb"))
    assert len(set(found)) == 2
    assert sorted(begun) == ["a", "b"]
    assert make("a") is found[0]


def test_what_failed_is_made_anew_and_a_maker_may_need_another() -> None:
    tries = []

    @once_per_process(maxsize=4)
    def make(depth: int) -> int:
        tries.append(depth)
        if len(tries) == 1:
            raise ConfigError("not yet")
        return depth if depth == 0 else make(depth - 1) + 1

    with pytest.raises(ConfigError):
        make(3)
    assert make(3) == 3
    assert tries == [3, 3, 2, 1, 0]


def test_a_forked_child_waits_for_no_thread_of_its_parents() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    script = """
import os, sys, threading
from calipers.trainers.process.once import once_per_process
busy, go = threading.Event(), threading.Event()

@once_per_process(maxsize=4)
def make(name):
    if name == "slow":
        busy.set()
        go.wait(60)
    return name

threading.Thread(target=make, args=("slow",)).start()
busy.wait(60)
child = os.fork()
if child == 0:
    os._exit(0 if make("quick") == "quick" else 1)
ended = os.waitpid(child, 0)[1]
go.set()
sys.exit(ended)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(calipers.__file__).parents[1]), "PYTHONWARNINGS": "ignore"}
    assert subprocess.run([sys.executable, "-c", script], env=environment, timeout=60, check=False).returncode == 0
