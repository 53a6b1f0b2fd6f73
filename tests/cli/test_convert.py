"""``calipers convert``, run as a person runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calipers.inputs import read_groups
from command_line import Calipers, mismatches, write_rows

OUT = ("-o", "groups.jsonl")


def row(prompt: str, said: str, **more: Any) -> dict[str, Any]:
    return {"prompt": prompt, "completion": said, **more}


def test_files_of_one_prompt_become_one_group(tmp_path: Path, calipers: Calipers):
    write_rows(tmp_path / "a.jsonl", [row("p", "one", reward=1.0), row("q", "two")])
    write_rows(tmp_path / "b.jsonl", [row("p", "three")])
    done = calipers("convert", "a.jsonl", "b.jsonl", *OUT)
    assert (done.code, done.err) == (0, "3 rollouts in 2 groups\n")
    groups = list(read_groups("groups.jsonl"))
    texts = [[one.messages[0]["content"] for one in group.trajectories] for group in groups]
    assert texts == [["one", "three"], ["two"]]
    assert groups[0].context == ({"role": "user", "content": "p"},)
    assert groups[0].trajectories[0].reward == 1.0
    assert groups[0].trajectories[1].metadata == {"calipers_source": "b.jsonl:1"}


def test_group_by_names_the_key_that_rollouts_share(tmp_path: Path, calipers: Calipers):
    rows = [row("p", "one", info={"task": 1}), row("P", "two", info={"task": 1}), row("p", "three", info={"task": 2})]
    write_rows(tmp_path / "a.jsonl", [*rows, row("p", "four")])
    done = calipers("convert", "a.jsonl", *OUT, "--group-by", "info.task")
    assert (done.code, "a.jsonl:4: cannot be grouped by 'info.task'" in done.err) == (1, True)
    first, second = read_groups("groups.jsonl")
    assert (first.group_id, second.group_id, first.context) == ("1", "2", ())
    assert [one.messages[0]["content"] for one in first.trajectories] == ["p", "P"]


def test_a_file_that_cannot_be_read_costs_itself_alone(tmp_path: Path, calipers: Calipers):
    scored = {"id": "a", "status": "scored", "reward": 1.0, "reason": None}
    result = {"group_id": "g", "status": "scored", "trajectories": [scored]}
    write_rows(tmp_path / "good.jsonl", [row("p", "one")])
    write_rows(tmp_path / "results.jsonl", [result])
    write_rows(tmp_path / "groups_already.jsonl", [{"group_id": "g", "trajectories": []}])
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "damaged.eval").write_bytes(b"PK\x03\x04nothing")
    bad = {
        "results.jsonl": "is a groups file or a result file already",
        "empty.jsonl": "is empty; it holds no rollouts",
        "damaged.eval": "is a damaged .eval file",
        "groups_already.jsonl": "is a groups file or",
        ".": "is a directory; name a file in it",
    }
    done = calipers("convert", *bad, "good.jsonl", *OUT)
    assert done.code == 1
    assert [path for path, reason in bad.items() if f"Error: {path}: {reason}" not in done.err] == []
    assert done.err.endswith("1 rollout in 1 group; 5 rows or files could not be read\n")
    assert len(list(read_groups("groups.jsonl"))) == 1
    nothing = ("convert", *bad, "-o", "none.jsonl")
    assert mismatches(calipers, [(nothing, "no rollout could be read; nothing was written")]) == []


def test_no_name_of_the_input_is_written_over(tmp_path: Path, calipers: Calipers):
    path = write_rows(tmp_path / "a.jsonl", [row("p", "one")])
    (tmp_path / "link.jsonl").symlink_to(path)
    (tmp_path / "hard.jsonl").hardlink_to(path)
    before = path.read_bytes()
    cases = [(("convert", "a.jsonl", "-o", name, "--force"), "is the input") for name in ("link.jsonl", "hard.jsonl")]
    assert mismatches(calipers, cases) == []
    assert path.read_bytes() == before


def test_a_run_that_stops_leaves_the_file_that_was_there(tmp_path: Path, calipers: Calipers):
    out = write_rows(tmp_path / "groups.jsonl", [{"group_id": "old", "trajectories": []}])
    before, bad = out.read_bytes(), row("p", "two", reward="high")
    write_rows(tmp_path / "bad.jsonl", [bad])
    assert calipers("convert", "bad.jsonl", *OUT, "--force").code == 2
    assert out.read_bytes() == before
    write_rows(tmp_path / "a.jsonl", [row("p", "one"), bad])
    assert calipers("convert", "a.jsonl", *OUT, "--force").code == 1
    assert [group.group_id for group in read_groups(out)] != ["old"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "bad.jsonl", "groups.jsonl"]
