"""The server's chaos run, small: replicas, judge and database are killed; no reward is wrong, lost or paid twice."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks.faults.chaos_parts import Kill, asked_again

from servers.postgres_server import programs

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.heavy
@pytest.mark.parametrize(
    "options",
    [["--groups", "100", "--kills", "5"], ["--groups", "60", "--kills", "3", "--sqlite"]],
    ids=["Postgres", "SQLite"],
)
def test_what_is_killed_at_random_costs_no_reward(options: list[str]) -> None:
    # The kills are bounded, because a machine that is too busy to start a server between two of them would never end.
    # They begin early, because a machine with nothing else to do has all rewards in three seconds.
    if "--sqlite" not in options and (find_spec("asyncpg") is None or programs() is None):
        pytest.skip("asyncpg or a Postgres server is not installed: pip install 'calipers[postgres]', postgresql")
    command = [sys.executable, "-m", "benchmarks.faults.server", "--every", "0.5", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kills" in done.stdout
    assert "none" not in done.stdout, done.stdout


def test_a_question_asked_twice_is_excused_only_by_a_kill_that_found_it_in_flight() -> None:
    twice = ["asked 1 7 10.0", "answered 1 7 10.3", "asked 2 7 20.0", "answered 2 7 20.3"]
    assert asked_again(twice, []).unexplained
    assert asked_again(twice, [Kill("judge", 12.0, 13.0)]).unexplained  # it had been answered and recorded by then
    assert asked_again(twice, [Kill("replica", 10.9, 11.5)]).in_flight == 1  # it may not have been recorded
    assert asked_again(twice, [Kill("replica", 30.0, 31.0)]).unexplained
    lost = [twice[0], *twice[2:]]
    assert asked_again(lost, [Kill("judge", 12.0, 13.0)]).in_flight == 1
    assert asked_again(lost, []).unexplained
    other = ["asked 1 7 10.0", "asked 2 8 10.0"]
    assert (asked_again(other, []).asked, asked_again(other, []).unexplained) == (2, [])
