"""``calipers distill``, run as a person runs it, and its judge in other commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import run_in
from distilled import groups_of, recorded_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger of 40 groups, the groups, and a judge made of them."""
    found = tmp_path_factory.mktemp("distilled")
    groups = groups_of(40)
    (found / "groups.jsonl").write_text("\n".join(json.dumps(one.to_dict()) for one in groups), encoding="utf-8")
    recorded_run(found / "run.db", groups)
    done = run_in(found, "distill", "run.db", "-o", "judge", "--name", "words")
    assert done.code == 0, done.err
    assert "words: 40 groups of 30 prompts, taught by SimulatedJudge" in done.out
    assert "agrees with the teacher" in done.out
    assert "Wrote judge. Read judge/card.md; the judge is --judge local:judge" in done.err
    return found


def test_it_scores_is_calibrated_and_examined(folder: Path) -> None:
    done = run_in(folder, "score", "groups.jsonl", "-o", "out.jsonl", "--judge", "local:judge")
    assert done.code == 0, done.err
    done = run_in(folder, "calibrate", "groups.jsonl", "--judge", "local:judge", "--orders", 1, "--json")
    assert done.code == 0, done.err
    (judge,) = json.loads(done.out)["judges"]
    assert judge["judge"] == "local:judge"
    done = run_in(folder, "doctor", "--judge", "local:judge")
    assert done.code in {0, 1}, done.err
    assert "Traceback" not in done.err + done.out


def test_it_is_named_in_a_settings_file(folder: Path) -> None:
    (folder / "calipers.toml").write_text('judge = "local:judge"\n')
    try:
        done = run_in(folder, "score", "groups.jsonl", "-o", "-")
    finally:
        (folder / "calipers.toml").unlink()
    assert done.code == 0, done.err
    first = json.loads(done.out.splitlines()[0])
    assert any("local judge words" in one for one in first["warnings"])


def test_the_figures_are_printed_as_json(folder: Path) -> None:
    done = run_in(folder, "distill", "run.db", "-o", "again", "--json")
    assert json.loads(done.out) == json.loads((folder / "again" / "card.json").read_text(encoding="utf-8"))


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
    done = run_in(folder, "distill", *arguments)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert not (folder / "new").exists()


def test_a_damaged_judge_is_one_sentence(folder: Path) -> None:
    (folder / "broken").mkdir()
    (folder / "broken" / "model.json").write_text("{")
    done = run_in(folder, "score", "groups.jsonl", "-o", "none.jsonl", "--judge", "local:broken")
    assert done.code == 2
    assert "local:broken: model.json is damaged" in done.err
    assert "Traceback" not in done.err
