"""What a trainer's log shows of a cascade."""

from typing import Any

import pytest

from calipers.monitoring.alarms import raised_alarms
from calipers.monitoring.cascade import cascade_metrics
from calipers.monitoring.health import health
from calipers.types import GroupResult


def result(why: str, error: float | None = None, threshold: float | None = 0.2) -> GroupResult:
    route: dict[str, Any] = {"slot": 0, "why": why, "error": error, "thresholds": [threshold]}
    return GroupResult("g", "scored", (), extra={"cascade": route})


def test_who_scored_the_groups_and_how_far_checks_differ():
    found = cascade_metrics([*[result("sure")] * 6, result("unusable"), *[result("check", 0.1)] * 2, result("unsure")])
    assert found["cascade_sure_rate"] == 0.6
    assert found["cascade_unusable_rate"] == 0.1
    assert found["cascade_breach_rate"] == 0
    assert found["cascade_threshold"] == pytest.approx(0.2)
    assert (found["cascade_checks"], found["cascade_error"]) == (2, 0.1)
    assert found["cascade_error_low"] <= 0.1 <= found["cascade_error_high"]  # type: ignore[operator]  # known here


def test_without_a_cascade_or_checks_nothing_is_said_about_them():
    assert cascade_metrics([GroupResult("g", "scored", ()), GroupResult("h", "scored", (), extra={"cascade": 3})]) == {}
    assert cascade_metrics([result("sure")])["cascade_error"] is None
    assert "judge/cascade_error" not in health([result("sure")])


def test_a_breach_raises_an_alarm_at_once_and_few_sure_groups_do_so_later():
    messages = [alarm.metric for alarm in raised_alarms(health([result("breach", threshold=None)]))]
    assert messages == ["judge/cascade_breach_rate"]
    assert not raised_alarms(health([*[result("sure")] * 20, *[result("unsure")] * 20]))
    few = [alarm.metric for alarm in raised_alarms(health([*[result("sure")] * 5, *[result("unsure")] * 45]))]
    assert few == ["judge/cascade_sure_rate"]
