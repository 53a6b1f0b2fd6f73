"""A ledger that was new is not looked into for what it cannot hold, and others' answers are found all the same."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from asking import request
from calipers.errors import LedgerError
from calipers.interfaces import FullBackend
from calipers.ledger import Ledger, Recorder, Run
from calipers.ledger import sqlite as ledger_file
from calipers.types import Completion, JudgeRequest

SETTINGS = {"judges": [{"endpoint": "e", "model": "m"}]}


class Counting(FullBackend):
    endpoint, model = "e", "m"

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: JudgeRequest) -> Completion:
        self.calls += 1
        return Completion("an answer")


def _question(number: int) -> JudgeRequest:
    return replace(request(), messages=({"role": "user", "content": f"question {number}"},))


def _recorder(ledger: Ledger) -> Recorder:
    return Recorder(Run(ledger, SETTINGS, version="0"))


async def test_only_what_may_be_there_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ledger, judge = Ledger(tmp_path / "l.db"), Counting()
    recorder = _recorder(ledger)
    looked = 0
    rows = ledger.rows

    def counted(*query: object) -> object:
        nonlocal looked
        looked += 1
        return rows(*query)  # type: ignore[arg-type]

    monkeypatch.setattr(ledger, "rows", counted)
    for number in range(3):
        await recorder.answer(number, _question(number), judge)
    assert (judge.calls, looked) == (3, 0)
    for number in range(3):
        await recorder.answer(3 + number, _question(number), judge)
    assert (judge.calls, looked, recorder.reused) == (3, 3, 3)
    ledger.close()


async def test_a_ledger_opened_again_is_looked_into(tmp_path: Path):
    judge = Counting()
    for _ in range(2):
        ledger = Ledger(tmp_path / "l.db")
        await _recorder(ledger).answer(0, _question(0), judge)
        ledger.close()
    assert judge.calls == 1


async def test_what_another_process_answered_meanwhile_is_not_paid_again(tmp_path: Path):
    judge = Counting()
    ours, theirs = Ledger(tmp_path / "l.db"), Ledger(tmp_path / "l.db")  # both opened it when it was new
    recorder = _recorder(ours)
    await recorder.answer(0, _question(0), judge)
    await _recorder(theirs).answer(0, _question(1), judge)
    await asyncio.sleep(2 * ledger_file._CHECK_SECONDS)
    await recorder.answer(1, _question(1), judge)
    assert (judge.calls, recorder.reused) == (2, 1)
    ours.close()
    theirs.close()


async def test_more_than_can_be_remembered_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger_file, "_MOST_KEYS", 2)
    ledger, judge = Ledger(tmp_path / "l.db"), Counting()
    recorder = _recorder(ledger)
    for number in [0, 1, 2, 3, 0, 1, 2, 3]:
        await recorder.answer(number, _question(number), judge)
    assert judge.calls == 4
    ledger.close()


async def test_a_closed_ledger_is_told_before_anything_is_paid_for(tmp_path: Path):
    ledger, judge = Ledger(tmp_path / "l.db"), Counting()
    recorder = _recorder(ledger)
    await recorder.answer(0, _question(0), judge)
    ledger.close()
    with pytest.raises(LedgerError):
        await recorder.answer(1, _question(1), judge)
    assert judge.calls == 1
