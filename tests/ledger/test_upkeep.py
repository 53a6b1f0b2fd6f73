"""Ledgers are listed, exported, pruned, verified, moved and taken back to older formats, in either database."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from calipers.cli import app
from calipers.errors import CalipersError, LedgerError
from calipers.judging.judge import Judge
from calipers.ledger import LedgerReader, open_ledger
from calipers.ledger.database import FORMAT
from calipers.testing import Flaky, Noise, SimulatedJudge
from groups import FOUR, QUALITY, group_of

GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"{n} + {n}?") for n in range(4)]
FORMATS = Path(__file__).parent.parent / "fixtures" / "ledgers"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), standalone_mode=False)


def done(*arguments: str) -> str:
    result = call(*arguments)
    assert (result.exception, result.return_value) == (None, 0), result.output
    return result.output


def score(location: str, *, count: int = 4, seed: int = 0, orders: int = 1) -> None:
    async def scored() -> None:
        judge = SimulatedJudge(QUALITY, Noise(0.1), Flaky.evenly(0.2), seed=seed)
        async with Judge(judge, ledger=location, orders=orders) as own:
            for group in GROUPS[:count]:
                await own.score_group(group)

    asyncio.run(scored())


def replay(location: str, run: int, out: Path) -> bytes:
    call("replay", location, "--run", str(run), "-o", str(out))
    return out.read_bytes()


def test_runs_are_listed_and_shown(location: str) -> None:
    score(location)
    score(location, count=2, seed=1, orders=2)
    table = done("ledger", "list", location)
    assert [line.split()[0] for line in table.splitlines()] == ["run", "1", "2"]
    rows = [json.loads(line) for line in done("ledger", "list", location, "--json").splitlines()]
    assert [(row["run"], row["groups"]) for row in rows] == [(1, 4), (2, 2)]
    shown = json.loads(done("ledger", "show", location, "--run", "1"))
    assert sum(shown["outcomes"].values()) >= 4
    assert shown["usage"]["input_tokens"] > 0
    assert shown["settings"]["orders"] == 1
    assert json.loads(done("ledger", "show", location))["run"] == 2


def test_a_sound_ledger_is_sound_and_damage_is_named(location: str) -> None:
    score(location)
    assert "sound" in done("ledger", "verify", location)
    with open_ledger(location) as ledger:
        ledger.put("UPDATE groups SET result = ? WHERE position = 1", ("[1, 2",))
        ledger.put("DELETE FROM answers WHERE key IN (SELECT key FROM asks WHERE position = 2 AND number = 0)", ())
        ledger.put("UPDATE runs SET settings = '{}'", ())
    found = call("ledger", "verify", location)
    assert found.return_value == 1
    assert "groups, run 1, position 1: result cannot be read" in found.output
    assert "run 1: the settings of a run in the ledger cannot be read" in found.output
    assert "damaged" in found.output


def test_pruning_removes_old_runs_and_only_the_answers_that_nobody_uses(location: str, tmp_path: Path) -> None:
    score(location)
    score(location, count=2, seed=0)  # the same questions
    kept = replay(location, 2, tmp_path / "before.jsonl")
    with LedgerReader(location) as reader:
        [(answers,)] = reader.rows("SELECT count(*) FROM answers")
    said = done("ledger", "prune", location, "--keep", "1", "--dry-run")
    assert "1 run (1) and" in said
    assert "would be removed" in said
    with LedgerReader(location) as reader:
        assert reader.rows("SELECT count(*) FROM runs") == [(2,)]
    said = done("ledger", "prune", location, "--keep", "1")
    assert "1 run (1) and" in said
    assert replay(location, 2, tmp_path / "after.jsonl") == kept
    with LedgerReader(location) as reader:
        assert reader.rows("SELECT id FROM runs") == [(2,)]
        assert 0 < reader.rows("SELECT count(*) FROM answers")[0][0] < answers
    assert "sound" in done("ledger", "verify", location)
    assert "0 runs and 0 answers removed" in done("ledger", "prune", location, "--before", "2020-01-01")
    assert "1 run (2)" in done("ledger", "prune", location, "--before", "2120-01-01T00:00")
    with LedgerReader(location) as reader:
        assert reader.rows("SELECT count(*) FROM answers") == reader.rows("SELECT count(*) FROM groups") == [(0,)]


@pytest.mark.parametrize("arguments", [(), ("--before", "yesterday"), ("--keep", "-1")])
def test_pruning_without_saying_what_is_refused(location: str, arguments: tuple[str, ...]) -> None:
    score(location, count=1)
    result = call("ledger", "prune", location, *arguments)
    assert isinstance(result.exception, CalipersError | click.ClickException)
    with LedgerReader(location) as reader:
        assert reader.rows("SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.heavy
def test_a_ledger_moves_there_and_back_with_byte_equal_replays(postgres_url: str, tmp_path: Path) -> None:
    first, back = str(tmp_path / "first.db"), str(tmp_path / "back.db")
    score(first)
    score(first, seed=3, orders=3)
    wanted = [replay(first, run, tmp_path / "a.jsonl") for run in (1, 2)]
    done("ledger", "move", first, postgres_url)
    done("ledger", "move", postgres_url, back)
    assert [replay(postgres_url, run, tmp_path / "b.jsonl") for run in (1, 2)] == wanted
    assert [replay(back, run, tmp_path / "c.jsonl") for run in (1, 2)] == wanted
    with closing(sqlite3.connect(first)) as one, closing(sqlite3.connect(back)) as two:
        assert list(one.iterdump()) == list(two.iterdump())
    with pytest.raises(CalipersError, match="is not empty"):
        raise call("ledger", "move", first, postgres_url).exception or AssertionError
    score(postgres_url, count=1)
    with LedgerReader(postgres_url) as reader:
        assert reader.rows("SELECT id FROM runs ORDER BY id") == [(1,), (2,), (3,)]


@pytest.mark.heavy
@pytest.mark.parametrize("ledger", sorted(FORMATS.glob("*/*.sql")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_ledgers_of_earlier_versions_move_to_postgres(ledger: Path, postgres_url: str, tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(ledger.read_text(encoding="utf-8"))
    done("ledger", "move", str(old), postgres_url)
    for path in ledger.parent.glob(f"{ledger.stem}-*.jsonl"):
        run = int(path.stem.rpartition("-")[2])
        assert replay(postgres_url, run, tmp_path / "a.jsonl") == replay(str(old), run, tmp_path / "b.jsonl")


def test_a_ledger_is_exported_with_and_without_texts(location: str, tmp_path: Path) -> None:
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
    done("ledger", "export", location, "-o", str(out), "--redact")
    redacted = pq.read_table(out)
    assert {"text", "request", "source", "reason", "group_id"}.isdisjoint(redacted.column_names)
    assert b"cannot add" not in out.read_bytes()
    (tmp_path / "notes.txt").write_text("mine")
    refused = call("ledger", "export", location, "-o", str(tmp_path / "notes.txt"))
    assert isinstance(refused.exception, CalipersError)


def rewards(results: bytes) -> list[float | None]:
    return [one["reward"] for line in results.splitlines() for one in json.loads(line)["trajectories"]]


def _downgraded(path: Path, to: int) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (to,)
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


@pytest.mark.parametrize("to", range(1, FORMAT))
def test_a_ledger_goes_back_to_every_older_format_and_forward_again(tmp_path: Path, to: int) -> None:
    path = tmp_path / "l.db"
    score(str(path))
    wanted = replay(str(path), 1, tmp_path / "a.jsonl")
    assert f"has format {to} now" in done("ledger", "rollback", str(path), "--to", str(to))
    tables = _downgraded(path, to)
    since = {"odds": 2, "failed_calls": 3, "failed_before": 3, "shared_runs": 4}
    assert {name for name, number in since.items() if number <= to} == tables & since.keys()
    assert [json.loads(line)["run"] for line in done("ledger", "list", str(path), "--json").splitlines()] == [1]
    again = replay(str(path), 1, tmp_path / "b.jsonl")
    assert rewards(again) == rewards(wanted)
    score(str(path), count=1)
    assert _downgraded(path, FORMAT) >= since.keys()
    if to >= 3:
        assert again == wanted


@pytest.mark.parametrize("to", [0, FORMAT + 1])
def test_a_format_that_never_was_is_refused(location: str, to: int) -> None:
    open_ledger(location).close()
    with open_ledger(location) as ledger, pytest.raises(LedgerError, match="cannot be taken back"):
        ledger.roll_back(to)


@pytest.mark.heavy
async def test_the_tables_in_postgres_migrate_and_roll_back(postgres_url: str) -> None:
    asyncpg = pytest.importorskip("asyncpg", reason="asyncpg is not installed: pip install 'calipers[postgres]'")
    from calipers.ledger.postgres.address import Address  # noqa: PLC0415 - needs the package
    from calipers.ledger.postgres.schema import prepare, require_ledger, roll_back  # noqa: PLC0415 - likewise

    open_ledger(postgres_url).close()
    address = Address.of(postgres_url)
    steps = {
        FORMAT + 1: ("ALTER TABLE runs ADD COLUMN title TEXT", "ALTER TABLE runs DROP COLUMN title"),
        FORMAT + 2: ("CREATE TABLE notes (x TEXT)", "DROP TABLE notes"),
    }
    connection = await asyncpg.connect(address.dsn, server_settings={"search_path": address.schema})
    await prepare(connection, address, FORMAT + 2, steps)
    await connection.execute("SELECT title FROM runs, notes")
    with pytest.raises(LedgerError, match="newer calipers"):
        await require_ledger(connection, address)
    with pytest.raises(LedgerError, match="cannot be taken back"):
        await roll_back(connection, address, FORMAT - 1, steps)
    await roll_back(connection, address, FORMAT, steps)
    assert await require_ledger(connection, address) == FORMAT
    by_name = "SELECT to_regclass('groups_by_name') IS NOT NULL"
    assert await connection.fetchval(by_name)
    await roll_back(connection, address, 4)
    assert not await connection.fetchval(by_name)
    await prepare(connection, address)
    assert await connection.fetchval(by_name)
    with pytest.raises(asyncpg.UndefinedColumnError):
        await connection.execute("SELECT title FROM runs")
    await connection.close()
    open_ledger(postgres_url).close()


def backup_of_file(path: Path, copy: Path) -> None:
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def test_a_backup_of_a_file_in_use_is_a_ledger(tmp_path: Path) -> None:
    path, copy = tmp_path / "l.db", tmp_path / "copy.db"
    score(str(path))
    with open_ledger(path) as ledger:
        ledger.put("UPDATE learned SET value = '{}'", ())
        backup_of_file(path, copy)
    assert replay(str(copy), 1, tmp_path / "a.jsonl") == replay(str(path), 1, tmp_path / "b.jsonl")
    assert "sound" in done("ledger", "verify", str(copy))


@pytest.mark.heavy
def test_a_dump_of_postgres_restores_the_ledger(postgres: object, postgres_url: str, tmp_path: Path) -> None:
    from calipers.ledger.postgres.address import Address  # noqa: PLC0415 - needs the package
    from servers.postgres_server import PostgresServer  # noqa: PLC0415 - beside the tests

    assert isinstance(postgres, PostgresServer)
    score(postgres_url)
    wanted = replay(postgres_url, 1, tmp_path / "a.jsonl")
    schema = Address.of(postgres_url).schema
    dump = postgres.run("pg_dump", "-Fc", "-n", schema).stdout
    postgres.run("psql", "-c", f"DROP SCHEMA {schema} CASCADE")
    with pytest.raises(LedgerError, match="no such ledger"):
        open_ledger(postgres_url, create=False)
    postgres.run("pg_restore", "-d", "postgres", input=dump)
    assert replay(postgres_url, 1, tmp_path / "b.jsonl") == wanted
    assert "sound" in done("ledger", "verify", postgres_url)
    score(postgres_url, count=1)
    with LedgerReader(postgres_url) as reader:
        assert reader.rows("SELECT id FROM runs ORDER BY id") == [(1,), (2,)]
