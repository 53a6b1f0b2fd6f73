"""Criteria on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Calipers
from groups import FOUR, group_of

RUBRIC = '[[criteria]]\nid = "sum"\ntext = "Gives 42."\npoints = 2\n\n[[criteria]]\ntext = "Apologises."\npoints = -1\n'
SAID = ({"right": True, "close": False, "far": False, "silent": False}, dict.fromkeys(FOUR, False) | {"silent": True})

Score = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "groups.jsonl").write_text(json.dumps(group_of(FOUR).to_dict()) + "\n", encoding="utf-8")
    (tmp_path / "r.toml").write_text(RUBRIC, encoding="utf-8")
    rows = [{"text": json.dumps({f"{{{{{name}}}}}": {"met": met} for name, met in said.items()})} for said in SAID]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


@pytest.fixture
def score(calipers: Calipers) -> Score:
    """Run ``calipers COMMAND`` with these arguments: exit code, and what it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        ended = calipers(*arguments)
        return ended.code, ended.err

    return run


SETTINGS = (
    "--protocol",
    "checklist",
    "--rubric",
    "r.toml",
    "--grading",
    "mode=relative",
    "--judge",
    "scripted:said.jsonl",
)


def test_a_rubric_file_grades_and_replays(folder: Path, score: Score) -> None:
    code, said = score("score", "groups.jsonl", "-o", "out.jsonl", *SETTINGS)
    assert code == 0, said
    line = json.loads((folder / "out.jsonl").read_text(encoding="utf-8"))
    assert {one["id"]: one["score"] for one in line["trajectories"]} == {
        "right": 1.0, "close": 0.0, "far": 0.0, "silent": -0.5,
    }  # fmt: skip
    assert score("replay", "out.jsonl.ledger.db", "-o", "again.jsonl")[0] == 0
    assert (folder / "again.jsonl").read_bytes() == (folder / "out.jsonl").read_bytes()


def test_the_embedded_judge_says_that_it_cannot_check_criteria(folder: Path, score: Score) -> None:
    code, _ = score("score", "groups.jsonl", "-o", "out.jsonl", "--rubric", "r.toml", "--protocol", "checklist")
    line = json.loads((folder / "out.jsonl").read_text(encoding="utf-8"))
    assert code == 1
    assert line["status"] == "failed"
    assert "cannot check criteria" in line["trajectories"][0]["reason"]


@pytest.mark.parametrize(("flags", "said"), [
    (("--rubric", "bad.toml"), "bad.toml: criterion 1: points must be a finite number"),
    (("--rubric", "none.toml"), "none.toml: there is no such file"),
    (("--rubric", "r.toml", "--grading", "relative"), "--grading relative: write KEY=VALUE, as in mode=relative"),
    (("--rubric", "r.toml", "--grading", "mode=some"), "mode='some'"),
    (("--rubric", "r.toml", "--grading", "points=1"), "no field 'points'"),
])  # fmt: skip
def test_mistakes_are_one_sentence(folder: Path, score: Score, flags: tuple[str, ...], said: str) -> None:
    (folder / "bad.toml").write_text('[[criteria]]\ntext = "x"\npoints = "two"\n', encoding="utf-8")
    code, told = score("score", "groups.jsonl", "-o", "out.jsonl", "--protocol", "checklist", *flags)
    assert code == 2
    assert said in told
