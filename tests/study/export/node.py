"""A folder of an exported study on a node whose programs are fakes (``fake_node.py``)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
_PROGRAMS = ("python", "ray", "vllm", "hf", "curl", "nvidia-smi", "df")


class Node:
    """``folder`` is the exported study's; ``hub`` holds what can be downloaded; ``calls`` is what was run."""

    def __init__(self, folder: Path, home: Path, *, gpus: int = 8) -> None:
        self.folder, self.hub = folder, home / "hub"
        self._log, self._bin = home / "calls.jsonl", home / "bin"
        self._started: list[subprocess.Popen[str]] = []
        self.hub.mkdir(parents=True)
        self._bin.mkdir()
        for name in _PROGRAMS:
            self._program(name, f'"{sys.executable}" "{_HERE / "fake_node.py"}" {name}')
        self._program("calipers", f'"{sys.executable}" -m calipers')
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("CALIPERS_", "VLLM_"))}
        source = [str(_HERE.parents[2] / "src"), str(_HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
        self.environment = clean | {
            "PATH": f"{self._bin}:/usr/bin:/bin",
            "PYTHONPATH": ":".join(filter(None, source)),
            "FAKE_LOG": str(self._log),
            "FAKE_HUB": str(self.hub),
            "FAKE_GPUS": str(gpus),
            "RAY_FOLDER": str(home / "ray"),
        }

    def run(self, script: str, *arguments: str, seconds: float = 100, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / script), *arguments],
            env=self.environment | more, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip

    def start(self, script: str, *arguments: str, **more: str) -> subprocess.Popen[str]:
        """A script that runs on, in a group of processes of its own."""
        started = subprocess.Popen(
            [str(self.folder / script), *arguments], env=self.environment | more, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._started.append(started)
        return started

    def close(self) -> None:
        """End the scripts that still run, as a test that failed leaves them."""
        for script in self._started:
            if script.poll() is None:
                script.terminate()
                script.wait(30)

    def calls(self, name: str) -> list[dict[str, Any]]:
        lines = self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []
        return [call for call in map(json.loads, lines) if call["name"] == name]

    def replace(self, name: str, command: str) -> None:
        """Let a program be another than its fake."""
        self._program(name, command)

    def _program(self, name: str, command: str) -> None:
        path = self._bin / name
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        path.chmod(0o755)


def free_ports(slots: int) -> int:
    """A first port from which all ports that an exported study's servers use are free."""
    for first in range(21000, 50000, 1000):
        wanted = [first + 1000 * slot + place for slot in range(slots + 1) for place in range(20)]
        if all(_is_free(port) for port in wanted):
            return first
    raise AssertionError("no ports are free")


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
