"""Ledgers that others wrote, that others lock, and disks that are full."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from calipers.cli import app
from calipers.errors import CalipersError, LedgerError
from calipers.judging.judge import Judge
from calipers.ledger import Ledger, read_ledger
from calipers.types import Completion, JudgeRequest, Trajectory, TrajectoryGroup

GROUP = TrajectoryGroup(
    "g", tuple(Trajectory(name, ({"role": "assistant", "content": name},)) for name in ("one", "two"))
)


def changed(*statements: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        Ledger(path).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(";".join(("PRAGMA writable_schema=ON", *statements)))

    return make


def looped(path: Path) -> None:
    path.symlink_to(path)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "a recursive view": changed(
        "DROP TABLE groups",
        "CREATE VIEW groups AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS run FROM n",
    ),
    "a trigger": changed("CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END"),
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "links that lead to themselves": looped,
    "a damaged schema": changed("UPDATE sqlite_master SET sql = CAST(X'ff00' AS TEXT) WHERE name = 'asks'"),
    "a folder": Path.mkdir,
    "another format": changed("PRAGMA user_version=5"),
}


def test_what_is_no_ledger_is_one_clear_error(tmp_path: Path) -> None:
    wrong = []
    for number, (kind, make) in enumerate(HOSTILE.items()):
        path = tmp_path / f"{number}.db"
        make(path)
        commands = (
            ["replay", str(path), "-o", str(tmp_path / "o")],
            ["ledger", "verify", str(path)],
            ["show", str(path), "g"],
        )
        for arguments in commands:
            found = CliRunner().invoke(app, arguments).exception
            if not isinstance(found, CalipersError) or "\n" in str(found):
                wrong.append((kind, arguments[0], repr(found)))
    assert not wrong
    (tmp_path / "text.txt").write_text("This is a text of many words." * 99, encoding="utf-8")
    for opened in (Ledger, read_ledger):
        with pytest.raises(LedgerError, match=r"text\.txt: is no ledger, but another kind of file"):
            opened(tmp_path / "text.txt")


async def scored(backend: Counting, path: Path) -> str:
    async with Judge(backend, ledger=path) as judge:
        return (await judge.score_group(GROUP)).status


def test_values_of_another_kind_are_named_as_damage(tmp_path: Path) -> None:
    for number, statement in enumerate(("UPDATE groups SET source = 7", "UPDATE groups SET result = X'00'")):
        path = tmp_path / f"{number}.db"
        asyncio.run(scored(Counting(), path))
        changed(statement)(path)
        verified = CliRunner().invoke(app, ["ledger", "verify", str(path)])
        assert "cannot be read" in verified.output
        replayed = CliRunner().invoke(app, ["replay", str(path), "-o", str(tmp_path / "o"), "--force"]).exception
        assert isinstance(replayed, LedgerError) == ("source" in statement)


def test_names_in_a_ledger_lead_no_command_out_of_the_files_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    path, escaping = folder / "l.db", "../../.env"
    asyncio.run(scored(Counting(), path))
    with closing(sqlite3.connect(path)) as connection:
        for statement in (
            "UPDATE groups SET group_id = :name, source = json_set(source, '$.group_id', :name)",
            "UPDATE groups SET result = json_set(result, '$.group_id', :name)",
            "UPDATE runs SET settings = json_set(settings, '$.judges[0].judge', :name, '$.judges[0].model', :name)",
            "UPDATE answers SET model = :name",
        ):
            connection.execute(statement, {"name": escaping})
        connection.commit()
    for command in (
        ["ledger", "export", "l.db", "-o", "out.parquet"],
        ["replay", "l.db", "-o", "out.jsonl"],
        ["report", "l.db", "-o", "out.html"],
        ["ledger", "list", "l.db"],
        ["ledger", "verify", "l.db"],
        ["show", "l.db", escaping],
    ):
        found = CliRunner().invoke(app, command)
        assert isinstance(found.exception, CalipersError | SystemExit | None), command
    written = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()}
    assert {name for name in written if not name.startswith("a/b/l.db")} <= {
        "a/b/out.parquet", "a/b/out.jsonl", "a/b/out.html",
    }  # fmt: skip
    assert {"a/b/out.parquet", "a/b/out.html"} <= written


async def test_a_ledger_that_another_process_locks_does_not_stop_the_event_loop(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.db") as ledger, closing(sqlite3.connect(tmp_path / "l.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        ledger.put("INSERT INTO learned VALUES (?, ?, ?)", ("e", "m", "{}"))
        written = asyncio.ensure_future(ledger.commit())
        longest, ends = 0.0, time.monotonic() + 0.4
        while time.monotonic() < ends:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)
        assert longest < 0.3
        assert not written.done()
        other.rollback()
        await asyncio.wait_for(written, 5)
        assert ledger.rows("SELECT count(*) FROM learned") == [(1,)]


class Counting:
    """A judge that counts its calls. The first ``unreadable`` of them cannot be read."""

    endpoint, model = "here", "counting"

    def __init__(self, unreadable: int = 0) -> None:
        self.calls, self._unreadable = 0, unreadable

    async def complete(self, request: JudgeRequest) -> Completion:
        self.calls += 1
        scores = ", ".join(f'"{key}": {20 + 30 * number}' for number, key in enumerate(request.keys))
        return Completion("I am not sure" if self.calls <= self._unreadable else f'{{"scores": {{{scores}}}}}')


async def test_on_a_full_disk_a_group_is_paid_for_once(tmp_path: Path) -> None:
    backend = Counting()
    with Ledger(tmp_path / "l.db") as ledger:
        async with Judge(backend, ledger=ledger) as judge:
            await judge.score_group(GROUP)
            [(pages,)] = ledger.rows("PRAGMA page_count")
            ledger.rows(f"PRAGMA max_page_count={pages}")
            says = [({"role": "assistant", "content": os.urandom(60_000).hex()},) for _ in range(2)]
            large = TrajectoryGroup("h", tuple(Trajectory(str(n), one) for n, one in enumerate(says)))
            for _ in range(3):
                with pytest.raises(LedgerError, match="full"):
                    await judge.score_group(large)
            paid = backend.calls
            with pytest.raises(LedgerError, match="full"):
                await ledger.require_writable()
            ledger.rows("PRAGMA max_page_count=1000000")
            assert (await judge.score_group(large)).status == "scored"
            assert (paid, backend.calls) == (2, 2)


def test_a_new_run_asks_once_more_what_gave_no_verdict_and_each_run_replays(tmp_path: Path) -> None:
    path, statuses, calls = tmp_path / "l.db", [], []
    for unreadable in (99, 99, 0, 0):
        backend = Counting(unreadable)
        statuses.append(asyncio.run(scored(backend, path)))
        calls.append(backend.calls)
    assert statuses == ["abstained", "abstained", "scored", "scored"]
    assert calls[0] == calls[1] > 1
    assert calls[2:] == [1, 0]
    replayed = []
    for run in (1, 2, 3, 4):
        out = tmp_path / f"{run}.jsonl"
        CliRunner().invoke(app, ["replay", str(path), "--run", str(run), "-o", str(out)])
        with read_ledger(path) as reader:
            [(result,)] = reader.rows("SELECT result FROM groups WHERE run = ?", (run,))
        replayed.append(json.loads(out.read_text(encoding="utf-8")) == json.loads(result))
    assert replayed == [True] * 4
