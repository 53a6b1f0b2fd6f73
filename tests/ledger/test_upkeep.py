"""Ledgers are listed, shown, exported, verified and backed up, in either database; addresses of those in Postgres."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import calipers
import zstd_codec as zstd
from calipers.cli import app
from calipers.errors import CalipersError, LedgerError
from calipers.judging.judge import Judge
from calipers.ledger import Recorder, Run, open_ledger, read_ledger
from calipers.ledger.contents import prune_ledger, verify_ledger
from calipers.ledger.database import TABLES, checksum
from calipers.ledger.opening import Address
from calipers.testing import Flaky, Noise, SimulatedJudge
from groups import FOUR, QUALITY, group_of
from replaying import scored
from reported import data_of, details_in, write_lines
from servers.postgres_server import PASSWORD, PostgresServer

GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"{n} + {n}?") for n in range(4)]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), standalone_mode=False)


def done(*arguments: str) -> str:
    result = call(*arguments)
    assert (result.exception, result.return_value) == (None, 0), result.output
    return result.output


def score(location: str, *, count: int = 4) -> None:
    judge = SimulatedJudge(QUALITY, Noise(0.1), Flaky.evenly(0.2))
    asyncio.run(scored(location, judge, GROUPS[:count]))


def replay(location: str, run: int, out: Path) -> bytes:
    call("replay", location, "--run", str(run), "-o", str(out))
    return out.read_bytes()


ROWS = {
    "answers": ("k", "e", "m", "?", "\ud800\0␀é", "stop", "", None, 2**53, 0, 0, 3, 1, 1, "now", None, None),
    "groups": (1, 5, "g", zstd.compress(b"{}"), "{}"),
    "asks": (1, 5, 0, "", "first", "failed", None, "{}"),
    "failed_calls": (1, 5, 0, 0, "k", "server", True, 1, 2, 3, -0.0, "now"),
    "learned": ("e", "m", "{}"),
}
"""A row of each table, with values that a database returns in another form: half a surrogate pair, whole costs."""


async def test_every_changed_value_is_named_with_its_row(location: str):
    unlike = []
    with open_ledger(location) as ledger:
        settings = calipers.Judge("embedded").settings.to_dict()
        Recorder(Run(ledger, settings, version="0")).change_settings({**settings, "windows": [4096]})
        for table in TABLES[1:]:
            row = ROWS[table.name]
            for column, old in (("", None), *zip(table.columns, row, strict=True)):
                ledger.put(table.insert_or_replace, row)
                await ledger.commit()
                if changed := column not in {"", "run"}:  # Postgres itself looks after a run's number
                    value = b"\xff" if column in {"request", "source"} else 7 if isinstance(old, int | float) else "[]"
                    ledger.put(f"UPDATE {table.name} SET {column} = ?", (value,))  # noqa: S608 - ours
                    await ledger.commit()
                named = [problem.partition(",")[0] for problem in verify_ledger(ledger)]
                if named != [table.name] * changed:
                    unlike.append((table.name, column, named))
                ledger.put(f"DELETE FROM {table.name}", ())  # noqa: S608 - ours
                await ledger.commit()
    assert unlike == []
    assert checksum(["{}"]) != checksum([b"{}"])  # a change before a text can turn it into bytes


def test_a_sound_ledger_is_sound_and_damage_is_named(location: str):
    score(location)
    assert "all can be read" in done("ledger", "verify", location)
    with open_ledger(location) as ledger:
        ledger.put("UPDATE groups SET result = replace(result, '0', '1') WHERE position = 1", ())  # still valid JSON
        ledger.put("DELETE FROM answers WHERE key IN (SELECT key FROM asks WHERE position = 2 AND number = 0)", ())
        ledger.put("UPDATE runs SET settings = '{}'", ())
    found = call("ledger", "verify", location)
    assert found.return_value == 1
    assert "groups, run 1, position 1: " in found.output
    assert "group 2: the answer to question 0 is missing" in found.output
    assert "runs, id 1: " in found.output
    assert len(found.output.splitlines()) == 4


def test_pruning_removes_old_runs_and_only_the_answers_that_nobody_uses(location: str, tmp_path: Path):
    def counted(*tables: str) -> list[int]:
        with read_ledger(location) as reader:
            return [reader.rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables]  # noqa: S608 - ours

    score(location)
    score(location, count=2)  # the same questions
    kept = replay(location, 2, tmp_path / "before.jsonl")
    runs, answers = counted("runs", "answers")
    said = done("ledger", "prune", location, "--keep", "1", "--dry-run")
    assert "1 run (1) and" in said
    assert "would be removed" in said
    assert counted("runs", "answers") == [runs, answers]
    assert "1 run (1) and" in done("ledger", "prune", location, "--keep", "1")
    assert replay(location, 2, tmp_path / "after.jsonl") == kept
    assert counted("runs") == [1]
    assert 0 < counted("answers")[0] < answers
    assert "all can be read" in done("ledger", "verify", location)
    assert "0 runs and 0 answers removed" in done("ledger", "prune", location, "--keep", "1")
    assert "1 run (2)" in done("ledger", "prune", location, "--keep", "0")
    assert counted("answers", "groups") == [0, 0]
    assert call("ledger", "prune", location).return_value != 0  # without saying what


async def test_a_run_that_was_pruned_while_it_goes_on_ends_and_leaves_nothing(location: str):
    async with Judge(SimulatedJudge(QUALITY), ledger=location) as judge:
        await judge.score_group(GROUPS[0])
        await scored(location, SimulatedJudge(QUALITY), GROUPS[1:2])
        with open_ledger(location) as ledger:
            assert (await prune_ledger(ledger, keep=1))[0] == (1,)
        with pytest.raises(LedgerError, match=r"(?i)foreign key"):
            await judge.score_group(GROUPS[2])
    with read_ledger(location) as reader:
        assert verify_ledger(reader) == []


def test_a_ledger_is_exported(location: str, tmp_path: Path):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    score(location)
    out = tmp_path / "out.parquet"
    assert "questions" in done("ledger", "export", location, "-o", str(out))
    rows = pq.read_table(out).to_pylist()
    assert {row["group_id"] for row in rows} == {"g0", "g1", "g2", "g3"}
    answered = [row for row in rows if row["text"] is not None]
    assert len(answered) >= 3
    assert all("scores" in row["text"] and row["input_tokens"] > 0 for row in answered)
    assert json.loads(rows[0]["source"])["group_id"] == rows[0]["group_id"]
    (tmp_path / "notes.txt").write_text("mine")
    missing = call("ledger", "export", location, "-o", str(tmp_path / "none.parquet"), "--run", "77")
    assert isinstance(missing.exception, CalipersError)
    assert not list(tmp_path.glob("none.parquet*")), "a failure leaves no file that blocks the next command"
    refused = call("ledger", "export", location, "-o", str(tmp_path / "notes.txt"))
    assert isinstance(refused.exception, CalipersError)


def test_a_ledger_is_shown_wherever_it_is_and_its_password_nowhere(location: str, tmp_path: Path):
    groups = write_lines(tmp_path / "groups.jsonl", [group_of(FOUR, group_id="one").to_dict()])
    out, page = tmp_path / "out.jsonl", tmp_path / "report.html"
    outputs = [
        CliRunner().invoke(app, [str(part) for part in command]).output
        for command in (
            ("score", groups, "-o", out, "--ledger", location, "--orders", 2), ("report", location, "-o", page),
            ("show", location, "one"), ("watch", location),
        )
    ]  # fmt: skip
    assert "I cannot add numbers" in outputs[2]
    assert "1 scored" in outputs[3]
    assert [(one["id"], len(one["questions"])) for one in details_in(page)] == [("one", 2)]
    with read_ledger(location) as reader:
        stored = [reader.rows(f"SELECT * FROM {table}") for table in ("runs", "groups", "asks", "answers")]  # noqa: S608 - ours
    for text in (*outputs, out.read_text(), str(data_of(page)), str(stored)):
        assert PASSWORD not in text
        assert "secret%40word" not in text


@pytest.mark.heavy
def test_a_dump_of_postgres_restores_the_ledger(postgres: PostgresServer, postgres_url: str, tmp_path: Path):
    score(postgres_url)
    wanted = replay(postgres_url, 1, tmp_path / "a.jsonl")
    schema = Address.of(postgres_url).schema
    dump = postgres.run("pg_dump", "-Fc", "-n", schema).stdout
    postgres.run("psql", "-c", f"DROP SCHEMA {schema} CASCADE")
    with pytest.raises(LedgerError, match="no such ledger"):
        open_ledger(postgres_url, create=False)
    postgres.run("pg_restore", "-d", "postgres", input=dump)
    assert replay(postgres_url, 1, tmp_path / "b.jsonl") == wanted
    score(postgres_url, count=1)
    with read_ledger(postgres_url) as reader:
        assert reader.rows("SELECT id FROM runs ORDER BY id") == [(1,), (2,)]


# --- addresses in Postgres, without a server --------------------------------------------------------------------------


def test_an_address_is_named_without_its_secrets():
    secrets = ("p4ss", "p4ss%40word", "a%2Fb%23c")
    for secret in secrets:
        found = Address.of(f"postgresql://me:{secret}@db.example:5433/judges?schema=team_a&sslmode=require")
        assert found.name == "postgresql://me@db.example:5433/judges?schema=team_a"
        assert found.schema == "team_a"
        assert found.dsn == f"postgresql://me:{secret}@db.example:5433/judges?sslmode=require"
        assert secret not in repr(found)
    assert Address.of("postgres://db/judges").name == "postgresql://db/judges"
    assert Address.of("postgresql:///judges?host=/run/postgresql&password=p4ss").name == "postgresql:///judges"
    assert Address.of("postgresql://a,b:5433/judges").name == "postgresql://a,b:5433/judges"
    assert Address.of("postgresql://me@[::1]:5433/judges").name == "postgresql://me@[::1]:5433/judges"


def test_an_address_that_cannot_be_read_is_not_repeated():
    for location in (
        "postgresql://me:p4ss/word@db/judges",
        "postgresql://me:p4ss#word@db/judges",
        "postgresql://db:p4ss/judges",
        "postgresql://me:p4ss@db/judges?schema=p4ss; DROP",
    ):
        with pytest.raises(LedgerError) as told:
            open_ledger(location)
        assert "p4ss" not in str(told.value).replace("schema=p4ss%3B%20DROP", "")


def test_without_the_driver_it_is_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for opened in (open_ledger, read_ledger):
        with pytest.raises(LedgerError, match=r"me@db/judges: .* pip install 'calipers\[postgres\]'"):
            opened("postgresql://me:p4ss@db/judges")
