"""``Sandbox``: run foreign code in separate processes and return its outcomes.

This module runs in the caller's process. It starts the fork server, sends it jobs and receives outcomes. It never
compiles, unpickles or runs foreign code. ``confinement`` says what the system forbids to that code. docs/security.md
says which attacks this stops.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from calipers.errors import ConfigError
from calipers.verifiers.sandbox.jobs import Isolation, Job, Limits, Outcome, job_message, read_outcome
from calipers.verifiers.sandbox.messages import pack_message, unpack_message

_START_SECONDS = 60.0
_GRACE_SECONDS = 10.0
"""The fork server is considered lost this many seconds after twice a job's own time limit."""
_SOURCE = Path(__file__).resolve().parents[3]
_START_CODE = (
    "import sys, json; sys.path.append(sys.argv[2]); "
    "from calipers.verifiers.sandbox.server import main; main(json.loads(sys.argv[1]))"
)


class Sandbox:
    """Runs jobs in confined processes, ``workers`` at a time. Starts with the first job. Safe to use from threads.

    ``modules`` are additional packages that the code may import. They are loaded completely when the sandbox starts,
    without confinement, and so must be trusted. ``warm_up`` must be trusted, too. It is source that runs once at the
    start to load what those packages import late. ``isolation="confined"`` needs Linux with seccomp and refuses to run
    elsewhere. ``isolation="limits"`` is for other Unix systems: a separate process with limits, which does not stop
    malicious code.

    Raises ConfigError at the first ``run`` if the system does not support this configuration.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        modules: Sequence[str] = (),
        warm_up: str = "",
        workers: int | None = None,
        isolation: Isolation = "confined",
    ) -> None:
        if isolation not in ("confined", "limits"):
            raise ConfigError(f"isolation={isolation!r}: it must be confined or limits")
        self.limits = limits or Limits()
        self._workers = workers or min(8, os.cpu_count() or 1)
        path = [entry for entry in sys.path if Path(entry).is_absolute()] if modules else []
        self._settings = {
            "modules": list(modules),
            "path": path,
            "warm_up": warm_up,
            "isolation": isolation,
            "workers": self._workers,
        }
        self._lock, self._owner = threading.Lock(), os.getpid()
        self._server: _Connection | None = None

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Return the outcome of each job in the sandbox, in order. Blocks; from a coroutine, call it with
        ``asyncio.to_thread``.

        Raises InputError for a call with arguments that are not plain data.
        """
        outcomes: list[Outcome | None] = [None] * len(jobs)
        left = deque(job_message(number, job, self.limits) for number, job in enumerate(jobs))
        with self._own_lock():
            while left:
                self._run(left, outcomes)
        return [outcome for outcome in outcomes if outcome is not None]

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the mechanisms that confine code on this machine. Reading this property starts the sandbox."""
        with self._own_lock():
            return self._connected().layers

    def close(self) -> None:
        """Stop the fork server. The next ``run`` starts a new one."""
        with self._own_lock():
            self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, left: deque[dict[str, Any]], outcomes: list[Outcome | None]) -> None:
        """Run jobs until all are done or the fork server is lost. The failure of jobs that a lost server did not
        finish is ``lost``.
        """
        server = self._connected()
        under_way: set[int] = set()
        try:
            while left or under_way:
                # The number of jobs sent ahead is bounded, so that neither side blocks on a full pipe.
                while left and len(under_way) < 2 * self._workers:
                    message = left.popleft()
                    under_way.add(message["number"])
                    server.send(message)
                reply = server.receive(self.limits.wall_seconds * 2 + _GRACE_SECONDS)
                number = reply["number"]
                under_way.remove(number)
                outcomes[number] = read_outcome(reply)
        except _LostError as error:
            for number in under_way:
                outcomes[number] = Outcome(failure="lost", reason=str(error))
            self._drop()
        except BaseException:
            self._drop()  # late answers would be taken for answers of the next run
            raise

    def _own_lock(self) -> threading.Lock:
        """Return the lock on the fork server. A forked process gets a new lock.

        In a forked process, the old lock may be locked for ever, and the server belongs to the parent process.
        """
        if self._owner != os.getpid():
            self._lock, self._owner = threading.Lock(), os.getpid()
            if self._server is not None:
                self._server.disown()
                self._server = None
        return self._lock

    def _drop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _connected(self) -> _Connection:
        if self._server is None:
            self._server = _Connection(self._settings)
        return self._server


class _LostError(Exception):
    """Raised if the fork server no longer answers."""


class _Connection:
    """A running fork server, and the pipes to it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        if not hasattr(os, "fork"):
            raise ConfigError("rule code runs in forked processes, which this system does not have; use Linux")
        self.pid = os.getpid()
        self._buffer = bytearray()
        with tempfile.TemporaryDirectory(prefix="calipers-") as root:
            self._process = _start_server({**settings, "root": root})
            self._end = weakref.finalize(self, _stop_server, self._process, self.pid)
            try:
                reply = self.receive(_START_SECONDS)
            except _LostError as error:
                self.close()
                raise ConfigError(f"the sandbox for rule code does not start: {error}") from None
        if "error" in reply:
            self.close()
            raise ConfigError(
                f"{reply['error']}. Run on Linux (x86_64 or aarch64), or accept less: Sandbox(isolation='limits')"
                if "seccomp" in reply["error"]
                else f"{reply['error']}; install it"
            )
        self.layers = tuple(reply["layers"])

    def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it was opened as a pipe
        try:
            data = memoryview(pack_message(message))
            while data:
                data = data[self._process.stdin.write(data) or 0 :]
        except OSError as error:
            raise _LostError(f"the sandbox has ended ({error.strerror})") from None

    def receive(self, timeout: float) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - likewise
        source = self._process.stdout.fileno()
        while (message := unpack_message(self._buffer)) is None:
            ready = select.poll()
            ready.register(source, select.POLLIN)
            if not ready.poll(timeout * 1000):
                raise _LostError(f"the sandbox did not answer within {timeout:g} s")
            data = os.read(source, 2**16)
            if not data:
                raise _LostError("the sandbox ended")
            self._buffer += data
        assert isinstance(message, dict)  # noqa: S101 - the server sends nothing else
        return message

    def close(self) -> None:
        self._end()

    def disown(self) -> None:
        """Forget the server without stopping it, because this process is a fork of the process that started it."""
        self._end.detach()
        self._process.returncode = 0  # so that Popen does not wait for the process
        _close_pipes(self._process)


def _start_server(settings: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start the fork server as a new interpreter that inherits no memory, environment or open files of this process."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-S", "-s", "-P", "-B", "-c", _START_CODE, json.dumps(settings), str(_SOURCE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
        cwd="/",
        bufsize=0,
        close_fds=True,
        start_new_session=True,
    )


def _stop_server(process: subprocess.Popen[bytes], pid: int) -> None:
    if pid != os.getpid():
        return  # this process is a fork, and the process that started the server may still need it
    process.kill()
    _close_pipes(process)
    process.wait()


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


@cache
def shared_sandbox() -> Sandbox:
    """Return the sandbox of all rules without a sandbox of their own, so that a process has only one fork server."""
    return Sandbox()
