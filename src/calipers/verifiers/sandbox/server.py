"""The fork server of the sandbox: a warm process that forks a confined child for every job and reads its answer.

``client`` starts the server as a new interpreter with an empty environment and exchanges messages with it over standard
input and output (``messages``). ``child`` decides what runs in the child, and ``confinement`` the child's rights. A
child cannot reach the server: it may signal no process, and its only open descriptor is the pipe for its own answer.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Never

from calipers.verifiers.sandbox import child
from calipers.verifiers.sandbox.confinement import Confinement, import_allowed, leave_namespaces, prepare_confinement
from calipers.verifiers.sandbox.messages import pack_message, unpack_message

_REQUESTS, _REPLIES = 0, 1
_CHUNK = 2**16
_UNCONFINED = (
    "this system cannot restrict the system calls of a process (no seccomp for its kernel or processor), so foreign "
    "code could use files and the network here"
)


@dataclass(slots=True)
class _Running:
    number: int
    pid: int
    ends: float
    wall: float
    answer: bytearray = field(default_factory=bytearray)
    killed: str | None = None


class Server:
    """Runs jobs from the client, ``workers`` at a time, each in a child process of its own."""

    def __init__(self, confinement: Confinement, importable: frozenset[str], *, workers: int) -> None:
        self._confinement = confinement
        self._importable = importable
        self._workers = workers
        self._waiting: deque[Mapping[str, Any]] = deque()
        self._running: dict[int, _Running] = {}
        self._poll = select.poll()

    def serve(self) -> None:
        """Run jobs until the client closes the connection."""
        self._poll.register(_REQUESTS, select.POLLIN)
        requests = bytearray()
        while True:
            while self._waiting and len(self._running) < self._workers:
                self._start_child(self._waiting.popleft())
            for source, _ in self._poll.poll(self._milliseconds_left()):
                if source != _REQUESTS:
                    self._receive(source)
                    continue
                data = os.read(_REQUESTS, _CHUNK)
                if not data:
                    for child_job in self._running.values():
                        os.kill(child_job.pid, signal.SIGKILL)
                    return
                requests += data
                while (job := unpack_message(requests)) is not None:
                    self._waiting.append(job)
            self._stop_overdue()

    def _start_child(self, job: Mapping[str, Any]) -> None:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._run_child(job, write)
        os.close(write)
        self._running[read] = _Running(job["number"], pid, time.monotonic() + job["wall"], job["wall"])
        self._poll.register(read, select.POLLIN)

    def _run_child(self, job: Mapping[str, Any], write: int) -> Never:
        """Run a job in the forked child, which exits and never returns into the server's loop, even after an error."""
        self._waiting.clear()  # the child must not see other jobs
        try:
            self._confinement.child(write, job["cpu"], job["memory"])
            child.run_job(job, self._importable)
        finally:
            os._exit(70)

    def _receive(self, read: int) -> None:
        job = self._running[read]
        data = os.read(read, _CHUNK)
        job.answer += data
        if data and len(job.answer) > 2 * child.MOST_ANSWER:
            self._kill(job, "its answer is too long")
        if not data or job.killed:
            self._finish(read)

    def _finish(self, read: int) -> None:
        """Collect a child that closed its pipe, because it ended or pretends to, and send its outcome to the client."""
        job = self._running.pop(read)
        self._poll.unregister(read)
        os.close(read)
        with contextlib.suppress(ProcessLookupError):
            os.kill(job.pid, signal.SIGKILL)  # has no effect if the child has already ended
        _, status, used = os.wait4(job.pid, 0)
        measured = {"number": job.number, "cpu": used.ru_utime + used.ru_stime}
        _send(pack_message({**_child_outcome(job, status), **measured}))

    def _stop_overdue(self) -> None:
        now = time.monotonic()
        for read, job in list(self._running.items()):
            if job.ends <= now:
                self._kill(job, f"it did not end within {job.wall:g} s")
                self._finish(read)

    def _kill(self, one: _Running, why: str) -> None:
        one.killed = why
        os.kill(one.pid, signal.SIGKILL)

    def _milliseconds_left(self) -> int | None:
        """Return the milliseconds until the next running job exceeds its time limit, or None if no job runs."""
        if not self._running:
            return None
        left = min(job.ends for job in self._running.values()) - time.monotonic()
        return max(0, int(left * 1000) + 1)


def _child_outcome(one: _Running, status: int) -> dict[str, Any]:
    """Return how a child ended, which the server observes, or else its ``answer``, which only the client reads."""
    if one.killed is not None:
        return {"failure": "wall" if "within" in one.killed else "unusable", "reason": one.killed}
    if os.WIFSIGNALED(status):
        match os.WTERMSIG(status):
            case signal.SIGSYS:
                return {"failure": "forbidden", "reason": "it made a system call that the sandbox forbids"}
            case signal.SIGXCPU:
                return {"failure": "cpu", "reason": "it used up its CPU time"}
            case other:
                return {"failure": "crashed", "reason": f"it was killed by {signal.Signals(other).name}"}
    answer = one.answer.decode("ascii", "replace")
    if os.WEXITSTATUS(status) != 0 or not answer:
        return {"failure": "crashed", "reason": "it ended without an answer"}
    return {"answer": answer}


def _send(data: bytes) -> None:
    while data:
        data = data[os.write(_REPLIES, data) :]


def _confinement_works(confinement: Confinement) -> bool:
    """Whether the system really kills a confined child that opens a file. This is tested once at the start."""
    pid = os.fork()
    if pid == 0:
        read, write = os.pipe()
        os.close(read)
        confinement.child(write, 1, 2**28)
        with contextlib.suppress(OSError):
            os.open("/", os.O_RDONLY)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS


def main(settings: Mapping[str, Any]) -> None:
    """Prepare the fork server, report that it is ready or why it is not, and serve jobs."""
    warnings.simplefilter("ignore")  # showing a warning would open source files
    left = leave_namespaces()
    # The packages are imported only now and only if asked for, because they may run any code when they are imported.
    sys.path += [entry for entry in settings["path"] if entry not in sys.path]
    try:
        importable = import_allowed(settings["modules"])
    except ImportError as error:
        _send(pack_message({"error": f"the sandbox cannot offer {error.name or 'a module'}: {error}"}))
        return
    exec(settings["warm_up"], {"__name__": "__warm_up__"})  # noqa: S102 - the caller's own text, not foreign code
    strict = settings["isolation"] == "confined"
    confinement = prepare_confinement(settings["root"], left=left, seccomp=strict)
    if strict and not (confinement.seccomp and _confinement_works(confinement)):
        _send(pack_message({"error": _UNCONFINED}))
        return
    _send(pack_message({"layers": confinement.layers}))
    gc.collect()
    gc.freeze()  # children then share these pages and do not copy them
    Server(confinement, importable, workers=settings["workers"]).serve()
