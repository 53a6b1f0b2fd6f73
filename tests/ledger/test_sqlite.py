"""The ledger file: commits, damage, and errors a person can act on."""

from __future__ import annotations

import ast
import asyncio
import gc
import os
import re
import sqlite3
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import calipers
import zstd_codec as zstd
from calipers.cli import app
from calipers.errors import CalipersError, LedgerError
from calipers.judging.judge import Judge
from calipers.ledger import Ledger, read_ledger
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of
from replaying import scored

INSERT = "INSERT INTO learned VALUES (?, ?, ?, 0)"


def test_a_ledger_that_another_process_is_creating_is_waited_for(tmp_path: Path):
    """SQLite refuses the switch to the write-ahead log at once while another creates the file."""
    with closing(sqlite3.connect(tmp_path / "l.db", isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        ends = threading.Timer(0.2, other.execute, ("ROLLBACK",))
        ends.start()
        with Ledger(tmp_path / "l.db") as ledger:
            assert not ends.is_alive()
            assert ledger.rows("PRAGMA journal_mode") == [("wal",)]
            assert ledger.rows("SELECT * FROM learned") == []


@pytest.mark.slow
def test_what_grows_to_hundreds_of_times_its_size_is_told_and_not_unpacked(tmp_path: Path):
    """A ledger may come from anybody."""
    bombs = (b'"' + b"x" * 2**28 + b'"', b"[" + b"[],[]," * 2_700_000 + b"[]]", b"[" + b"1.5," * 4_000_000 + b"0]")
    with Ledger(tmp_path / "l.db") as ledger:
        for packed in map(zstd.compress, bombs):
            tracemalloc.start()
            try:
                with pytest.raises(LedgerError, match="damaged and cannot be read"):
                    ledger.decoded(packed, list)
                assert tracemalloc.get_traced_memory()[1] < 60 * 2**20
            finally:
                tracemalloc.stop()


async def test_text_that_is_no_text_any_more_is_not_shown(tmp_path: Path):
    with Ledger(tmp_path / "l.db") as ledger:
        ledger.put("INSERT INTO learned VALUES (?, ?, CAST(? AS TEXT), 0)", ("e", "m", b"a secret \xff thing"))
        await ledger.commit()
        with pytest.raises(LedgerError, match=r"l\.db.*Move it aside") as caught:
            ledger.rows("SELECT value FROM learned")
    assert "secret" not in str(caught.value)
    with pytest.raises(LedgerError, match="folder exists"):
        Ledger(tmp_path / "none" / "l.db")


def test_a_damaged_ledger_is_found_by_check(tmp_path: Path):
    path = tmp_path / "l.db"
    with Ledger(path) as ledger:
        for number in range(2000):
            ledger.put(INSERT, ("e", str(number), "x" * 100))
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\x55" * 4096
    path.write_bytes(content)
    with Ledger(path) as damaged, pytest.raises(LedgerError, match=r"damaged|malformed|sound"):
        damaged.check()


async def test_a_second_writer_is_noticed(tmp_path: Path):
    with Ledger(tmp_path / "l.db") as one, Ledger(tmp_path / "l.db") as two:
        for number, ledger in enumerate((one, one, two, one)):
            ledger.put(INSERT, ("e", str(number), "{}"))
            await ledger.commit()
            assert ledger.shared == (number >= 2)


def test_what_is_compressed_rots_likewise(tmp_path: Path):
    compressed = zstd.compress(b"[1]")
    too_large = zstd.compress(b"[1]" * 10_000_000, options={zstd.CompressionParameter.window_log: 25})
    with Ledger(tmp_path / "l.db") as ledger:
        assert ledger.decoded(compressed, list) == ledger.decoded("[1]", list) == [1]
        for stored in (b"no data", compressed[:-3], zstd.compress(b"[1"), too_large, "[" * 100_000, "3"):
            with pytest.raises(LedgerError, match="is damaged"):
                ledger.decoded(stored, list)


def test_no_statement_numbers_its_values_which_python_3_14_refuses():
    """``?1`` with a sequence of values is an error there, and a warning in 3.12: only ``?`` works everywhere."""
    numbered = [
        f"{path.name}:{node.lineno}"
        for path in Path(calipers.__file__).parent.rglob("*.py")
        if re.search(r"\?\d", text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.search(r"(SELECT|INSERT|UPDATE|DELETE|WHERE) .*\?\d", node.value)
    ]
    assert numbered == []


@pytest.mark.filterwarnings("error")
def test_a_ledger_that_nobody_closed_is_closed_when_it_is_dropped(tmp_path: Path):
    ledger = Ledger(tmp_path / "l.db")
    connection = ledger._connection
    del ledger
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


# --- ledgers that others wrote, and disks that are full ---------------------------------------------------------------


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
    "a damaged name": changed("UPDATE sqlite_master SET name = CAST(X'61ff' AS TEXT) WHERE name = 'asks'"),
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


def test_values_of_another_kind_or_size_are_named_as_damage(tmp_path: Path):
    group = "groups, run 1, position 0"
    for number, (statement, command, place) in enumerate((
        ("groups SET source = 7", "replay", group), ("groups SET result = CAST(X'ff' AS TEXT)", "replay", group),
        ("groups SET group_id = X'ff'", "ledger export", group), ("runs SET id = 7", "replay --run 1", "runs, id 1"),
        ("asks SET number = X'ff'", "report", "asks, run 1, position 0"),
        ("answers SET latency = 7", "replay", "answers, key "),
    )):  # fmt: skip
        path = recorded(tmp_path / f"{number}.db")
        changed(f"UPDATE {statement}")(path)
        assert place in CliRunner().invoke(app, ["ledger", "verify", str(path)]).output
        out = str(tmp_path / f"o{'.parquet' * ('export' in command)}")
        found = CliRunner().invoke(app, [*command.split(), str(path), "-o", out, "--force"]).exception
        assert isinstance(found, CalipersError) == ("result" not in statement), statement  # a replay reads no result


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
