"""``calipers plan judge``: the arithmetic is shown, and what to cut until it fits."""

from __future__ import annotations

import pytest

from calipers.cli import app
from calipers.errors import ConfigError


def planned(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str]:
    code = app.main(["plan", "judge", *flags], standalone_mode=False) or 0
    return int(code), capsys.readouterr().out


def test_every_line_shows_its_arithmetic(capsys: pytest.CaptureFixture[str]):
    code, out = planned(capsys, "--step-seconds", "90", "--groups", "128", "--orders", "2", "--samples", "2")
    assert code == 0
    assert "128 groups · 8 = 1,024" in out
    assert "128 groups · 2 orders · 2 samples · 1 of them = 512" in out
    assert "1,000 + 8 rollouts · 500 = 5,000" in out
    assert "5,000 · 1 / 20,000 + 400 / 2,000 = 0.450" in out
    assert "512 · 0.450 = 230.4" in out
    assert "230.4 / (90 s · 0.8), rounded up = 4" in out
    assert "230.4 / 4 = 57.6 s of queue" in out
    assert "a step of 90 s takes 147.6 s" in out
    assert "cut first" not in out


def test_too_few_gpus_say_what_to_cut_until_it_is_enough(capsys: pytest.CaptureFixture[str]):
    flags = ("--step-seconds", "90", "--groups", "128", "--orders", "2", "--samples", "2", "--gpus", "1")
    code, out = planned(capsys, *flags)
    assert code == 1
    assert "falls 140.4 s behind" in out
    cuts = out[out.index("cut first") :].splitlines()
    assert "samples to 1: no second opinion on the same order: 115.2" in cuts[1]
    assert cuts[-1].endswith("(enough)")
    assert sum("(enough)" in line for line in cuts) == 1
    code, out = planned(capsys, *flags, "--window", "1")
    assert "all of it is not enough" in out


def test_bad_input_is_a_mistake_of_the_user():
    with pytest.raises(ConfigError, match="the step takes only 60 s"):
        app.main(["plan", "judge", "--step-seconds", "60", "--window", "61"], standalone_mode=False)
