"""A tenth of the full fault and crash runs (``benchmarks/``), and ledgers on disks that are full, locked or damaged."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from groups import FOUR, group_of

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc and sets limits, as on Linux")
needs_benchmarks = pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="benchmarks/ is not here")


def benchmark(name: str, *options: str) -> None:
    """Run a benchmark that says by its exit code whether everything held."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *options], cwd=ROOT, capture_output=True, text=True, timeout=500,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@needs_benchmarks
@pytest.mark.timeout(520)
def test_no_fault_of_wire_or_reply_makes_a_wrong_reward_loses_a_group_or_leaks():
    benchmark("faults.faults", "--groups", "200", "--skip-revoked")


@needs_benchmarks
@pytest.mark.timeout(520)
def test_what_is_killed_at_a_random_moment_goes_on_to_the_same_bytes():
    benchmark("faults.crashes", "--kills", "5", "--groups", "40")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {name: f"{text} {'and so on ' * 300}" for name, text in FOUR.items()}
    lines = [json.dumps(group_of(texts, group_id=f"g{n}", question=f"{n}?").to_dict()) for n in range(60)]
    (tmp_path / "groups.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "calipers", "score", "groups.jsonl", *options]


def score(folder: Path, *options: str, most_bytes: int | None = None) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit then fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes or resource.RLIM_INFINITY,) * 2)

    return subprocess.run(
        command(*options), cwd=folder, capture_output=True, text=True, timeout=100, check=False,
        preexec_fn=limit if most_bytes else None,
    )  # fmt: skip


def one_sentence(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """It ended with exit code 2 and an error that names these, and no traceback."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for word in ("Error:", *words):
        assert word.lower() in done.stderr.lower()


def test_a_full_disk_stops_the_run_with_the_remedy_and_the_same_command_goes_on(folder: Path):
    whole = score(folder, "-o", "whole.jsonl")
    assert whole.returncode == 0, whole.stderr
    one_sentence(
        score(folder, "-o", "out.jsonl", most_bytes=200_000), "out.jsonl.ledger.db", "run the same command again"
    )
    again = score(folder, "-o", "out.jsonl")
    assert again.returncode == 0
    assert (folder / "out.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


@pytest.mark.parametrize(("place", "words"), [(0, "is no ledger"), (9000, "Move it aside")])
def test_a_damaged_ledger_is_said_to_be_one_and_is_left_as_it_is(folder: Path, place: int, words: str):
    assert score(folder, "-o", "out.jsonl").returncode == 0
    path = folder / "out.jsonl.ledger.db"
    damaged = bytearray(path.read_bytes())
    damaged[place : place + 30_000] = bytes(number * 37 % 251 for number in range(30_000))
    path.write_bytes(damaged)
    one_sentence(score(folder, "-o", "out.jsonl"), "out.jsonl.ledger.db", words)
    assert path.read_bytes()[:100] == damaged[:100]


def test_a_ledger_that_may_not_be_written_is_refused_before_anything_is_asked(folder: Path):
    one_sentence(
        score(folder, "-o", "out.jsonl", "--ledger", "/proc/nowhere.db"), "/proc/nowhere.db", "name another ledger"
    )
    if os.geteuid() == 0:
        return  # root may write anything that exists
    assert score(folder, "-o", "out.jsonl").returncode == 0
    (folder / "out.jsonl.ledger.db").chmod(0o444)
    one_sentence(score(folder, "-o", "out.jsonl"), "may write there")


def test_two_runs_on_one_ledger_at_a_time_both_end_well(folder: Path):
    running = [
        subprocess.Popen(command("-o", f"{name}.jsonl", "--ledger", "shared.db"), cwd=folder, stderr=subprocess.DEVNULL)
        for name in "ab"
    ]
    assert [process.wait(100) for process in running] == [0, 0]
    assert (folder / "a.jsonl").read_bytes() == (folder / "b.jsonl").read_bytes()
    connection = sqlite3.connect(folder / "shared.db")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("SELECT count(*) FROM groups").fetchall() == [(120,)]
    assert connection.execute("SELECT count(*) FROM answers").fetchall() == [(60,)]
    connection.close()
