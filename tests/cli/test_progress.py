"""Progress is told at any pace, and time left is reckoned from what was done of late."""

from __future__ import annotations

import io

from rich.console import Console

from calipers.cli.progress import Report
from calipers.types import GroupResult, TrajectoryResult

ONE = GroupResult("g", "scored", (TrajectoryResult("a", "scored", 1.0, 1.0),), judge_calls=1)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def told(*seconds: float, total: int | None = 10) -> str:
    """What is printed where a group ends after each of these seconds."""
    clock, out = Clock(), io.StringIO()
    report = Report(Console(file=out, width=200), total=total, clock=clock)
    for wait in seconds:
        clock.now += wait
        report.add(ONE)
    report.summary()
    return out.getvalue()


def test_groups_that_take_longer_than_is_looked_back_on_are_no_crash() -> None:
    said = told(25.0, 60.0, 60.0)
    assert "1 of 10 groups, 0.0/s, 0 unscored, 0 tokens, 3 min 45 s left" in said
    assert "3 of 10 groups" in said
    assert "7 min 00 s left" in said


def test_quick_groups_are_told_now_and_then_and_at_the_rate_of_late() -> None:
    said = told(*[1.0] * 30, total=60)
    assert said.count(" of 60 groups") == 3
    assert "30 of 60 groups, 1.0/s, 0 unscored, 0 tokens, 30.0 s left" in said


def test_without_a_total_nothing_is_said_of_time_left() -> None:
    assert "left" not in told(25.0, 60.0, total=None)
