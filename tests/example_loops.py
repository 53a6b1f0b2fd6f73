"""Examples that train, or that need a trainer, run as a user runs them, each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run_example(name: str, folder: Path, *arguments: str) -> str:
    """Run an example in ``folder``, without a key or a network, and return what it prints."""
    command = (sys.executable, str(EXAMPLES / name), *arguments)
    own = {"HOME": str(folder), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | own, capture_output=True, text=True, check=False, timeout=580
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_loop(name: str, folder: Path, *arguments: str) -> str:
    """Run a loop, hold it to a better policy and a figure, and return what it prints."""
    told = run_example(name, folder, *arguments, str(folder))
    found = re.search(r"held-out scenarios: ([\d.]+) before, ([\d.]+) after", told)
    assert found, told
    assert float(found[2]) > float(found[1]) + 0.2
    if find_spec("matplotlib"):
        (figure,) = re.findall(r"figure: (.*)", told)
        assert Path(figure).stat().st_size > 5_000
    return told
