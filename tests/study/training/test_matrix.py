"""The matrix: processes of their own, failures that leave the others, and a study that goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; .ci/run has a step with it")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed; .ci/run has a step with it")

from calipers.errors import ConfigError  # noqa: E402 - PyTorch is there
from calipers.study.curves import read_curves  # noqa: E402
from calipers.study.training import train_study  # noqa: E402
from calipers.study.training.matrix import runs_of  # noqa: E402
from training_studies import study  # noqa: E402

STUDY = study(
    {"name": "content"},
    {"name": "arrival", "order": "arrival", "jitter": 1.0, "against": "content"},
    {"name": "learned", "order": "arrival", "learn": 12, "against": "content", "seeds": 2},
)

TOML = """
title = "Small"
seeds = 2
steps = {steps}
window = 2
policy = {{ layers = 1, width = 16, heads = 2, hidden = 16 }}
pretraining = {{ steps = 4, batch = 16 }}
training = {{ prompts = 3, group_size = 4 }}
evaluation = {{ prompts = 10, every = 2 }}

[judges.early]
vices = [{{ kind = "Noise", sd = 0.1 }}, {{ kind = "PositionBias", strength = 0.1 }}]

[[arms]]
name = "content"
judge = "early"

[[arms]]
name = "arrival"
judge = "early"
order = "arrival"
against = "content"
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study") / "out"
    told: list[str] = []
    summaries, valid, failed = train_study(STUDY, "# my study\n", out, workers=2, tell=told.append)
    assert not failed
    assert valid.passed is not True
    assert [one.seeds for one in summaries] == [(0, 1)] * 3
    assert len(told) == 8
    return out


def test_results_hold_settings_versions_and_every_run(done: Path):
    assert (done / "study.toml").read_text() == "# my study\n"
    facts = json.loads((done / "study.json").read_text())
    assert facts["versions"]["torch"] == torch.__version__
    assert set(facts) == {"format", "settings", "profiles", "versions", "git"}
    steps = pq.read_table(done / "steps.parquet").to_pylist()
    assert [(row["arm"], row["seed"], row["step"]) for row in steps] == [
        (arm.name, seed, step) for arm in STUDY.arms for seed in range(2) for step in range(3)
    ]
    assert pq.read_table(done / "evaluations.parquet").num_rows == 3 * 2 * 3
    results = json.loads((done / "results.json").read_text())
    assert results["format"] == "calipers-training/1"
    arm = results["arms"][1]
    assert (arm["name"], arm["against"], arm["runs"], arm["pairs"]) == ("arrival", "content", [0, 1], [0, 1])
    assert arm["settings"]["order"] == "arrival"
    assert arm["differences"]["length"]["n"] == 2
    assert arm["curves"]["step"] == [0, 1, 2]
    assert arm["held_out"]["step"] == [0, 2, 3]
    assert 0 < arm["cost"]["judging_share"] < 1
    curves = read_curves(str(done / "results.json"))
    assert [one.name for one in curves.arms] == ["content", "arrival", "learned"]
    assert len(curves.arms[0].runs["length"]) == 2


def test_a_bias_that_was_learned_before_the_run_corrects_its_scores(done: Path):
    folder = done / "runs" / "learned" / "0"
    assert (folder / "learnt.db").exists()
    assert json.loads((folder / "done.json").read_text())["judging_calls"] == 9


def test_a_finished_study_is_not_run_again(done: Path):
    told: list[str] = []
    before = (done / "results.json").read_bytes()
    train_study(STUDY, "# my study\n", done, tell=told.append)
    assert told == ["6 of 6 runs are finished already"]
    assert (done / "results.json").read_bytes() == before


@pytest.mark.parametrize("file", ["steps.jsonl", "evaluations.jsonl"])
@pytest.mark.parametrize("harm", ["torn", "missing", "empty", "binary", "a list"])
def test_a_finished_run_that_lost_rows_is_no_result(file: str, harm: str, done: Path, tmp_path: Path):
    out = tmp_path / "out"
    shutil.copytree(done, out)
    before = (out / "results.json").read_bytes()
    rows = out / "runs" / "arrival" / "1" / file
    whole = rows.read_bytes()
    rows.write_bytes(
        {"torn": whole[:-20], "binary": b"\xff\x00junk\n" + whole, "a list": b"[1]\n" + whole}.get(harm, b"")
    )
    if harm == "missing":
        rows.unlink()
    with pytest.raises(ConfigError, match=rf"{file}.*delete the folder .*arrival.1"):
        train_study(STUDY, "# my study\n", out)
    assert (out / "results.json").read_bytes() == before


def test_a_folder_with_another_study_is_left_alone(done: Path, tmp_path: Path):
    changed = study({"name": "content", "training": {"kl": 0.5}})
    with pytest.raises(ConfigError, match=r"runs.content.0: the run there has other settings \(training\)"):
        train_study(changed, "", done)
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is a folder with other files in it"):
        train_study(STUDY, "", tmp_path)
    with pytest.raises(ConfigError, match="is a file"):
        train_study(STUDY, "", tmp_path / "thesis.txt")


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path):
    out = tmp_path / "out"
    (out / "study.part").mkdir(parents=True)
    (out / "study.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"out: cannot be written \(Is a directory\); its runs are kept"):
        train_study(STUDY, "", out)


def test_a_run_that_crashes_leaves_the_others_and_is_reported_and_repeated(done: Path, tmp_path: Path):
    one = study({"name": "content"}, {"name": "arrival", "order": "arrival", "jitter": 1.0, "against": "content"})
    broken = tmp_path / "out" / "runs" / "arrival" / "1"
    broken.mkdir(parents=True)
    (broken.parents[2] / "study.json").write_text("{}")
    (broken / "state.pt").write_bytes(b"not a state")
    summaries, _, failed = train_study(one, "", tmp_path / "out")
    assert [(item.run.name, item.run.seed) for item in failed] == [("arrival, seed 1", 1)]
    assert "state" in failed[0].why or "pickle" in failed[0].why.lower()
    assert [summary.seeds for summary in summaries] == [(0, 1), (0,)]
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["failed"][0]["run"] == "arrival, seed 1"
    assert results["arms"][1]["curves"]["truth"][1] == [None] * 3

    (broken / "state.pt").unlink()
    _, _, failed = train_study(one, "", tmp_path / "out")
    assert not failed
    for run in runs_of(one):
        mine, theirs = (run.folder(out).path / "steps.jsonl" for out in (tmp_path / "out", done))
        assert mine.read_bytes() == theirs.read_bytes()


def calipers(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "calipers", "study", "train", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, **options)


def test_the_command_goes_on_after_an_interrupt(tmp_path: Path):
    config, out = tmp_path / "mine.toml", tmp_path / "out"
    config.write_text(TOML.format(steps=20))
    process = calipers(str(config), "-o", str(out))
    steps, until = out / "runs" / "content" / "0" / "steps.jsonl", time.monotonic() + 90
    while not steps.exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Run the same command again to continue" in said

    config.write_text(TOML.format(steps=20))
    process = calipers(str(config), "-o", str(out), "--workers", "2")
    shown, said = process.communicate(timeout=110)
    assert process.returncode == 0, said
    assert "2 arms, 4 runs of 20 steps" in said
    assert "the smallest difference that can be seen (80 % power) is 9.96 standard deviations" in said
    assert "The study is" in said
    assert "arrival" in shown
    assert len(pq.read_table(out / "steps.parquet")) == 80


def test_the_command_checks_and_shows_without_running(tmp_path: Path):
    config = tmp_path / "mine.toml"
    config.write_text(TOML.format(steps=3))
    process = calipers(str(config), "--check", cwd=tmp_path)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, list(tmp_path.iterdir())) == (0, [config]), said
    process = calipers("smoke", "--show")
    shown, _ = process.communicate(timeout=60)
    assert shown.startswith("title = ")
    config.write_text(TOML.format(steps=0))
    process = calipers(str(config), cwd=tmp_path)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "steps=0: it must be a whole number from 1" in said
    assert "Traceback" not in said
