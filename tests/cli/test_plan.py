"""``calipers plan server``: figures by formula, and what a simulation finds."""

from __future__ import annotations

import pytest

from calipers.cli import app
from calipers.errors import ConfigError


def planned(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, dict[str, str]]:
    code = app.main(["plan", "server", "--seconds", "20", *flags], standalone_mode=False) or 0
    lines = capsys.readouterr().out.splitlines()
    return int(code), {line[:24].strip(): line[24:].strip() for line in lines if line}


def test_what_a_load_needs_is_printed(capsys: pytest.CaptureFixture[str]):
    flags = ("--groups-per-minute", "1200", "--usd-in", "1", "--usd-out", "10", "--groups", "1e6")
    code, said = planned(capsys, *flags)
    assert code == 0
    assert said["rollouts a second"] == "160"
    assert said["judge: calls in flight"] == "60 on average; 120 slots"
    assert said["judge: GPUs"] == "9.0 at full load"
    assert said["1,000,000 groups"] == "0.6 days, 0.0 TB of ledger"
    assert said["simulated servers"].startswith("1 (the fewest")


def test_too_few_slots_are_said_and_the_exit_code_is_one(capsys: pytest.CaptureFixture[str]):
    code, said = planned(capsys, "--groups-per-minute", "1200", "--slots", "20")
    assert code == 1
    assert "more slots than 20" in str(said)
    assert "100%" in said["in use"]


def test_a_load_that_cannot_be_is_a_mistake_of_the_user():
    with pytest.raises(ConfigError, match="judge_p99 must be above"):
        app.main(["plan", "server", "--judge-seconds", "5", "--judge-p99", "4"], standalone_mode=False)
