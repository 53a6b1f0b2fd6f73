"""Alarms go off beyond their threshold, with enough groups, and only about what is known; a rise is found soon."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.monitoring.alarms import Alarm, Rise, crossed_alarms
from calipers.monitoring.health import METRICS

BIAS = "judge/length_correlation"


def test_it_goes_off_beyond_its_threshold_and_not_at_it():
    high, low = Alarm(BIAS, above=0.5, groups=1), Alarm(BIAS, below=-0.5, groups=1)
    for value, expected in ((0.5, []), (0.51, [high]), (-0.5, []), (-0.6, [low])):
        assert crossed_alarms({BIAS: value, "judge/groups": 1}, (high, low)) == (expected, [])


def test_few_groups_and_unknown_numbers_alarm_nobody():
    alarm = Alarm(BIAS, above=0.5, groups=10)
    assert crossed_alarms({BIAS: 1.0, "judge/groups": 9}, (alarm,)) == ([], [alarm])
    assert crossed_alarms({"judge/groups": 100}, (alarm,)) == ([], [])


def first_alarm(values: list[float]) -> int | None:
    test = Rise()
    for number, value in enumerate(values):
        test = test.updated(value)
        if test.found:
            return number
    return None


def drawn(mean: float, count: int, seed: int) -> list[float]:
    generator = random.Random(seed)
    return [min(1.0, max(0.0, generator.gauss(mean, 0.25))) for _ in range(count)]


def test_a_rise_of_a_fifth_is_found_within_a_hundred_groups():
    found = [first_alarm(drawn(0.25, 100, seed) + drawn(0.45, 100, seed + 1000)) for seed in range(50)]
    late = [number - 100 for number in found if number is not None and number >= 100]
    assert len(late) >= 45
    assert sorted(late)[len(late) // 2] < 45


def test_false_alarms_are_rare():
    alarms = sum(first_alarm(drawn(0.25, 1000, seed)) is not None for seed in range(50))
    assert alarms <= 25  # within a thousand groups each


def test_a_fall_and_a_constant_are_no_rise():
    assert first_alarm([0.5] * 100 + [0.1] * 300) is None
    assert first_alarm([0.3] * 1000) is None


def test_what_cannot_work_is_refused():
    for above, below in ((None, None), (1.0, 0.0), (float("nan"), None)):
        with pytest.raises(ConfigError, match="threshold"):
            Alarm(BIAS, above=above, below=below)


def test_an_alarm_on_a_metric_that_no_monitor_has_names_the_nearest():
    near = {
        "tie_rate": "judge/tie_rate",
        "judge/failur_rate": "judge/failure_rate",
        "judge/attacks/layuot": "judge/attacks/layout",
        "loss": "health.md",
    }
    for name, words in near.items():
        with pytest.raises(ConfigError, match=words):
            Alarm(name, above=0.1)


def test_the_page_of_health_lists_the_metrics_that_an_alarm_may_be_on():
    page = (Path(calipers.__file__).parents[2] / "docs" / "health.md").read_text(encoding="utf-8")
    rows = "".join(re.findall(r"^\| `.+? \|", page.partition("### Alarms")[0], re.MULTILINE))
    names = {f"judge/{name}" for name in re.findall(r"`(\w+)`", rows.replace("`_p", "`latency_p"))}
    assert names == {name for name in METRICS if not name.startswith("judge/attacks/")}
    assert "`attacks/KIND`" in rows
