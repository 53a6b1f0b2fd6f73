"""What commands write over and what they leave alone, and keys that are spelt wrong."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from calipers.cli.output import Output, require_replaceable
from calipers.errors import ConfigError
from calipers.types import GroupResult
from command_line import Calipers, mismatches, read_rows, write_rows

NOTES = "do not lose me\n"
ONLY = ("--only", "failed")


@pytest.fixture(autouse=True)
def _notes(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(NOTES)


def test_a_file_that_the_command_also_uses_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("linked").symlink_to("same")
    for _ in range(2):  # at first it is not there yet
        for other in ("same", "./same", "sqlite:///same", "linked"):
            with pytest.raises(ConfigError, match="is the ledger itself"):
                require_replaceable("--out", "same", force=True, beside={"the ledger": other, "the rubric": None})
        Path("same").write_text(NOTES)


def test_no_command_destroys_a_file(folder: Path, calipers: Calipers):
    assert calipers("score", "groups.jsonl", "-o", "scored.jsonl", "--ledger", "runs.db").code == 0
    with closing(sqlite3.connect(folder / "foreign.db")) as database:
        database.execute("CREATE TABLE mine (a)")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    commands = [
        "score groups.jsonl -o notes.txt",
        "score groups.jsonl -o notes.txt --ledger runs.db",
        "score groups.jsonl -o runs.db --ledger other.db",
        "score groups.jsonl -o new --ledger new",
        "score groups.jsonl -o new.db-wal --ledger new.db",
        "score groups.jsonl -o notes.txt --rubric notes.txt --force",
        "score groups.jsonl -o out.jsonl --ledger foreign.db",
        "replay runs.db -o runs.db --force",
        "replay runs.db -o notes.txt",
        "replay runs.db -o scored.jsonl",
        "replay runs.db -o new.parquet",
        "generate groups.jsonl -o notes.txt --model scripted:x",
        "calibrate groups.jsonl --judge embedded --save notes.txt",
        "calibrate groups.jsonl --judge embedded --save groups.jsonl --force",
        "rubric draft groups.jsonl -o notes.txt --judge vllm/x",
        "convert groups.jsonl -o notes.txt",
    ]
    assert mismatches(calipers, [(command.split(), "Error: ") for command in commands]) == []
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {name: after.get(name) for name in before} == before


def test_a_run_with_damaged_settings_is_named_and_stops_no_other(folder: Path, calipers: Calipers):
    again, ledger = ("score", "groups.jsonl", "-o", "a.jsonl"), "a.jsonl.ledger.db"
    assert calipers(*again).code == 0
    with closing(sqlite3.connect(ledger, isolation_level=None)) as database:
        database.execute("UPDATE runs SET settings = '{}'")
    named = f"{ledger}: a run's settings"
    assert (
        mismatches(calipers, [(one, named) for one in (again, ("watch", ledger), ("replay", ledger, "-o", "b"))]) == []
    )
    forced = calipers(*again, "--force")
    assert (forced.code, f"run 1 teaches this run nothing: {ledger}: a row is damaged" in forced.err) == (0, True)


def test_forced_and_repeated_runs_write(folder: Path, calipers: Calipers):
    for extra in (["--force"], []):  # the second time it is resumed
        assert calipers("score", "groups.jsonl", "-o", "notes.txt", *extra).code == 0
    (folder / "empty.jsonl").write_text("")
    assert calipers("score", "groups.jsonl", "-o", "empty.jsonl").code == 0
    assert {one["status"] for one in read_rows(folder / "notes.txt")} == {"scored"}
    assert calipers("replay", "notes.txt.ledger.db", "-o", "notes.txt", "--force").code == 0


def test_a_result_of_another_judge_setting_or_input_is_not_resumed(folder: Path, calipers: Calipers):
    """A result file belongs to the run that wrote its first line, also if another run shares the ledger."""
    rows = read_rows(folder / "groups.jsonl")
    write_rows(folder / "other.jsonl", rows[1:])
    (folder / "rules.toml").write_text('rules = [{ regex = { pattern = "4" } }]')
    for out, extra in (("a.jsonl", []), ("b.jsonl", ["--rules", "rules.toml"])):
        score = ("score", "groups.jsonl", "-o", out, *extra)
        changed = (*score, "--orders", "2", "--ledger", f"{out}.ledger.db")
        assert calipers(*score).code == 0
        before = (folder / out).read_bytes()
        others = (changed, ("score", "other.jsonl", *score[2:]))
        assert mismatches(calipers, [(("score", "notes.txt", *score[2:]), "no group in it can be read")]) == []
        assert mismatches(calipers, [(other, "other settings or other groups") for other in others]) == []
        assert (folder / out).read_bytes() == before
        alike = (score, (*score, *ONLY), ("score", "other.jsonl", *score[2:], *ONLY), (*score, "--concurrency", "2"))
        for again in (*alike, (*changed, *ONLY, "--force"), (*changed, "--force"), changed):
            assert calipers(*again).code == 0, again
    shared = ("--ledger", "a.jsonl.ledger.db", "--orders")
    assert calipers("score", "groups.jsonl", "-o", "c.jsonl", *shared, "3").code == 0
    assert calipers("score", "groups.jsonl", "-o", "a.jsonl", *shared, "2").code == 0
    assert mismatches(calipers, [(("score", "groups.jsonl", "-o", "a.jsonl", *shared, "3"), "another judge")]) == []
    for out, deadline in (("d.jsonl", "100"), ("e.jsonl", "200"), ("d.jsonl", "100")):  # whose results are the same
        assert calipers("score", "groups.jsonl", "-o", out, *shared, "3", "--deadline", deadline).code == 0, deadline


def test_misspelt_keys_of_groups_and_trajectories_are_pointed_out(folder: Path, calipers: Calipers):
    misspelt = {"rewrd": 1, "messages": [{"role": "assistant", "content": "4"}]}
    rows = ({"groupid": "x", "trajectories": [one]} for one in (misspelt, {"gold": 1, "message": []}))
    write_rows(folder / "groups.jsonl", rows)
    said = calipers("score", "groups.jsonl", "-o", "o.jsonl").err
    for right, wrong in (("group_id", "groupid"), ("reward", "rewrd"), ("messages", "message")):
        assert re.search(f"'{wrong}'.*did you mean '{right}'|is '{wrong}' a slip for '{right}'", said), wrong


def _write_two(path: Path, first: GroupResult, resource: ModuleType) -> None:
    """Write a result, and another for which there is no room."""
    with Output(str(path), kept="") as output:
        output.write(first)
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50, most))
        output.write(GroupResult("g2" * 500, "scored", ()))


def test_a_result_file_that_could_not_be_written_ends_with_a_whole_line(tmp_path: Path):
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    path, before = tmp_path / "o.jsonl", resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    first = GroupResult("g1", "scored", ())
    try:
        with pytest.raises(ConfigError, match="cannot be written"):
            _write_two(path, first, resource)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_text() == json.dumps(first.to_dict(), ensure_ascii=False) + "\n"


def test_only_what_failed_is_judged_again_and_no_other_line_is_lost(folder: Path, calipers: Calipers):
    """A line stays unless its group failed and is in the input with the same trajectories; OUT changes in the end."""
    out = folder / "o.jsonl"
    assert calipers("score", "groups.jsonl", "-o", "o.jsonl").code == 0
    rows = read_rows(out)
    failed, moved, gone = ({**rows[at], "status": "partial"} for at in (1, 2, 3))
    moved["trajectories"] = [{**member, "id": f"{member['id']}-other"} for member in moved["trajectories"]]
    gone["group_id"] = "gone"
    failed["trajectories"] = failed["trajectories"][::-1]  # ids are found in any order
    write_rows(out, [{**rows[0], "kept": 1}, failed, moved, gone])
    score, gone_ledger = ("score", "groups.jsonl", "-o", "o.jsonl", *ONLY), ("--ledger", "none.db")
    others = [((*score, "--orders", "2"), "of another judge, other settings"), ((*score, *gone_ledger), "not exist")]
    assert mismatches(calipers, others) == []
    run = calipers(*score)
    assert (run.code, read_rows(out)) == (0, [{**rows[0], "kept": 1}, rows[1], moved, gone, *rows[2:]])
    before = out.read_bytes()
    cases: list[tuple[tuple[str, ...], str]] = []
    for name in ("new", "-", "odd"):
        why = "odd:5: no result" if name == "odd" else "holds no results"
        cases.append((("score", "groups.jsonl", "-o", name, *ONLY), why))
    (folder / "odd").write_bytes(b"".join(before.splitlines(keepends=True)[:4]) + b'{"group_id": "x"}\n')
    assert mismatches(calipers, cases) == []
    (folder / "bad.jsonl").write_text((folder / "groups.jsonl").read_text().splitlines()[0] + "\n{\n")
    run = calipers("score", "bad.jsonl", "-o", "o.jsonl", *ONLY)
    assert (run.code, "bad.jsonl:2" in run.err, out.read_bytes()) == (1, True, before)


def test_a_run_that_judges_no_group_is_not_recorded(folder: Path, calipers: Calipers):
    """It would be the latest: a replay of it writes an empty file."""
    assert calipers("score", "groups.jsonl", "-o", "o.jsonl").code == 0
    done = calipers("score", "groups.jsonl", "-o", "o.jsonl", *ONLY)
    assert (done.code, len(done.err.splitlines())) == (0, 1)
    assert calipers("replay", "o.jsonl.ledger.db", "-o", "again.jsonl").code == 0
    assert (folder / "again.jsonl").read_bytes() == (folder / "o.jsonl").read_bytes()
