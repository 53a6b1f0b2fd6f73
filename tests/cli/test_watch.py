"""``calipers watch``: what it prints of a run, and what it refuses."""

import asyncio
import re
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import calipers as package
from calipers.cli.watch import run_lines
from calipers.ledger import Ledger
from calipers.monitoring.alarms import Alarm
from calipers.report.recorded import run_state
from calipers.testing import Flaky, SimulatedJudge
from command_line import Calipers, mismatches, write_rows
from groups import FOUR, QUALITY, group_of


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """The ledger of a run over 40 groups, a fifth of which the judge refuses; the result file's name is out.jsonl."""
    path = tmp_path / "out.jsonl.ledger.db"

    async def run() -> None:
        async with package.Judge(SimulatedJudge(QUALITY, Flaky(refused=0.2)), ledger=path) as judge:
            groups = [group_of(FOUR, group_id=f"g{n}", question=f"{n}?") for n in range(40)]
            async for _ in judge.score_groups(groups):
                pass

    asyncio.run(run())
    return path


def test_it_prints_the_counts_of_the_recorded_results(ledger: Path, calipers: Calipers):
    run = calipers("watch", "out.jsonl")  # stands for the ledger beside it
    assert "out.jsonl.ledger.db, run 1" in run.out
    with closing(sqlite3.connect(ledger)) as connection:
        rows = connection.execute("SELECT json_extract(result, '$.status') FROM groups WHERE run = 1")
        statuses = Counter(status for (status,) in rows)
    assert statuses["abstained"] > 0
    for status, count in statuses.items():
        assert re.search(rf"^groups +40: .*\b{count} {status}\b", run.out, re.MULTILINE)
    assert (run.code, "ALARM: judge/abstention_rate" in run.out) == (1, True)
    assert max(map(len, run.out.splitlines())) <= 80


def test_other_files_are_refused_with_the_remedy(tmp_path: Path, calipers: Calipers):
    write_rows(tmp_path / "groups.jsonl", [{"trajectories": []}])
    for name, statement in (("foreign.db", "CREATE TABLE t (x)"), ("newer.db", "PRAGMA user_version=99")):
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS other (x)")
            connection.execute(statement)
    Ledger(tmp_path / "empty.db").close()
    refusals = {
        "groups.jsonl": "is not a ledger",
        "foreign.db": "another program's database",
        "newer.db": "reads only format",
        "empty.db": "run",
        "none/none.db": "no such ledger",
        ".": "is not a ledger",
    }
    assert mismatches(calipers, [(("watch", name), words) for name, words in refusals.items()]) == []


def test_no_line_is_wider_than_80_columns_and_a_silent_run_may_have_ended(ledger: Path):
    state = run_state(str(ledger))
    alarm = Alarm("judge/order_flip_rate", above=0.35, advice="order decides as much as content " * 4)
    metrics = {"judge/order_flip_rate": 0.5, "judge/groups": 256.0, "judge/noise_sd": 0.1, "judge/reward_mean": -0.5}
    state.tally.reasons["failed: " + "x" * 200] = 1_000_000
    state = replace(state, metrics=metrics, alarms=[alarm], since_answer=252.0)
    lines = run_lines(state, "folder/" * 20 + "runs.db")
    assert max(map(len, lines)) <= 80
    assert any("noise_sd" in line and "0.100" in line for line in lines)
    assert any(line.startswith("ALARM: judge/order_flip_rate is 0.5, above 0.35") for line in lines)
    assert any(line.endswith("4 min 12 s ago, so the run may have ended") for line in lines)
