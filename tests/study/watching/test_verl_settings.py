"""What verl's own file of metrics says of a watched run."""

import json
from pathlib import Path

import pytest

from calipers.study.watching.verl_settings import logged_by_verl


def metrics(step: int, kl: object) -> bytes:
    return json.dumps({"step": step, "data": {"actor/kl_loss": kl}}).encode() + b"\n"


def test_steps_after_one_are_read_and_count_updates(tmp_path: Path) -> None:
    log = tmp_path / "verl.jsonl"
    log.write_bytes(metrics(1, 0.1) + metrics(2, 0.2) + metrics(3, 0.3))
    assert logged_by_verl(str(log), after=0, on_problem=pytest.fail) == [
        {"step": 1, "kl": 0.2},
        {"step": 2, "kl": 0.3},
    ]


def test_a_file_that_is_not_there_yet_is_no_problem(tmp_path: Path) -> None:
    assert logged_by_verl(str(tmp_path / "none"), after=-1, on_problem=pytest.fail) == []


def test_a_line_still_being_written_is_left_for_later(tmp_path: Path) -> None:
    log = tmp_path / "verl.jsonl"
    log.write_bytes(metrics(1, 0.1) + b'{"step": 2, "da')
    assert logged_by_verl(str(log), after=-1, on_problem=pytest.fail) == [{"step": 0, "kl": 0.1}]


@pytest.mark.parametrize(
    "line",
    [
        b'{"step": 2, "da{"step": 2, "data": {}}',
        b"[1]",
        b"\xff\xfe",
        b'{"step": 2}',
        b'{"data": {}}',
        b'{"step": "two", "data": {}}',
        b'{"step": 1e999, "data": {}}',
        b'{"step": 2, "data": null}',
        b"[" * 100_000,
        b"",
    ],
)
def test_a_line_that_is_no_row_is_named_and_the_others_are_read(tmp_path: Path, line: bytes) -> None:
    log, problems = tmp_path / "verl.jsonl", list[str]()
    log.write_bytes(metrics(1, 0.1) + line + b"\n" + metrics(3, 0.3))
    assert [row["step"] for row in logged_by_verl(str(log), after=-1, on_problem=problems.append)] == [0, 2]
    assert problems == [f"{log}:2: this line is no row of verl's metrics, and is left out"]


def test_a_file_that_cannot_be_read_is_a_problem_and_not_silence(tmp_path: Path) -> None:
    problems = list[str]()
    assert logged_by_verl(str(tmp_path), after=-1, on_problem=problems.append) == []
    assert len(problems) == 1
    assert str(tmp_path) in problems[0]
