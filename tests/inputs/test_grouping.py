"""Which rollouts are candidates for one prompt."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.inputs import read_groups
from calipers.inputs.grouping import grouped, rollouts_of
from inputs.written import read, said_in, written

ANSWERED = {"role": "assistant", "content": "a"}


def row(prompt: str, said: str, **more: Any) -> dict[str, Any]:
    return {"prompt": prompt, "completion": said, **more}


def ids_of(groups: list[Any]) -> list[tuple[str, int]]:
    return [(group.group_id, len(group.trajectories)) for group in groups]


def test_equal_prompts_are_a_group_with_the_prompt_as_its_context(tmp_path: Path):
    groups, problems = read(written(tmp_path / "t.jsonl", row("p", "a"), row("q", "b"), row("p", "c")))
    assert (said_in(groups), problems) == ([[["p", "a"], ["p", "c"]], [["q", "b"]]], [])
    assert groups[0].context == ({"role": "user", "content": "p"},)


def test_a_group_id_names_the_group_and_different_prompts_in_it_are_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    rows = [row("p", "a", group_id="x"), row("q", "b", group_id="x"), row("p", "c", group_id="y")]
    groups, _ = read(written(tmp_path / "t.jsonl", *rows))
    assert ids_of(groups) == [("x", 2), ("y", 1)]
    assert "t.jsonl:2: the rollouts of 'x' have different prompts (compare line 1)" in caplog.text


def test_equal_names_of_two_data_sets_are_two_tasks(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    rows = [row("p", "a", example_id=3), row("q", "b", example_id=3), row("p", "c", example_id=3)]
    groups, _ = read(written(tmp_path / "t.jsonl", *rows))
    assert ids_of(groups) == [("3", 2), ("3-2", 1)]
    assert "'3' also names rollouts of another prompt" in caplog.text
    run = {"task_id": "0", "reward_info": None, "messages": [ANSWERED]}
    runs = [
        {"info": {"environment_info": {"domain_name": name}}, "simulations": [run]} for name in ("airline", "retail")
    ]
    groups, _ = read(written(tmp_path / "u.jsonl", *runs))
    assert ids_of(groups) == [("airline/0", 1), ("retail/0", 1)]


def test_few_shot_prompts_are_told_apart_by_what_the_row_calls_the_prompt(tmp_path: Path):
    shots = [{"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"}]
    rows = [
        {"prompt": [*shots, {"role": "user", "content": asked}], "completion": said}
        for asked, said in (("2+2", "4"), ("3+3", "6"), ("2+2", "5"))
    ]
    groups, _ = read(written(tmp_path / "t.jsonl", *rows))
    assert [(len(group.context), len(group.trajectories)) for group in groups] == [(3, 2), (3, 1)]


def test_rollouts_without_a_users_prompt_or_an_answer_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    rows = [{"messages": [{"role": "system", "content": "s"}, ANSWERED]}] * 2
    groups, _ = read(written(tmp_path / "t.jsonl", *rows))
    assert [len(group.trajectories) for group in groups] == [1, 1]
    assert "t.jsonl:1: has no prompt of a user's" in caplog.text
    list(read_groups([{"messages": [{"role": "user", "content": "q"}]}]))
    assert "has no message of an assistant" in caplog.text


def test_ids_and_times_of_messages_make_no_other_prompt(tmp_path: Path):
    rows = [{"messages": [{"role": "user", "content": "q", "id": at, "timestamp": at}, ANSWERED]} for at in (1, 2)]
    groups, _ = read(written(tmp_path / "t.jsonl", *rows))
    assert [len(group.trajectories) for group in groups] == [2]


def test_a_key_of_the_rows_may_say_what_a_group_is():
    rows = [row("p", "a", k=1), row("p", "b", k="1"), row("p", "c", k=1), row("p", "d", info={"k": 1})]
    told: list[str] = []
    rollouts = rollouts_of(enumerate(rows, start=1))
    found = list(grouped(rollouts, group_by="k", note=lambda _, text: told.append(text)))
    assert found[0] == (4, "has no 'k' to group by; the keys are info")
    assert [(group["group_id"], len(group["trajectories"])) for _, group in found[1:]] == [("1", 2), ("1-2", 1)]
    assert len(told) == 1


def test_rows_on_stdin_and_in_memory_are_grouped_too(monkeypatch: pytest.MonkeyPatch):
    rows = [row("p", "a"), row("p", "b")]
    assert [len(group.trajectories) for group in read_groups(rows)] == [2]
    lines = io.BytesIO(b"".join(json.dumps(one).encode() + b"\n" for one in rows))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(lines))
    assert [len(group.trajectories) for group in read_groups("-")] == [2]
    with pytest.raises(ConfigError, match="reader='parquet' reads files"):
        next(read_groups(rows, reader="parquet"))


def test_titles_and_damaged_lines_may_precede_the_rollouts(tmp_path: Path):
    groups, problems = read(written(tmp_path / "t.jsonl", {"title": "run 7"}, b"{broken\n", row("p", "a")))
    assert ([len(group.trajectories) for group in groups], len(problems)) == ([1], 2)


def test_a_groups_file_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    group = {"group_id": "g", "trajectories": [{"messages": [ANSWERED]}]}
    with caplog.at_level(logging.WARNING):
        assert ids_of(list(read_groups(written(tmp_path / "t.jsonl", group)))) == [("g", 1)]
        _, problems = read(written(tmp_path / "u.jsonl", group, row("p", "a")))
    assert not caplog.records
    assert "is one rollout among groups" in problems[0]


def test_a_row_that_is_nested_deeply_costs_itself_alone(tmp_path: Path):
    nested = b'{"prompt": "p", "completion": "a", "info": ' + b"[" * 5000 + b"]" * 5000 + b"}\n"
    groups, problems = read(written(tmp_path / "rows.jsonl", nested, row("p", "b")))
    assert ([len(group.trajectories) for group in groups], len(problems)) == ([1], 1)
