"""``calipers distill``, run as a person runs it, and its judge in other commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from distilled import groups_of, recorded_run


def calipers(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", *map(str, arguments)], cwd=cwd, env=os.environ | {"COLUMNS": "160"},
        capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger of 40 groups, the groups, and a judge made of them."""
    found = tmp_path_factory.mktemp("distilled")
    groups = groups_of(40)
    (found / "groups.jsonl").write_text("\n".join(json.dumps(one.to_dict()) for one in groups), encoding="utf-8")
    recorded_run(found / "run.db", groups)
    done = calipers("distill", "run.db", "-o", "judge", "--name", "words", cwd=found)
    assert done.returncode == 0, done.stderr
    assert "words-1: 40 groups of 30 prompts, taught by SimulatedJudge" in done.stdout
    assert "agrees with the teacher" in done.stdout
    assert "Wrote judge (words-1). Read judge/card.md; the judge is --judge local:judge" in done.stderr
    return found


def test_it_scores_is_calibrated_and_examined(folder: Path) -> None:
    done = calipers("score", "groups.jsonl", "-o", "out.jsonl", "--judge", "local:judge", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = calipers("calibrate", "groups.jsonl", "--judge", "local:judge", "--orders", 1, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (judge,) = json.loads(done.stdout)["judges"]
    assert judge["judge"] == "local:judge"
    done = calipers("doctor", "--judge", "local:judge", cwd=folder)
    assert done.returncode in {0, 1}, done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_it_is_named_in_a_settings_file(folder: Path) -> None:
    (folder / "calipers.toml").write_text('judge = "local:judge"\n')
    try:
        done = calipers("score", "groups.jsonl", "-o", "-", cwd=folder)
    finally:
        (folder / "calipers.toml").unlink()
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout.splitlines()[0])
    assert any("local judge words-1" in one for one in first["warnings"])


def test_the_figures_are_printed_as_json(folder: Path) -> None:
    done = calipers("distill", "run.db", "-o", "again", "--json", cwd=folder)
    assert json.loads(done.stdout) == json.loads((folder / "again" / "card.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run.db", "-o", "groups.jsonl"), "is a file; name a folder"),
        (("nowhere.db", "-o", "new"), "nowhere.db"),
        (("groups.jsonl", "-o", "new"), "the ledger cannot be read"),
        (("run.db", "-o", "new", "--run", "7"), "it has no run 7"),
        (("run.db", "-o", "new", "--teacher", "ann"), "no group was scored by it alone"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_written(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    done = calipers("distill", *arguments, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "new").exists()


def test_a_damaged_judge_is_one_sentence(folder: Path) -> None:
    (folder / "broken").mkdir()
    (folder / "broken" / "model.json").write_text("{")
    done = calipers("score", "groups.jsonl", "-o", "none.jsonl", "--judge", "local:broken", cwd=folder)
    assert done.returncode == 2
    assert "local:broken: model.json is damaged" in done.stderr
    assert "Traceback" not in done.stderr
