"""A watched training study: audits that never become rewards, stop rules that end a run, and runs that go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed; .ci/run has a step with it")
pytest.importorskip("pyarrow", reason="pyarrow is not installed; .ci/run has a step with it")

from calipers.study.curves import read_curves
from calipers.study.training.auditing import AUDITED, FOLDER, Auditing
from calipers.study.training.one_run import Run, make, settings_of_run
from calipers.study.training.results import stopped_runs, write_results
from calipers.study.training.run_folder import EVALUATIONS, STEPS
from calipers.study.training.settings import TrainingStudy
from training_studies import study

pytestmark = pytest.mark.filterwarnings("default")

JUDGES = {"own": {"vices": [{"kind": "LengthBias", "per_doubling": 0.3}]}, "careful": {}}
AUDIT = {"judge": "careful", "every": 2, "sample": 2}
STOP = {"length": 1.0001, "window": 1}
"""A rule that any change of length breaks."""


def made(out: Path, **content: Any) -> tuple[TrainingStudy, dict[str, Any]]:
    """A study with one run, and its results."""
    engine = content.pop("engine", "loop")
    defined = study({"judge": "own", "engine": engine, "seeds": 1}, judges=JUDGES, steps=5, **content)
    for run in (Run(0), Run(0, defined.arms[0])):
        run.folder(out).begin(settings_of_run(defined, run))
        make(defined, run, out)
    write_results(defined, out, [])
    return defined, json.loads((out / "results.json").read_bytes())


def training_rows(defined: TrainingStudy, out: Path) -> list[dict[str, Any]]:
    """The rows of the run's steps, without what the watch adds to them."""
    rows = Run(0, defined.arms[0]).folder(out).rows(STEPS)
    return [{key: value for key, value in row.items() if key not in AUDITED} for row in rows]


def test_a_watched_run_trains_as_the_same_run_without_a_watch(tmp_path: Path) -> None:
    plain, _ = made(tmp_path / "plain")
    watched, results = made(tmp_path / "watched", audit=AUDIT)
    assert training_rows(watched, tmp_path / "watched") == training_rows(plain, tmp_path / "plain")
    (arm,) = results["arms"]
    assert arm["stopped"] == []
    assert [value is not None for value in arm["curves"]["audit_gap"][0]] == [True, False, True, False, True]
    folder = Run(0, watched.arms[0]).folder(tmp_path / "watched").path / FOLDER
    assert {"audit_gap", "truth", "kl"} <= set(read_curves(str(folder)).names)
    assert "audit_gap" in read_curves(str(tmp_path / "watched")).names


@pytest.mark.parametrize("engine", ["loop", "trl"])
def test_a_broken_rule_ends_a_run_and_the_results_say_so(engine: str, tmp_path: Path) -> None:
    if engine == "trl":
        pytest.importorskip("trl", reason="TRL is not installed; .ci/run has a step with it")
    defined, results = made(tmp_path, engine=engine, stop=STOP, training={"prompts": 3, "group_size": 4})
    (arm,) = results["arms"]
    (stopped,) = arm["stopped"]
    steps = stopped["step"] + 1
    assert (stopped["seed"], stopped["rule"]) == (0, "length")
    assert 1 < steps < 5
    folder = Run(0, defined.arms[0]).folder(tmp_path)
    assert [row["step"] for row in folder.rows(STEPS)] == list(range(steps))
    assert folder.rows(EVALUATIONS)[-1]["step"] == steps
    assert [value is None for value in arm["curves"]["truth"][0]] == [step >= steps for step in range(5)]
    assert arm["held_out"]["truth"][0][arm["held_out"]["step"].index(steps)] is not None
    (sentence,) = stopped_runs(defined, tmp_path)
    assert sentence.startswith(f"arm 1, seed 0, after step {steps - 1} by rule length: responses have")


def test_the_rule_about_kl_has_the_divergence_of_the_held_out_prompts(tmp_path: Path) -> None:
    _, results = made(tmp_path, stop={"kl": 0.0})
    (stopped,) = results["arms"][0]["stopped"]
    assert (stopped["rule"], stopped["step"]) == ("kl", 2)  # evaluations are before steps 0, 2 and 4


def test_a_crash_leaves_the_watch_as_if_the_run_had_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defined, _ = made(tmp_path / "whole", audit=AUDIT)
    out, run = tmp_path / "parts", Run(0, defined.arms[0])
    for one in (Run(0), run):
        one.folder(out).begin(settings_of_run(defined, one))
    make(defined, Run(0), out)

    def crash(step: int) -> None:
        if step == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as crashing:
        crashing.setattr("calipers.study.training.one_run._stop_if_orphaned", crash)
        with pytest.raises(KeyboardInterrupt):
            make(defined, run, out)
    make(defined, run, out)
    for file in (f"{FOLDER}/groups.jsonl", f"{FOLDER}/trainer.jsonl", STEPS, EVALUATIONS):
        parts, whole = (run.folder(tmp_path / name).path / file for name in ("parts", "whole"))
        assert parts.read_bytes() == whole.read_bytes()


def test_a_panel_may_audit(tmp_path: Path) -> None:
    judges = {**JUDGES, "panel": {"panel": ["careful", "own"]}}
    defined = study({"judge": "own"}, judges=judges, audit={"judge": "panel"})
    assert defined.auditor is not None
    auditing = Auditing(defined, 0, Run(0, defined.arms[0]).folder(tmp_path))
    assert len(defined.auditor.members) == 2
    auditing.close()


def test_a_study_without_the_tables_has_the_settings_it_had(tmp_path: Path) -> None:
    plain = study({"judge": "own"}, judges=JUDGES)
    assert not {"audit", "auditor", "stop"} & settings_of_run(plain, Run(0, plain.arms[0])).keys()
    watched = study({"judge": "own"}, judges=JUDGES, audit=AUDIT)
    assert settings_of_run(watched, Run(0, watched.arms[0]))["audit"] == AUDIT
    assert settings_of_run(watched, Run(0)) == settings_of_run(plain, Run(0))  # first policies are the same
