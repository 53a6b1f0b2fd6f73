"""What commands write over, and what they leave alone."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calipers.cli.generate import require_writable_out
from calipers.cli.overwriting import JUDGMENTS, RESPONSES, RESULTS, RUBRIC, Kind, require_replaceable
from calipers.errors import ConfigError, LedgerError
from calipers.ledger import Ledger
from groups import FOUR, group_of

RESULT = '{"group_id": "g", "status": "failed", "trajectories": []}\n'
FOREIGN = {
    "notes.txt": b"do not lose me\n",
    "other.jsonl": b'{"name": "someone"}\n',
    "array.json": b"[1, 2]",
    "deep.json": b"[" * 50_000,
    "image.png": b"\x89PNG\r\n\x1a\n\0\0",
    "half.jsonl": b'{"group_id": "g", "stat',
    "blank.txt": b"\n\n",
    "packed.parquet": b"PAR1 but damaged",
}


def calipers(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", *map(str, arguments)],
        cwd=cwd, env={"COLUMNS": "200", "PATH": ""}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "groups.jsonl").write_text(json.dumps(group_of(FOUR).to_dict()) + "\n", encoding="utf-8")
    for name, content in FOREIGN.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("kind", [RESULTS, RESPONSES, RUBRIC, JUDGMENTS], ids=lambda kind: kind.name)
def test_a_file_of_another_kind_is_not_replaced_unless_forced(folder: Path, name: str, kind: Kind):
    with pytest.raises(ConfigError, match=r"not replaced.*--force"):
        require_replaceable("--out", str(folder / name), kind, force=False, beside={})
    require_replaceable("--out", str(folder / name), kind, force=True, beside={})


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (RESULTS, RESULT),
        (RESPONSES, '{"prompt": "p", "response": "r"}\n'),
        (RESPONSES, '{"question": "p", "responses": ["r"]}\n'),
        (RESPONSES, '{"group_id": "g", "context": [], "trajectories": []}\n'),
        (RUBRIC, '[[criteria]]\ntext = "It is right."\npoints = 1\n'),
        (JUDGMENTS, '{"group_id": "g", "judge": "j", "mode": "listwise", "parsed": null}\n'),
        (RESULTS, ""),
    ],
)
def test_a_file_of_the_kind_is_replaced(tmp_path: Path, kind: Kind, content: str):
    (tmp_path / "out").write_text(content)
    require_replaceable("--out", str(tmp_path / "out"), kind, force=False, beside={})


@pytest.mark.parametrize("other", ["same", "./same", "sqlite:///same", "linked"])
@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_the_command_also_uses_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, there: Any
):
    monkeypatch.chdir(tmp_path)
    if there:
        Path("same").write_text(RESULT)
    Path("linked").symlink_to("same")
    with pytest.raises(ConfigError, match="is the ledger itself"):
        require_replaceable("--out", "same", RESULTS, force=True, beside={"the ledger": other, "the rubric": None})


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "groups.jsonl", "-o", "notes.txt"),
        ("score", "groups.jsonl", "-o", "runs.db", "--ledger", "other.db"),
        ("score", "groups.jsonl", "-o", "new", "--ledger", "new"),
        ("score", "groups.jsonl", "-o", "notes.txt", "--rubric", "notes.txt", "--force"),
        ("replay", "runs.db", "-o", "runs.db"),
        ("replay", "runs.db", "-o", "runs.db", "--force"),
        ("replay", "runs.db", "-o", "notes.txt"),
        ("generate", "groups.jsonl", "-o", "notes.txt", "--model", "scripted:x"),
        ("calibrate", "groups.jsonl", "--judge", "embedded", "--save", "notes.txt"),
        ("calibrate", "groups.jsonl", "--judge", "embedded", "--save", "groups.jsonl", "--force"),
        ("rubric", "draft", "groups.jsonl", "-o", "notes.txt", "--judge", "vllm/x"),
        ("ifeval", "--input", "groups.jsonl", "-o", "notes.txt", "--model", "vllm/x"),
        ("score", "groups.jsonl", "-o", "out.jsonl", "--ledger", "foreign.db"),
    ],
    ids=" ".join,
)
def test_no_command_destroys_a_file(folder: Path, arguments: tuple[str, ...]):
    assert calipers("score", "groups.jsonl", "-o", "scored.jsonl", "--ledger", "runs.db", cwd=folder).returncode == 0
    with sqlite3.connect(folder / "foreign.db") as database:
        database.execute("CREATE TABLE mine (a)")
    database.close()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = calipers(*arguments, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {name: after.get(name) for name in before} == before


def test_forced_and_repeated_runs_write(folder: Path):
    for extra in (["--force"], []):
        done = calipers("score", "groups.jsonl", "-o", "notes.txt", *extra, cwd=folder)
        assert done.returncode == 0, done.stderr
    assert json.loads((folder / "notes.txt").read_text())["status"] == "scored"
    assert calipers("replay", "notes.txt.ledger.db", "-o", "notes.txt", cwd=folder).returncode == 0


def test_a_ledger_makes_no_tables_in_another_programs_database(tmp_path: Path):
    with sqlite3.connect(tmp_path / "foreign.db") as database:
        database.execute("CREATE TABLE mine (a)")
    database.close()
    before = (tmp_path / "foreign.db").read_bytes()
    with pytest.raises(LedgerError, match="another program's database"):
        Ledger(tmp_path / "foreign.db")
    assert (tmp_path / "foreign.db").read_bytes() == before


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_nothing_is_written_where_sqlite_keeps_what_is_not_in_the_ledger_yet(folder: Path, end: str):
    """The result file was gone and the ledger empty, with exit code 0."""
    for arguments in (
        ("score", "groups.jsonl", "-o", f"new.db{end}", "--ledger", "new.db", "--judge", "embedded"),
        ("replay", "new.db", "-o", f"new.db{end}"),
    ):
        done = calipers(*arguments, cwd=folder)
        assert done.returncode == 2
        assert "a file that belongs to it" in done.stderr
        assert not (folder / f"new.db{end}").exists()


@pytest.mark.parametrize(
    "row", [{"prompt": "p", "response": "r"}, {"responses": ["r"]}, {"group_id": "g", "trajectories": []}]
)
def test_generate_replaces_only_a_file_whose_responses_lie_beside_it(tmp_path: Path, row: dict[str, Any]):
    mine = tmp_path / "mine.jsonl"
    mine.write_text(json.dumps(row) + "\n")
    with pytest.raises(ConfigError, match="--force"):
        require_writable_out("prompts.jsonl", str(mine), force=False)
    require_writable_out("prompts.jsonl", str(mine), force=True)
    (tmp_path / "mine.jsonl.samples.jsonl").write_text('{"key": "k", "text": "t", "finish_reason": "stop"}\n')
    require_writable_out("prompts.jsonl", str(mine), force=False)


def test_a_full_disk_is_one_sentence(folder: Path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = calipers("score", "groups.jsonl", "-o", "/dev/full", "--ledger", "new.db", "--judge", "embedded", cwd=folder)
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
