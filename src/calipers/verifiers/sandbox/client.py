"""``Sandbox``: foreign code run in processes of their own, and what became of it.

The part that lives in the caller's process: it starts the fork server, hands it jobs and takes outcomes. No foreign code
is compiled, unpickled or run here. What the system takes away from the code is in ``confinement``; docs/security.md says
what that stops and what not.
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
from calipers.verifiers.sandbox.jobs import Isolation, Job, Limits, Outcome, message_of, outcome_of
from calipers.verifiers.sandbox.wire import packed, unpacked

_START_SECONDS = 60.0
_GRACE_SECONDS = 10.0
"""What the fork server gets beyond a job's own time before it is given up."""
_SOURCE = Path(__file__).resolve().parents[3]
_BOOT = "import sys, json; sys.path.append(sys.argv[2]); from calipers.verifiers.sandbox.server import main; main(json.loads(sys.argv[1]))"


class Sandbox:
    """Runs jobs in confined processes, ``workers`` at a time. Starts with the first job; safe to use from threads.

    ``modules`` are further packages the code may import; they are loaded whole when the sandbox starts, and have to be
    trusted, as has ``warm_up``: source run once at the start, unconfined, to load what those packages import late.
    ``isolation="confined"`` needs Linux with seccomp and refuses to run elsewhere; ``"limits"`` is for other Unix systems:
    a process of its own with limits, which does not stop code that is out for harm.

    Raises ConfigError when the system cannot do what is asked, at the first ``run``.
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
        """The outcome of each job, in order. Blocks; from a coroutine, call it with ``asyncio.to_thread``.

        Raises InputError for a call with arguments that are not plain data.
        """
        outcomes: list[Outcome | None] = [None] * len(jobs)
        left = deque(message_of(number, job, self.limits) for number, job in enumerate(jobs))
        with self._mine():
            while left:
                self._run(left, outcomes)
        return [outcome for outcome in outcomes if outcome is not None]

    @property
    def layers(self) -> tuple[str, ...]:
        """What keeps the code in on this machine, by name. Starts the sandbox."""
        with self._mine():
            return self._connected().layers

    def close(self) -> None:
        """End the fork server; the next ``run`` starts another."""
        with self._mine():
            self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, left: deque[dict[str, Any]], outcomes: list[Outcome | None]) -> None:
        """Until all are done or the fork server is lost, and with it what was under way."""
        server = self._connected()
        under_way: set[int] = set()
        try:
            while left or under_way:
                # A bounded number ahead: neither side ever waits for the other to read.
                while left and len(under_way) < 2 * self._workers:
                    message = left.popleft()
                    under_way.add(message["number"])
                    server.send(message)
                reply = server.receive(self.limits.wall_seconds * 2 + _GRACE_SECONDS)
                number = reply["number"]
                under_way.remove(number)
                outcomes[number] = outcome_of(reply)
        except _LostError as error:
            for number in under_way:
                outcomes[number] = Outcome(failure="lost", reason=str(error))
            self._drop()
        except BaseException:
            self._drop()  # what is still on its way would be taken for the next run's answers
            raise

    def _mine(self) -> threading.Lock:
        """The lock; a new one, and no server, in a process forked off: its parent may have held the one and has the other."""
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
    """The fork server does not answer any more."""


class _Connection:
    """A running fork server, and the pipes to it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        if not hasattr(os, "fork"):
            raise ConfigError("rule code runs in forked processes, which this system does not have; use Linux")
        self.pid = os.getpid()
        self._buffer = bytearray()
        with tempfile.TemporaryDirectory(prefix="calipers-") as root:
            self._process = _start({**settings, "root": root})
            self._end = weakref.finalize(self, _stop, self._process, self.pid)
            try:
                told = self.receive(_START_SECONDS)
            except _LostError as error:
                self.close()
                raise ConfigError(f"the sandbox for rule code does not start: {error}") from None
        if "error" in told:
            self.close()
            raise ConfigError(
                f"{told['error']}. Run on Linux (x86_64 or aarch64), or accept less: Sandbox(isolation='limits')"
                if "seccomp" in told["error"]
                else f"{told['error']}; install it"
            )
        self.layers = tuple(told["layers"])

    def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it was opened as a pipe
        try:
            data = memoryview(packed(message))
            while data:
                data = data[self._process.stdin.write(data) or 0 :]
        except OSError as error:
            raise _LostError(f"the sandbox is gone ({error.strerror})") from None

    def receive(self, patience: float) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - likewise
        source = self._process.stdout.fileno()
        while (message := unpacked(self._buffer)) is None:
            ready = select.poll()
            ready.register(source, select.POLLIN)
            if not ready.poll(patience * 1000):
                raise _LostError(f"the sandbox did not answer within {patience:g} s")
            data = os.read(source, 2**16)
            if not data:
                raise _LostError("the sandbox ended")
            self._buffer += data
        assert isinstance(message, dict)  # noqa: S101 - the server sends nothing else
        return message

    def close(self) -> None:
        self._end()

    def disown(self) -> None:
        """In a fork of the process that started the server: leave it to that one."""
        self._end.detach()
        self._process.returncode = 0  # what Popen takes for "not mine to wait for"
        _hang_up(self._process)


def _start(settings: dict[str, Any]) -> subprocess.Popen[bytes]:
    """A fresh interpreter: nothing of this process's memory, environment or open files goes with it."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-S", "-s", "-P", "-B", "-c", _BOOT, json.dumps(settings), str(_SOURCE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
        cwd="/",
        bufsize=0,
        close_fds=True,
        start_new_session=True,
    )


def _stop(process: subprocess.Popen[bytes], pid: int) -> None:
    if pid != os.getpid():
        return  # a fork of the process that started it: not ours to end
    process.kill()
    _hang_up(process)
    process.wait()


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


@cache
def shared_sandbox() -> Sandbox:
    """The one that rules use which bring none of their own: one warm server a process, for all of them."""
    return Sandbox()
