"""Runs a script of a test in a process of its own, and returns what the script reports as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
