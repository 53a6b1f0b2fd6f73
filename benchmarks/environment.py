"""What benchmarks share: the repository's root, the recorded data, and servers in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def recorded_data() -> Path:
    """The folder of recorded data, at CALIPERS_DATA or beside the repository; it may not exist."""
    return Path(os.environ.get("CALIPERS_DATA") or ROOT.parent / "shared" / "data")


@contextmanager
def serving(module: str, *options: str) -> Iterator[str]:
    """Run a module of these benchmarks as a server; yields its base URL, the first line that it prints."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *options]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        assert process.stdin is not None  # noqa: S101 - likewise
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.kill()
