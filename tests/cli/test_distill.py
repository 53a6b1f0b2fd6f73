"""``calipers distill``, run as a person runs it, and its judge in other commands."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from command_line import mismatches, run_in
from distilled import groups_of, recorded_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger of 40 groups, the groups, and a judge made of them."""
    found = tmp_path_factory.mktemp("distilled")
    groups = groups_of(40)
    (found / "groups.jsonl").write_text("\n".join(json.dumps(one.to_dict()) for one in groups), encoding="utf-8")
    recorded_run(found / "run.db", groups)
    done = run_in(found, "distill", "run.db", "-o", "judge")
    assert done.code == 0, done.err
    assert "judge: 40 groups of 30 prompts, taught by SimulatedJudge" in done.out
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


def test_a_mistake_is_one_sentence_and_nothing_is_written(folder: Path) -> None:
    (folder / "broken").mkdir()
    (folder / "broken" / "model.json").write_text("{")
    cases = [
        (("distill", "run.db", "-o", "groups.jsonl"), "is a file; name a folder"),
        (("distill", "nowhere.db", "-o", "new"), "nowhere.db"),
        (("distill", "groups.jsonl", "-o", "new"), "is no ledger"),
        (("distill", "run.db", "-o", "new", "--run", "7"), "it has no run 7"),
        (
            ("score", "groups.jsonl", "-o", "none.jsonl", "--judge", "local:broken"),
            "local:broken: model.json is not the model",
        ),
    ]
    assert mismatches(partial(run_in, folder), cases) == []
    assert not (folder / "new").exists()
