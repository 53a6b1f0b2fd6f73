"""What judging does, counted: commits of the ledger. A count is the same on a busy machine, where a time is not."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest

import calipers
from calipers import pacing
from calipers.types import Completion, JudgeRequest
from groups import group_of


class Counting(sqlite3.Connection):
    """A connection that counts its commits."""

    commits: ClassVar[Counter[str]] = Counter()

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        self.commits[statement] += 1
        return super().execute(statement, *values)


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *values, **named: connect(*values, **named, factory=Counting))
    Counting.commits.clear()
    yield Counting.commits
    Counting.commits.clear()


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every turn of an event loop have time for about ten steps, however fast the machine is."""
    ticks = count(step=pacing.TURN / 10)
    monkeypatch.setattr(pacing, "perf_counter", lambda: next(ticks))


class Agreeable:
    endpoint, model = "local", "judge"

    async def complete(self, request: JudgeRequest) -> Completion:
        await asyncio.sleep(0)
        keys = ", ".join(f'"{key}": 50' for key in request.keys)
        return Completion(f'{{"scores": {{{keys}}}}}')


@pytest.mark.usefixtures("turns")
async def test_a_burst_of_small_groups_shares_its_commits(tmp_path: Path, commits: Counter[str]):
    """Without sharing over turns, these 128 groups take 130."""
    groups = [group_of({"a": f"yes {number}", "b": f"no {number}"}, group_id=f"g{number}") for number in range(128)]
    async with calipers.Judge(Agreeable(), ledger=tmp_path / "ledger.db") as judge:
        results = await asyncio.gather(*(judge.score_group(group) for group in groups))
    assert {result.status for result in results} == {"scored"}
    assert 2 <= commits["COMMIT"] <= 50


async def test_a_group_alone_does_not_wait_for_others_to_share_a_commit(tmp_path: Path, commits: Counter[str]):
    async with calipers.Judge(Agreeable(), ledger=tmp_path / "ledger.db") as judge:
        for number in range(3):
            before = commits["COMMIT"]
            await judge.score_group(group_of({"a": f"yes {number}", "b": "no"}))
            assert commits["COMMIT"] - before == 2  # the answer before it is used, and the result
