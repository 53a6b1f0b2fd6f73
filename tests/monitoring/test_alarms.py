"""Alarms go off beyond their threshold, with enough groups, and only about what is known."""

from __future__ import annotations

import pytest

from calipers.errors import ConfigError
from calipers.monitoring.alarms import DEFAULT_ALARMS, Alarm, raised_alarms


def test_it_goes_off_beyond_its_threshold_and_not_at_it():
    high, low = Alarm("judge/x", above=0.5, groups=1), Alarm("judge/x", below=-0.5, groups=1)
    for value, expected in ((0.5, []), (0.51, [high]), (-0.5, []), (-0.6, [low])):
        assert raised_alarms({"judge/x": value, "judge/groups": 1}, (high, low)) == expected


def test_few_groups_and_unknown_numbers_alarm_nobody():
    alarm = Alarm("judge/x", above=0.5, groups=10)
    assert not alarm.is_raised({"judge/x": 1.0, "judge/groups": 9})
    assert not alarm.is_raised({"judge/groups": 100})


def test_what_it_says_names_number_threshold_and_advice():
    alarm = Alarm("judge/x", above=0.25, advice="look there")
    assert alarm.message({"judge/x": 0.5}) == "judge/x is 0.5, above 0.25: look there"


def test_a_healthy_judge_sets_off_none_of_the_default_alarms():
    healthy = {
        "judge/groups": 256.0,
        "judge/order_flip_rate": 0.2,
        "judge/parse_failure_rate": 0.01,
        "judge/attack_rate": 0.0,
    }
    assert raised_alarms(healthy) == []
    assert {alarm.metric.startswith("judge/") for alarm in DEFAULT_ALARMS} == {True}


def test_an_alarm_without_one_threshold_is_refused():
    for wrong in ({}, {"above": 1.0, "below": 0.0}, {"above": float("nan")}):
        with pytest.raises(ConfigError, match="threshold"):
            Alarm("judge/x", **wrong)  # type: ignore[arg-type]
