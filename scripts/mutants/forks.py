"""Jobs in forked children of this process, which has imported everything but calipers itself.

A child imports calipers afresh, so a mutant is in place before anything of it runs, and nothing it breaks outlives it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WARM = ("pytest", "hypothesis", "numpy", "aiohttp", "click", "rich", "orjson", "sqlite3", "asyncio", "coverage")


def warm() -> None:
    """Import what every child needs, and make Hypothesis draw the same examples in each of them."""
    for name in _WARM:
        importlib.import_module(name)
    from hypothesis import Phase, settings  # noqa: PLC0415 - as above

    # The profile that conftest registers inherits this. A failure is a failure: none is shrunk.
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", derandomize=True, database=None, phases=phases)
    settings.load_profile("mutants")
    ours = sorted(name for name in sys.modules if name.partition(".")[0] == "calipers")
    if ours:
        raise RuntimeError(f"imported before any mutant is made: {ours}")


@dataclass(frozen=True)
class Job:
    """``body`` runs in a child with ``limit_s`` seconds; ``key`` says which job a result belongs to."""

    key: Any
    body: Callable[[Path], Any]
    limit_s: float


@dataclass(frozen=True)
class _Child:
    job: Job
    folder: Path
    ends: float


def run(jobs: Iterable[Job], workers: int) -> Iterator[tuple[Any, Any]]:
    """Each job's key and what its body returned; TimeoutError or RuntimeError (the child died) in place of a value."""
    waiting = iter(jobs)
    children: dict[int, _Child] = {}
    done = False
    try:
        while children or not done:
            while not done and len(children) < workers:
                job = next(waiting, None)
                done = job is None
                if job is not None:
                    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
                    children[_fork(job, folder)] = _Child(job, folder, time.monotonic() + job.limit_s)
            yield from _ended(children)
            time.sleep(0.005)
    finally:
        for pid in children:
            _kill(pid)


def _ended(children: dict[int, _Child]) -> Iterator[tuple[Any, Any]]:
    for pid, child in list(children.items()):
        over = time.monotonic() > child.ends
        if over:
            _kill(pid)
        elif os.waitpid(pid, os.WNOHANG)[0] == 0:
            continue
        _kill(pid, wait=False)  # whatever it started and left behind
        del children[pid]
        result = child.folder / "result"
        value: Any = RuntimeError("the child died")
        if over:
            value = TimeoutError()
        elif result.exists():
            value = pickle.loads(result.read_bytes())  # noqa: S301 - written by our own child
        shutil.rmtree(child.folder, ignore_errors=True)
        yield child.job.key, value


def _kill(pid: int, *, wait: bool = True) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    if wait:
        os.waitpid(pid, 0)


def _fork(job: Job, folder: Path) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        value = job.body(folder)
        (folder / "part").write_bytes(pickle.dumps(value))
        (folder / "part").rename(folder / "result")
    finally:
        os._exit(0)


def pytest_main(arguments: list[str], folder: Path, plugin: object) -> int:
    """The exit status of pytest within a child."""
    import pytest  # noqa: PLC0415 - loaded by ``warm``

    quiet = ["-q", "--assert=plain", "--tb=no", "--no-header", "-p", "no:cacheprovider", f"--basetemp={folder / 'tmp'}"]
    return int(pytest.main([*quiet, *arguments], plugins=[plugin]))
