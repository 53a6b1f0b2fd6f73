"""A judge's health as TRL logs it."""

from __future__ import annotations

import pytest

from calipers.trainers.trl import metrics as trl_metrics
from calipers.trainers.trl import rows as trl_rows
from calipers.types import GroupResult, TrajectoryResult, Usage

SCORED = TrajectoryResult("1", "scored", 0.5, 0.5, 0.1, "good")
ABSTAINED = TrajectoryResult("2", "abstained", reason="not in the reply")
FAILED = TrajectoryResult(
    "3", "failed", reason="it has no messages", extra={"metadata": {trl_rows.PROBLEM: "unreadable"}}
)
RESULTS = [
    GroupResult("a", "partial", (SCORED, ABSTAINED), judge_calls=3, usage=Usage(30, 6, 0, 0.5), attempts=5, unusable=1),
    GroupResult("b", "partial", (SCORED, FAILED), judge_calls=1, usage=Usage(10, 2, 0, 0.25), attempts=1),
]


def test_shares_of_rows_and_means_a_group():
    assert trl_metrics.judge_metrics(RESULTS, [None, None, 0.5, None]) == {
        "scored": 0.5,
        "abstained": 0.25,
        "failed": 0.25,
        "no_signal": 0.75,
        "calls": 2,
        "attempts": 3,
        "unusable": 0.5,
        "input_tokens": 20,
        "output_tokens": 4,
        "stderr": pytest.approx(0.1),
        "cost_usd": 0.375,
    }


def test_what_is_unknown_has_no_number():
    unknown = [GroupResult("a", "failed", (FAILED,)), GroupResult("b", "scored", (SCORED,), 1, Usage(10, 2))]
    assert "cost_usd" not in trl_metrics.judge_metrics(unknown, [None, 0.5])
    assert (
        trl_metrics.judge_metrics(unknown[:1], [None]).keys()
        == trl_metrics.judge_metrics(RESULTS, [0.5] * 4, same_names=True).keys()
    )


def test_every_process_can_be_made_to_log_the_same():
    alike = [trl_metrics.judge_metrics([result], [0.5] * 2, same_names=True).keys() for result in RESULTS]
    assert alike[0] == alike[1] == trl_metrics.judge_metrics(RESULTS, [None] * 4).keys() - {"stderr", "cost_usd"}


def test_each_row_is_told_what_the_judge_said_or_why_there_is_no_score():
    assert trl_metrics.row_explanations(RESULTS) == ["good", "not in the reply", "good", "unreadable"]
