"""Ledgers that others wrote, that others lock, and disks that are full."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from calipers.cli import app
from calipers.errors import CalipersError, LedgerError
from calipers.judging.judge import Judge
from calipers.ledger import Ledger, read_ledger
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of
from replaying import scored


def changed(*statements: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        Ledger(path).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(";".join(("PRAGMA writable_schema=ON", *statements)))

    return make


HOSTILE: dict[str, Callable[[Path], object]] = {
    "a recursive view": changed(
        "DROP TABLE groups",
        "CREATE VIEW groups AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS run FROM n",
    ),
    "a trigger": changed("CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END"),
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link that leads to itself": lambda path: path.symlink_to(path),
    "a damaged schema": changed("UPDATE sqlite_master SET sql = CAST(X'ff00' AS TEXT) WHERE name = 'asks'"),
    "a folder": Path.mkdir,
    "another format": changed("PRAGMA user_version=5"),
}


def test_what_is_no_ledger_is_one_clear_error(tmp_path: Path):
    wrong, out = [], str(tmp_path / "o")
    for number, (kind, make) in enumerate(HOSTILE.items()):
        path = str(tmp_path / f"{number}.db")
        make(Path(path))
        for command in (["replay", path, "-o", out], ["ledger", "verify", path], ["show", path, "g"]):
            found = CliRunner().invoke(app, command).exception
            if not isinstance(found, CalipersError) or "\n" in str(found):
                wrong.append((kind, command[0], repr(found)))
    assert not wrong
    (tmp_path / "text.txt").write_text("This is a text of many words." * 99, encoding="utf-8")
    for opened in (Ledger, read_ledger):
        with pytest.raises(LedgerError, match=r"text\.txt: is no ledger, but another kind of file"):
            opened(tmp_path / "text.txt")


def recorded(path: Path) -> Path:
    """A ledger of one group that was judged."""
    asyncio.run(scored(path, SimulatedJudge(QUALITY), [group_of(FOUR)]))
    return path


def test_values_of_another_kind_are_named_as_damage(tmp_path: Path):
    for number, statement in enumerate(("UPDATE groups SET source = 7", "UPDATE groups SET result = X'00'")):
        path = recorded(tmp_path / f"{number}.db")
        changed(statement)(path)
        assert "cannot be read" in CliRunner().invoke(app, ["ledger", "verify", str(path)]).output
        replayed = CliRunner().invoke(app, ["replay", str(path), "-o", str(tmp_path / "o"), "--force"]).exception
        assert isinstance(replayed, LedgerError) == ("source" in statement)


def test_names_lead_no_command_out_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    escaping = "../../.env"
    with closing(sqlite3.connect(recorded(folder / "l.db"))) as connection:
        for statement in (
            "UPDATE groups SET group_id = :name, source = json_set(source, '$.group_id', :name)",
            "UPDATE groups SET result = json_set(result, '$.group_id', :name)",
            "UPDATE runs SET settings = json_set(settings, '$.judges[0].judge', :name, '$.judges[0].model', :name)",
            "UPDATE answers SET model = :name",
        ):
            connection.execute(statement, {"name": escaping})
        connection.commit()
    for command in (
        "ledger export l.db -o out.parquet", "replay l.db -o out.jsonl", "report l.db -o out.html", "ledger list l.db",
        "ledger verify l.db", f"show l.db {escaping}",
    ):  # fmt: skip
        found = CliRunner().invoke(app, command.split())
        assert isinstance(found.exception, CalipersError | SystemExit | None), command
    written = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()}
    others = {name for name in written if not name.startswith("a/b/l.db")}
    assert {"a/b/out.parquet", "a/b/out.html"} <= others <= {"a/b/out.parquet", "a/b/out.jsonl", "a/b/out.html"}


async def test_on_a_full_disk_a_group_is_paid_for_once(tmp_path: Path):
    backend = SimulatedJudge(QUALITY)
    large = group_of({name: os.urandom(60_000).hex() for name in ("right", "far")}, group_id="h")
    with Ledger(tmp_path / "l.db") as ledger:
        async with Judge(backend, ledger=ledger) as judge:
            await judge.score_group(group_of(FOUR))
            [(pages,)] = ledger.rows("PRAGMA page_count")
            ledger.rows(f"PRAGMA max_page_count={pages}")
            for _ in range(3):
                with pytest.raises(LedgerError, match="full"):
                    await judge.score_group(large)
            assert backend.calls == 2
            with pytest.raises(LedgerError, match="full"):
                await ledger.require_writable()
            ledger.rows("PRAGMA max_page_count=1000000")
            assert (await judge.score_group(large)).status == "scored"
            assert backend.calls == 2
