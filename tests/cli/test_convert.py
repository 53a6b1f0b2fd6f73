"""``calipers convert``, called as the command calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from calipers.cli.convert import convert
from calipers.errors import CalipersError
from calipers.inputs import read_groups


def written(path: Path, *rows: Any) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def row(prompt: str, said: str, **more: Any) -> dict[str, Any]:
    return {"prompt": prompt, "completion": said, **more}


def run(*arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(convert, arguments, standalone_mode=False)
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
    assert groups[0].trajectories[1].metadata == {"source": f"{second}:1"}


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
    assert f"{path}:2: has no 'task_id' to group by; the keys are source" in said
    assert said.endswith("1 rollout in 1 group; 1 row could not be read\n")
    assert len(list(read_groups(out))) == 1
    assert run(path, "-o", str(out), "--group-by", "task_id", "--strict")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--format", "swe"), "--format swe: unknown; there are sharegpt, nemo_gym"),
        (("--format", "tau2"), "no rollout could be read; nothing was written"),
    ],
)
def test_a_format_that_is_not_the_files_is_refused(tmp_path: Path, arguments: tuple[str, ...], complaint: str):
    path = written(tmp_path / "a.jsonl", row("p", "one"))
    code, said = run(path, "-o", str(tmp_path / "groups.jsonl"), *arguments)
    assert code == 2
    assert complaint in said
    assert not (tmp_path / "groups.jsonl").exists()


def test_a_file_of_another_kind_is_not_replaced(tmp_path: Path):
    path = written(tmp_path / "a.jsonl", row("p", "one"))
    notes = written(tmp_path / "notes.jsonl", {"note": 1})
    with pytest.raises(CalipersError, match=r"notes\.jsonl"):
        CliRunner().invoke(convert, [path, "-o", notes], standalone_mode=False, catch_exceptions=False)
    assert run(path, "-o", notes, "--force")[0] == 0
    assert run(path, "-o", path)[0] == 2
