"""Once a limit of the run has ended a group's questions, the questions that are left are neither put nor recorded."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from calipers.ledger import read_ledger
from calipers.testing import SimulatedJudge
from groups import group_of
from replaying import replayed_lines, scored

MANY = {f"r{number}": f"{number}" for number in range(40)}


@pytest.mark.parametrize("protocol", ["pointwise", "pairwise"])
async def test_questions_left_after_a_spent_budget_end_together(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("calipers.judging.loop._AT_ONCE", 16)
    counts = []
    for budget in ({"calls": 16}, None):
        location = tmp_path / f"{budget}.db"
        judge = SimulatedJudge(dict.fromkeys(MANY, 0.5))
        lines = await scored(location, judge, [group_of(MANY)], protocol=protocol, budget=budget)
        assert await replayed_lines(location) == lines
        with read_ledger(location) as reader:
            counts += [
                reader.rows("SELECT count(*) FROM asks")[0][0],
                reader.rows("SELECT count(*) FROM answers")[0][0],
            ]
        assert budget is None or (
            "calls are spent; raise the budget" in lines[0] and "was not asked about it" not in lines[0]
        )
    whole = len(MANY) if protocol == "pointwise" else len(MANY) * (len(MANY) - 1) // 2
    assert counts == [32, 16, whole, whole]


async def test_a_spent_budget_costs_no_recorded_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    location = tmp_path / "runs.db"
    judge = SimulatedJudge(dict.fromkeys(MANY, 0.5), model="one")
    whole = await scored(location, judge, [group_of(MANY)], protocol="pointwise")
    with sqlite3.connect(location) as database:
        database.execute("DELETE FROM answers WHERE key IN (SELECT key FROM asks WHERE number IN (0, 1))")
    monkeypatch.setattr("calipers.judging.loop._AT_ONCE", 16)
    [line] = await scored(location, judge, [group_of(MANY)], protocol="pointwise", budget={"calls": 1})
    statuses = [[one["status"] for one in json.loads(text)["trajectories"]] for text in (*whole, line)]
    assert [states.count("scored") for states in statuses] == [40, 39]


async def test_a_budget_spent_before_the_follow_ups_does_not_pay_for_the_first_answers_again(tmp_path: Path):
    calls, lines = [], list[str]()
    for _ in range(2):  # each answer counts if the judge gives it again
        judge, limit = SimulatedJudge(dict.fromkeys(MANY, 0.05), model="one"), {"calls": len(MANY)}
        lines = await scored(tmp_path / "runs.db", judge, [group_of(MANY)], protocol="pointwise", budget=limit)
        calls.append(judge.calls)
    assert [one["score"] for one in json.loads(lines[0])["trajectories"]] == [0.05] * len(MANY)
    assert calls == [len(MANY), len(MANY)]
