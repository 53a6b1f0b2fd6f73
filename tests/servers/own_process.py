"""A server in a process of its own on a free loopback port, for servers that are programs."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def own_process(
    command: Sequence[str], *, ready: str, log: Path, env: Mapping[str, str], seconds: float = 180.0
) -> Iterator[None]:
    """Run ``command`` until the block ends; it begins once ``ready``, a URL, answers 200. What it says goes to
    ``log``.
    """
    with log.open("wb") as said, subprocess.Popen(command, stdout=said, stderr=said, env=dict(env)) as process:
        try:
            _wait(process, ready, log, seconds)
            yield
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait(process: subprocess.Popen[bytes], ready: str, log: Path, seconds: float) -> None:
    ends = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(ready, timeout=2) as answer:  # noqa: S310 - a loopback address of ours
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        if process.poll() is not None or time.monotonic() > ends:
            raise AssertionError(f"the server is not there: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.2)  # it is another program: there is nothing to wait on
