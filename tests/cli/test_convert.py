"""``calipers convert``, called as the command calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from calipers.cli import app
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


def test_group_by_names_the_key_that_rollouts_share(tmp_path: Path):
    rows = [row("p", "one", info={"task": 1}), row("P", "two", info={"task": 1}), row("p", "three", info={"task": 2})]
    out = tmp_path / "groups.jsonl"
    assert run(written(tmp_path / "a.jsonl", *rows), "-o", str(out), "--group-by", "info.task")[0] == 0
    first, second = read_groups(out)
    assert (first.group_id, second.group_id) == ("1", "2")
    assert [one.messages[0]["content"] for one in first.trajectories] == ["p", "P"]
    assert first.context == ()
    code, said = run(
        written(tmp_path / "a.jsonl", *rows, row("p", "four")), "-o", str(out), "--force", "--group-by", "info.task"
    )
    assert (code, "a.jsonl:4: cannot be grouped by 'info.task'" in said) == (1, True)


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


def test_no_name_of_the_input_is_written_over(tmp_path: Path):
    path = Path(written(tmp_path / "a.jsonl", row("p", "one")))
    (tmp_path / "link.jsonl").symlink_to(path)
    (tmp_path / "hard.jsonl").hardlink_to(path)
    before = path.read_bytes()
    for name in ("link.jsonl", "hard.jsonl"):
        code, said = run(str(path), "-o", str(tmp_path / name), "--force")
        assert (code, "is the input" in said, path.read_bytes()) == (2, True, before)


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
