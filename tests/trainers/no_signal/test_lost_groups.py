"""Lost groups in the log: one line each that names group, counts and reasons, and no flood of them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.trainers.no_signal.lost_groups import (
    LINES_PER_MINUTE,
    LostGroupLog,
    cause_of_loss,
    lost_group_line,
    reasons_by_member,
)
from calipers.types import GroupResult, GroupStatus, TrajectoryResult


def row(name: str, reason: str | None = "no answer came", *, reward: float | None = None) -> TrajectoryResult:
    return TrajectoryResult(name, "scored" if reward is not None else "failed", reward, reason=reason)


def result(*rows: TrajectoryResult, name: str = "g1", status: GroupStatus = "failed") -> GroupResult:
    return GroupResult(name, status, rows)


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_names_the_group_its_status_the_counts_and_each_reason_once() -> None:
    lost = result(row("1"), row("2"), row("3", "the judge left it out"), row("4", None, reward=0.5), status="partial")
    assert lost_group_line(lost, consequence="so it does not train") == (
        "partial group g1: 3 of 4 rollouts could not be scored, so it does not train: "
        "1, 2 failed: no answer came; 3 failed: the judge left it out"
    )


def test_of_many_members_the_number_is_told() -> None:
    rows = [row(str(number)) for number in range(16)]
    assert reasons_by_member(rows, 16) == "all failed: no answer came"
    assert reasons_by_member(rows, 20) == "16 of them failed: no answer came"
    several = [row(str(number), f"reason {number}") for number in range(5)]
    assert reasons_by_member(several, 5).endswith("2 failed: reason 2; 2 further reasons")


def test_losses_of_one_cause_are_one_cause_whoever_they_are_of() -> None:
    assert cause_of_loss([row("1"), row("2")]) == cause_of_loss([row("7")]) == "failed: no answer came"


@given(st.text(), st.text(), st.text())
def test_whatever_a_server_or_a_data_set_says_is_one_short_line(group: str, member: str, reason: str) -> None:
    line = lost_group_line(result(row(member, reason * 50), name=group))
    assert len(line) < 800
    assert not any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in line)
    line.encode()


def test_the_first_of_a_minute_are_told_in_full_and_the_rest_as_counts_when_it_is_over() -> None:
    told: list[str] = []
    clock = Clock()
    log = LostGroupLog(told.append, clock=clock)
    for number in range(300):
        clock.now = number * 0.1
        log.add(f"group {number}", why="timeout" if number % 3 else "no answer")
    assert told == [f"group {number}" for number in range(LINES_PER_MINUTE)]
    clock.now = 61.0
    log.add("group 300", why="timeout")
    assert told[LINES_PER_MINUTE:] == [
        "290 more groups lost trajectories: 194 × timeout; 96 × no answer",
        "group 300",
    ]


def test_what_was_counted_is_told_too_when_no_further_group_is_lost() -> None:
    told: list[str] = []
    clock = Clock()
    log = LostGroupLog(told.append, clock=clock)
    for number in range(12):
        log.add(f"group {number}", why="timeout")
    log.flush_if_due()
    assert len(told) == LINES_PER_MINUTE
    clock.now = 60.0
    log.flush_if_due()
    log.flush_if_due()
    assert told[LINES_PER_MINUTE:] == ["2 more groups lost trajectories: 2 × timeout"]


def test_the_end_of_a_run_tells_what_is_left() -> None:
    told: list[str] = []
    log = LostGroupLog(told.append, clock=Clock())
    for number in range(11):
        log.add(f"group {number}", why="timeout")
    log.close("the run ends")
    assert told[LINES_PER_MINUTE:] == ["1 more groups lost trajectories: 1 × timeout", "the run ends"]


@pytest.mark.parametrize("lost", [10, 1000, 10_000])
def test_a_minute_has_a_bounded_number_of_lines_and_reasons_however_many_groups_are_lost(lost: int) -> None:
    told: list[str] = []
    clock = Clock()
    log = LostGroupLog(told.append, clock=clock)
    for number in range(lost):
        log.add(f"group {number}", why=f"request {number} failed")
    clock.now = 60.0
    log.flush_if_due()
    assert len(told) <= LINES_PER_MINUTE + 1
    assert len(log._counts) == 0
    if lost > LINES_PER_MINUTE:
        assert told[-1].startswith(f"{lost - LINES_PER_MINUTE:d} more groups lost trajectories: ")
        assert len(told[-1]) < 300
