"""Runs a script of a test in a process of its own, and an engine's server in a thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).resolve().parent


def reported(script: Path, folder: Path, *, seconds: float) -> dict[str, Any]:
    """Run ``script`` with the path of a file in ``folder`` as its argument, and return the object that it writes there.

    The script imports calipers, the helpers of the tests, and its own neighbours. It may end with an error once its
    report is written.
    """
    out = folder / "report.json"
    paths = [str(script.parent), str(_TESTS), str(_TESTS.parent / "src"), os.environ.get("PYTHONPATH", "")]
    run = subprocess.run(
        [sys.executable, str(script), str(out)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert out.exists(), run.stderr[-4000:]
    told: dict[str, Any] = json.loads(out.read_text())
    return told


@contextmanager
def serving(app: Any, *, log_level: str = "error") -> Iterator[str]:
    """The URL of an engine's own ASGI application, which uvicorn serves in a thread."""
    import uvicorn  # noqa: PLC0415 - comes with engines that have servers

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level=log_level))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        thread.join(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
