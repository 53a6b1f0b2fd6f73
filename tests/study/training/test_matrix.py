"""The matrix of runs: files of finished runs, going on, failures, workers; and what results.json says of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from calipers.errors import ConfigError
from calipers.study.intervals import estimate
from calipers.study.training.matrix import make_runs
from calipers.study.training.results import ArmSummary, validity, write_results
from training_studies import DEAD, EARLY, study, study_file

TWO_WORKERS = """
import time
from calipers.study.training.matrix import _results
for _ in _results([(name, time.sleep, (seconds,)) for name, seconds in (("a", 0), ("b", 60), ("c", 60))], 2):
    print("working", flush=True)
"""
ARMS = ({"judge": "true", "control": "true"}, {"against": "arm 1"})


def test_a_study_is_made_and_goes_on_with_the_runs_that_are_missing(tmp_path: Path):
    told: list[str] = []
    file, out = study_file(*ARMS), tmp_path / "out"
    assert make_runs(file, out) == {}
    files = sorted(str(path.relative_to(out)) for path in out.rglob("*.json"))
    assert files == [f"runs/arm {arm}/{seed}.json" for arm in (1, 2) for seed in (0, 1)]
    lost = out / files[1]
    before = json.loads(lost.read_bytes())
    lost.unlink()
    assert make_runs(file, out, tell=told.append) == {}
    assert told[0] == "3 of 4 runs are finished already"
    after = json.loads(lost.read_bytes())
    assert (after["steps"], after["evaluations"]) == (before["steps"], before["evaluations"])
    summaries, _ = write_results(file.study, out, {})
    found = json.loads((out / "results.json").read_bytes())
    arm = found["arms"][1]
    assert (arm["name"], arm["against"], arm["runs"]) == ("arm 2", "arm 1", [0, 1])
    assert [len(row) for row in arm["curves"]["truth"]] == [3, 3]
    assert arm["held_out"]["step"] == [0, 2, 3]
    ends = [[_last(out, arm, seed) for seed in (0, 1)] for arm in (1, 2)]
    difference = estimate([one - other for one, other in zip(ends[1], ends[0], strict=True)])
    assert summaries[1].differences["held_out_truth"] == difference
    assert arm["differences"]["held_out_truth"]["mean"] == pytest.approx(difference.mean)


def _last(out: Path, arm: int, seed: int) -> float:
    run = json.loads((out / f"runs/arm {arm}/{seed}.json").read_bytes())
    return float(run["evaluations"][-1]["truth"])


def test_a_study_is_repeated_with_fresh_seeds(tmp_path: Path):
    file = study_file(*ARMS, first_seed=7)
    assert make_runs(file, tmp_path) == {}
    assert sorted(path.name for path in tmp_path.glob("runs/arm 1/*")) == ["7.json", "8.json"]
    summaries, _ = write_results(file.study, tmp_path, {})
    assert [one.seeds for one in summaries] == [(7, 8), (7, 8)]
    arm = json.loads((tmp_path / "results.json").read_bytes())["arms"][0]
    assert all(None not in row for row in arm["curves"]["truth"])


def test_another_study_other_files_and_damage_are_refused(tmp_path: Path):
    file, out = study_file({"seeds": 1}), tmp_path / "out"
    make_runs(file, out)
    with pytest.raises(ConfigError, match=r"other settings \(training\)"):
        make_runs(study_file({"seeds": 1, "training": {"kl": 0.5}}), out)
    (out / "runs" / "arm 1" / "0.json").write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"0\.json: is damaged; delete it"):
        make_runs(file, out)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("precious", encoding="utf-8")
    for place in (tmp_path / "mine", tmp_path / "mine" / "notes.txt"):
        with pytest.raises(ConfigError, match="-o "):
            make_runs(file, place)


def test_a_run_that_fails_leaves_the_others_and_is_reported(tmp_path: Path):
    file = study_file({"judge": "dead"}, {}, judges={"dead": DEAD, "early": EARLY}, seeds=1)
    failed = make_runs(file, tmp_path / "out")
    assert list(failed) == ["arm 1, seed 0"]
    summaries, valid = write_results(file.study, tmp_path / "out", failed)
    assert [one.seeds for one in summaries] == [(), (0,)]
    assert valid.passed is not True
    assert json.loads((tmp_path / "out" / "results.json").read_bytes())["failed"][0]["run"] == "arm 1, seed 0"


@pytest.mark.slow
def test_workers_make_the_same_runs(tmp_path: Path):
    file = study_file(*ARMS)
    for workers, name in ((1, "one"), (2, "two")):
        assert make_runs(file, tmp_path / name, workers=workers) == {}
    for path in (tmp_path / "one").rglob("runs/*/*.json"):
        one, two = (json.loads(p.read_bytes()) for p in (path, tmp_path / "two" / path.relative_to(tmp_path / "one")))
        assert one["steps"] == two["steps"]


@pytest.mark.slow
def test_workers_end_with_the_process_that_started_them():
    """Its stdout, which they inherit, reaches its end only when all of them are gone."""
    with subprocess.Popen([sys.executable, "-c", TWO_WORKERS], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "working\n"
        parent.terminate()
        assert parent.communicate(timeout=20)[0] == ""


@pytest.mark.slow
def test_the_gpt_runs_through_the_same_loop(tmp_path: Path):
    pytest.importorskip("torch", reason="PyTorch is not installed; .ci/run has a step with it")
    file = study_file(*ARMS, policy="gpt")
    assert make_runs(file, tmp_path / "out") == {}
    assert len(list((tmp_path / "out" / "starts").glob("*.pt"))) == 2
    summaries, _ = write_results(file.study, tmp_path / "out", {})
    assert summaries[0].figures["held_out_kl"].n == 2


def test_validity_needs_spread_true_rewards_that_teach_and_a_placebo_that_does_not():
    content = study({"control": "true"}, {"control": "placebo"})

    def passed(true: list[float], placebo: list[float], spread: float = 0.5) -> bool | None:
        made = [
            ArmSummary(arm.name, "", tuple(range(len(gains))), {"held_out_truth_gain": estimate(gains)}, {})
            for arm, gains in zip(content.arms, (true, placebo), strict=True)
        ]
        return validity(content, made, [spread]).passed

    taught, untaught = [0.2, 0.21, 0.19], [0.01, -0.02, 0.0]
    assert passed(taught, untaught) is True
    assert passed(taught, taught) is False
    assert passed([0.1, -0.2, 0.05], untaught) is False
    assert passed(taught, untaught, 0.95) is False
    assert passed([0.2], [0.0]) is None
    assert passed([0.2, 0.2], [0.01, -0.02]) is None
