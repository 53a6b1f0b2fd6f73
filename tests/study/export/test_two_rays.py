"""Two runs of an exported study on one machine, each with a real Ray of its own; verl is a stand-in."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from calipers.study.export.checking import checked_plan
from calipers.study.export.writing import plan_files, write_plan
from study.export.node import Node, free_ports
from study.export.tomls import study

_RAY = Path(sys.executable).parent / "ray"
pytestmark = [
    pytest.mark.skipif(
        find_spec("ray") is None or not _RAY.exists() or shutil.which("setsid") is None,
        reason="Ray is not installed (pip install 'calipers[verl]'), or this is no Linux",
    ),
    pytest.mark.timeout(300),
]


def test_each_run_sees_its_own_gpus_and_survives_the_end_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calipers.study.export.checking.is_verl_here", lambda: False)
    toml = study(f'recipes = ["rubric-rl", "ruscarl"]\nfirst_port = {free_ports(2)}')
    (tmp_path / "study.toml").write_text(toml, encoding="utf-8")
    plan, text, _ = checked_plan(str(tmp_path / "study.toml"))
    write_plan(plan_files(plan, text), tmp_path / "cluster")
    it = Node(tmp_path / "cluster", tmp_path / "home")
    it.replace("ray", f'"{_RAY}"')
    it.replace("python", f'"{sys.executable}" "{Path(__file__).parent / "joins_ray.py"}" "{tmp_path}"')
    short, long = "gpt-rubric-rl-0", "gpt-ruscarl-0"
    more = {
        "HOME": str(tmp_path),
        "OPENAI_API_KEY": "a-key",
        "RUN_CPUS": "1",
        "RUN_STORE_BYTES": "100000000",
        "WAITS": long,
        "RAY_FOLDER": tempfile.mkdtemp(prefix="cr", dir="/tmp"),  # Ray's sockets need a short path
    }
    running = {name: it.start("train.sh", name, **more) for name in (long, short)}
    try:
        _wait((tmp_path / f"{long}.began").exists)
        assert running[short].wait(120) == 0, (it.folder / "logs" / f"train-{short}.log").read_text(encoding="utf-8")
        (tmp_path / "other-ended").touch()
        assert running[long].wait(60) == 0, (it.folder / "logs" / f"train-{long}.log").read_text(encoding="utf-8")
    finally:
        for process in running.values():
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        shutil.rmtree(more["RAY_FOLDER"], ignore_errors=True)
    found = [json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8")) for name in (short, long)]
    own = [[set(seen["gpus"].split(",")) for seen in one["seen"][1:]] for one in found]  # of two GPUs, and of one
    assert own == [[{"0", "1"}, {"0"}], [{"2", "3"}, {"2"}]]
    assert {seen["key"] for one in found for seen in one["seen"]} == {"a-key"}
    assert [one["gpus"] for one in found] == [2.0, 2.0]
    assert found[0]["address"] != found[1]["address"]


def _wait(for_what: Callable[[], bool], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not for_what():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.1)
