"""Progress is told at any pace, and time left is reckoned from what was done of late."""

from __future__ import annotations

import io
import re
from dataclasses import replace

from rich.console import Console

from calipers.cli.progress import ProgressLine, Report, pace_text
from calipers.types import GroupResult, TrajectoryGroup, TrajectoryResult, Usage

GROUP = TrajectoryGroup("g", ())
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
    assert "1 of 10 groups, 0 tokens, 2.4/min, 3 min 45 s left" in said
    assert "3 of 10 groups" in said
    assert "7 min 00 s left" in said


def test_quick_groups_are_told_now_and_then_and_at_the_rate_of_late() -> None:
    said = told(*[1.0] * 30, total=60)
    assert said.count(" of 60 groups") == 3
    assert "30 of 60 groups, 0 tokens, 1.0/s, 30.0 s left" in said


def test_groups_that_finish_are_counted_though_one_before_them_has_not() -> None:
    clock, out = Clock(), io.StringIO()
    report = Report(Console(file=out, width=200), total=80, clock=clock)
    for _ in range(36):
        clock.now += 1.0
        report.seen(GROUP, ONE)
    clock.now += 1.0
    report.add(ONE)
    assert "30 of 80 groups, 0 tokens, 1.0/s, 50.0 s left" in out.getvalue()
    report.summary()
    assert "groups         1: 1 scored" in out.getvalue()


def test_what_is_spent_and_what_has_no_score_are_part_of_the_line() -> None:
    clock, out = Clock(), io.StringIO()
    budget = {"usd": 5.0, "tokens": 2e6}
    report = Report(Console(file=out, width=200), total=None, budget=budget, clock=clock)
    lost = TrajectoryResult("a", "failed", None, None, reason="timeout"), TrajectoryResult("b", "abstained", None, None)
    clock.now += 11.0
    report.seen(GROUP, GroupResult("g", "failed", lost, judge_calls=1, attempts=1, usage=Usage(900, 100, 0, 0.125)))
    assert (
        out.getvalue()
        == "1 groups, unscored: 1 abstained + 1 failed, 1,000 of 2,000,000 tokens, $0.12 of $5.00, 5.5/min\n"
    )


def test_a_slow_pace_is_told_by_the_minute() -> None:
    assert [pace_text(rate) for rate in (1234.0, 4.71, 0.5, 1 / 22, 1 / 400)] == [
        "1,234.0/s", "4.7/s", "0.5/s", "2.7/min", "0.15/min",
    ]  # fmt: skip
    assert "time           1 min 00 s, 2 groups/min\n" in told(25.0, 35.0)
    assert "time           1.0 s, 2.0 groups/s\n" in told(0.5, 0.5)


def test_without_a_total_nothing_is_said_of_time_left() -> None:
    assert "left" not in told(25.0, 60.0, total=None)


def test_the_line_is_whole_in_a_narrow_terminal() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True)
    said = "12,345 of 20,000 groups, unscored: 12 abstained + 34 failed, 1,234,567 tokens, $12.34 of $50.00"
    with ProgressLine(console, total=20_000) as line:
        line.move(12_345, said)
    shown = " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()).split())
    assert said in shown
    assert re.search(r"\$50\.00, [\d,.]+/s, .+ left", shown)
    assert "…" not in shown


def test_in_a_narrow_terminal_the_rate_goes_before_the_line_does_not_fit() -> None:
    """A judge's name of 20 characters leaves room for the groups, the tokens and the time left."""
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, width=80, force_terminal=True)
    said = "a-name-of-twenty-cha: 1,200 of 3,000 groups, 123,456 tokens"
    with ProgressLine(console, total=3_000, clock=clock) as line:
        line.move(0, said)
        clock.now += 100.0
        line.move(1_200, said)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
    (last,) = {part.strip() for part in re.split(r"[\r\n]", shown) if "1,200 of" in part and " left" in part}
    assert last.endswith(f"{said}, 2 min 30 s left")
    assert len(last) <= 80


def test_notes_that_are_not_listed_are_counted_and_said_to_be_in_the_results() -> None:
    out = io.StringIO()
    report = Report(Console(file=out, width=200), total=1)
    report.add(replace(ONE, warnings=("one", "two", "three", "four", "five")))
    report.summary(out="scored.jsonl")
    assert out.getvalue().count("  note (1 group): ") == 3
    assert "  +2 other notes, in the warnings of scored.jsonl\n" in out.getvalue()
