"""``calipers convert``, called as the command calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from calipers.cli import app
from calipers.errors import CalipersError
from calipers.inputs import read_groups


def written(path: Path, *rows: Any) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def row(prompt: str, said: str, **more: Any) -> dict[str, Any]:
    return {"prompt": prompt, "completion": said, **more}


def run(*arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(app.commands["convert"], arguments, standalone_mode=False)
    if ended.exception is not None:
        return 2, str(ended.exception)
    return int(ended.return_value), ended.stderr


def test_files_of_one_prompt_become_one_group(tmp_path: Path):
    first = written(tmp_path / "a.jsonl", row("p", "one", reward=1.0), row("q", "two"))
    second = written(tmp_path / "b.jsonl", row("p", "three"))
    out = tmp_path / "groups.jsonl"
    assert run(first, second, "-o", str(out)) == (0, "3 rollouts in 2 groups\n")
    groups = list(read_groups(out))
    assert [[one.messages[0]["content"] for one in group.trajectories] for group in groups] == [
        ["one", "three"],
        ["two"],
    ]
    assert groups[0].context == ({"role": "user", "content": "p"},)
    assert groups[0].trajectories[0].reward == 1.0
    assert groups[0].trajectories[1].metadata == {"calipers_source": f"{second}:1"}


def test_a_rows_own_calipers_source_is_not_overwritten(tmp_path: Path):
    file = written(tmp_path / "a.jsonl", row("p", "one", calipers_source="mine"), row("p", "two"))
    code, said = run(file, "-o", str(tmp_path / "groups.jsonl"))
    assert code == 1
    assert f"{file}:1: has the key 'calipers_source', which calipers writes; rename it" in said


def test_group_by_names_the_key_that_rollouts_share(tmp_path: Path):
    rows = [row("p", "one", info={"task": 1}), row("P", "two", info={"task": 1}), row("p", "three", info={"task": 2})]
    out = tmp_path / "groups.jsonl"
    assert run(written(tmp_path / "a.jsonl", *rows), "-o", str(out), "--group-by", "info.task")[0] == 0
    first, second = read_groups(out)
    assert (first.group_id, second.group_id) == ("1", "2")
    assert [one.messages[0]["content"] for one in first.trajectories] == ["p", "P"]
    assert first.context == ()


def test_a_row_without_the_key_is_named_with_its_file_and_line(tmp_path: Path):
    path = written(tmp_path / "a.jsonl", row("p", "one", task_id="t"), row("p", "two"))
    out = tmp_path / "groups.jsonl"
    code, said = run(path, "-o", str(out), "--group-by", "task_id")
    assert code == 1
    assert f"{path}:2: has no 'task_id' to group by; the keys are calipers_source" in said
    assert said.endswith("1 rollout in 1 group; 1 row or file could not be read\n")
    assert len(list(read_groups(out))) == 1


def test_a_file_of_another_kind_is_not_replaced(tmp_path: Path):
    path = written(tmp_path / "a.jsonl", row("p", "one"))
    notes = written(tmp_path / "notes.jsonl", {"note": 1})
    with pytest.raises(CalipersError, match=r"notes\.jsonl"):
        CliRunner().invoke(app.commands["convert"], [path, "-o", notes], standalone_mode=False, catch_exceptions=False)
    assert run(path, "-o", notes, "--force")[0] == 0
    assert run(path, "-o", path)[0] == 2


def test_a_file_that_cannot_be_read_costs_itself_alone(tmp_path: Path):
    good = written(tmp_path / "a.jsonl", row("p", "one"))
    empty, damaged = tmp_path / "empty.jsonl", tmp_path / "b.eval"
    empty.touch()
    damaged.write_bytes(b"PK\x03\x04nothing")
    groups = written(tmp_path / "g.jsonl", {"group_id": "g", "trajectories": []})
    scored = {"id": "a", "status": "scored", "reward": 1.0, "reason": None}
    results = written(tmp_path / "r.jsonl", {"group_id": "g", "status": "scored", "trajectories": [scored]})
    bad = {
        results: "is a groups file already, or one of results",
        str(empty): "is empty; it holds no rollouts",
        str(damaged): "is a damaged .eval file",
        groups: "is a groups file already",
        str(tmp_path): "is a directory; name a file in it",
    }
    out = tmp_path / "groups.jsonl"
    code, said = run(*bad, good, "-o", str(out))
    assert code == 1
    assert all(f"Error: {path}: {reason}" in said for path, reason in bad.items())
    assert said.endswith("1 rollout in 1 group; 5 rows or files could not be read\n")
    assert len(list(read_groups(out))) == 1
    code, said = run(*bad, "-o", str(tmp_path / "none.jsonl"))
    assert (code, "no rollout could be read; nothing was written" in said) == (2, True)


def test_different_prompts_are_noted(tmp_path: Path):
    rows = written(tmp_path / "a.jsonl", row("p", "one", k=1), row("q", "two", k=1))
    out = str(tmp_path / "groups.jsonl")
    code, said = run(rows, "-o", out, "--group-by", "k")
    assert code == 0
    assert f"Note: {rows}:2: the rollouts of '1' have different prompts (compare {rows}:1)" in said


def test_names_and_values_that_control_a_terminal_are_shown_as_escapes(tmp_path: Path):
    path = written(
        tmp_path / "a\x1b[2J\n.jsonl", row("p", "one", reward="\x1b[31m"), {"\x1b]0;x\x07\n": 1}, row("p", "two")
    )
    code, said = run(path, "-o", str(tmp_path / "groups.jsonl"))
    assert code == 1
    assert "\x1b" not in said
    assert f"Error: {tmp_path}/a\\x1b[2J\\n.jsonl:2: is of no known format; it has the keys \\x1b]0;x\\x07\\n;" in said


@pytest.mark.parametrize("name", ["link.jsonl", "hard.jsonl"])
def test_no_name_of_the_input_is_written_over(tmp_path: Path, name: str):
    path = Path(written(tmp_path / "a.jsonl", row("p", "one")))
    other = tmp_path / name
    if name == "link.jsonl":
        other.symlink_to(path)
    else:
        other.hardlink_to(path)
    before = path.read_bytes()
    code, said = run(str(path), "-o", str(other), "--force")
    assert (code, path.read_bytes()) == (2, before)
    assert "is the input" in said


def test_a_run_that_stops_leaves_the_file_that_was_there(tmp_path: Path):
    out = Path(written(tmp_path / "groups.jsonl", {"group_id": "old", "trajectories": []}))
    before = out.read_bytes()
    bad = written(tmp_path / "bad.jsonl", row("p", "two", reward="high"))
    assert run(bad, "-o", str(out), "--force")[0] == 2
    assert out.read_bytes() == before
    path = written(tmp_path / "a.jsonl", row("p", "one"), row("p", "two", reward="high"))
    assert run(path, "-o", str(out), "--force")[0] == 1
    assert [group.group_id for group in read_groups(out)] != ["old"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.jsonl", "bad.jsonl", "groups.jsonl"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    path = written(tmp_path / "a.jsonl", row("p", "one"))
    code, said = run(path, "-o", str(tmp_path / "none" / "groups.jsonl"))
    assert (code, said) == (2, f"--out {tmp_path}/none/groups.jsonl: cannot be written (No such file or directory)")
    assert run(path, "-o", str(tmp_path)) == (2, f"--out {tmp_path}: cannot be written (Is a directory)")
    if Path("/dev/full").exists():
        assert run(path, "-o", "/dev/full") == (2, "--out /dev/full: cannot be written (No space left on device)")


def test_a_file_that_is_given_twice_is_read_once(tmp_path: Path):
    path = written(tmp_path / "a.jsonl", row("p", "one"))
    code, said = run(path, path, "-o", str(tmp_path / "groups.jsonl"))
    assert (code, said) == (0, f"Note: {path}: was given before; it is read once\n1 rollout in 1 group\n")


def test_a_rows_own_source_stays_and_can_group(tmp_path: Path):
    path = written(tmp_path / "rows.jsonl", *(row(f"q{at}", "a", source=name) for at, name in enumerate("aab")))
    out = tmp_path / "groups.jsonl"
    assert run(path, "-o", str(out), "--group-by", "source")[0] == 0
    groups = list(read_groups(out))
    assert [[one.metadata["source"] for one in group.trajectories] for group in groups] == [["a", "a"], ["b"]]
