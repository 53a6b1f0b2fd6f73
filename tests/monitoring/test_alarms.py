"""Alarms go off beyond their threshold, with enough groups, and only about what is known; a rise is found soon."""

from __future__ import annotations

import random

import pytest

from calipers.errors import ConfigError
from calipers.monitoring.alarms import Alarm, Rise, raised_alarms


def test_it_goes_off_beyond_its_threshold_and_not_at_it():
    high, low = Alarm("judge/x", above=0.5, groups=1), Alarm("judge/x", below=-0.5, groups=1)
    for value, expected in ((0.5, []), (0.51, [high]), (-0.5, []), (-0.6, [low])):
        assert raised_alarms({"judge/x": value, "judge/groups": 1}, (high, low)) == expected


def test_few_groups_and_unknown_numbers_alarm_nobody():
    alarm = Alarm("judge/x", above=0.5, groups=10)
    assert not alarm.is_raised({"judge/x": 1.0, "judge/groups": 9})
    assert not alarm.is_raised({"judge/groups": 100})


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
    for wrong in ({}, {"above": 1.0, "below": 0.0}, {"above": float("nan")}):
        with pytest.raises(ConfigError, match="threshold"):
            Alarm("judge/x", **wrong)  # type: ignore[arg-type]
