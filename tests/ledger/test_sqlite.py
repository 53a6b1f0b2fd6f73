"""The ledger file: commits, damage, and errors a person can act on."""

import ast
import gc
import re
import sqlite3
import threading
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

import calipers
import zstd_codec as zstd
from calipers.errors import LedgerError
from calipers.ledger import Ledger

INSERT = "INSERT INTO learned VALUES (?, ?, ?)"


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
        ledger.put("INSERT INTO learned VALUES (?, ?, CAST(? AS TEXT))", ("e", "m", b"a secret \xff thing"))
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
