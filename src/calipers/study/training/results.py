"""The results of a training study: its runs read back, and written as Parquet and JSON.

The columns and keys are a contract; ``format`` changes with them. Not responsible for what runs say (``summary``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from calipers._version import __version__
from calipers.errors import ConfigError
from calipers.study.intervals import Estimate
from calipers.study.provenance import git_state, profiles_of, versions
from calipers.study.training.auditing import AUDITED
from calipers.study.training.matrix import Failed, runs_of
from calipers.study.training.one_run import Run, settings_of_run, starts_in
from calipers.study.training.run_folder import EVALUATIONS, STEPS
from calipers.study.training.settings import TrainingStudy
from calipers.study.training.summary import (
    CURVES,
    HELD_OUT_CURVES,
    ArmSummary,
    Trained,
    Validity,
    run_curves,
    summarise,
    validity,
)
from calipers.types.encoding import to_json

FORMAT: Final = "calipers-training/1"
_LIBRARIES: Final = ("numpy", "torch", "transformers", "trl", "accelerate", "datasets", "pyarrow")


def read_runs(study: TrainingStudy, out: Path) -> dict[str, list[Trained]]:
    """Return the finished runs of a training study in the folder ``out``, by the name of their arm."""
    found: dict[str, list[Trained]] = {arm.name: [] for arm in study.arms}
    for run in runs_of(study):
        folder = run.folder(out)
        if run.arm is not None and folder.finished is not None:
            found[run.arm.name].append(
                Trained(run.seed, folder.finished_rows(STEPS), folder.finished_rows(EVALUATIONS))
            )
    return found


def write_results(study: TrainingStudy, out: Path, failed: Sequence[Failed]) -> tuple[list[ArmSummary], Validity]:
    """Write the training study's Parquet and JSON files into ``out``, and return what they say."""
    runs = read_runs(study, out)
    summaries, valid = _found(study, out, runs)
    for file, part in (("steps.parquet", "steps"), ("evaluations.parquet", "evaluations")):
        rows = [
            {"arm": name, "seed": run.seed, **row}
            for name, own in runs.items()
            for run in own
            for row in getattr(run, part)
        ]
        _write_parquet(out / file, rows)
    _write_json(out / "results.json", _results(study, out, runs, summaries, valid, failed))
    return summaries, valid


def results_so_far(study: TrainingStudy, out: Path) -> dict[str, Any]:
    """Return what ``results.json`` would hold if the training study in ``out`` ended now; nothing is written."""
    runs = read_runs(study, out)
    open_runs = [run for run in runs_of(study) if run.arm is not None and run.folder(out).finished is None]
    failed = [Failed(run, why.strip()) for run in open_runs if (why := run.folder(out).error) is not None]
    return _results(study, out, runs, *_found(study, out, runs), failed)


def _found(study: TrainingStudy, out: Path, runs: Mapping[str, Sequence[Trained]]) -> tuple[list[ArmSummary], Validity]:
    summaries = summarise(study.arms, runs, study.window)
    starts = starts_in(out, study)
    seeds = [seed for seed in range(study.seeds) if starts.is_made(seed)]
    return summaries, validity(study.arms, summaries, [starts.facts(seed)["truth_spread"] for seed in seeds])


def _results(
    study: TrainingStudy,
    out: Path,
    runs: Mapping[str, Sequence[Trained]],
    summaries: Sequence[ArmSummary],
    valid: Validity,
    failed: Sequence[Failed],
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "calipers": __version__,
        "title": study.title,
        "steps": study.steps,
        "window": study.window,
        "valid": valid.passed,
        "checks": [{"passed": passed, "found": found} for passed, found in valid.checks],
        "failed": [{"run": one.run.name, "why": one.why} for one in failed],
        "seeds": list(range(study.seeds)),
        "arms": [
            {
                "name": arm.name,
                "against": arm.against or None,
                "settings": settings_of_run(study, Run(0, arm)) | {"seed": None},
                "runs": list(summary.seeds),
                "figures": _estimates(summary.figures),
                "pairs": list(summary.pairs),
                "differences": _estimates(summary.differences),
                "stopped": _stopped(study, out, arm.name),
                "cost": _cost(study, out, arm.name),
                **_curves(study, runs[arm.name]),
            }
            for arm, summary in zip(study.arms, summaries, strict=True)
        ],
    }


def _curves(study: TrainingStudy, runs: Sequence[Trained]) -> dict[str, Any]:
    """Return an arm's curves against steps, and those of its evaluations."""
    steps = {run.seed: run.steps for run in runs}
    evaluations = {run.seed: run.evaluations for run in runs}
    stopped = {row["step"] for run in runs for row in run.evaluations}
    evaluated = sorted({*range(0, study.steps, study.evaluation.every), study.steps, *stopped})
    watched = AUDITED if study.audit is not None or study.stop is not None else ()
    return {
        "curves": run_curves(steps, study.seeds, (*CURVES, *watched), range(study.steps)),
        "held_out": run_curves(evaluations, study.seeds, HELD_OUT_CURVES, evaluated),
    }


def _cost(study: TrainingStudy, out: Path, arm: str) -> dict[str, float]:
    """Return CPU milliseconds a step, judging and evaluation included, and the share of them spent in judging."""
    done = [facts for _, facts in _finished(study, out, arm)]
    seconds = sum(one["seconds"] for one in done)
    if not seconds:
        return {}
    judging = sum(one["judging_seconds"] for one in done)
    steps = sum(one.get("steps", study.steps) for one in done)
    return {"cpu_ms_per_step": 1e3 * seconds / steps, "judging_share": judging / seconds}


def _stopped(study: TrainingStudy, out: Path, arm: str) -> list[dict[str, Any]]:
    """Return the runs of an arm that a stop rule ended, with the rule, the step and what was found."""
    return [{"seed": seed, **facts["stopped"]} for seed, facts in _finished(study, out, arm) if facts.get("stopped")]


def stopped_runs(study: TrainingStudy, out: Path) -> list[str]:
    """Return a sentence for each run of a training study that a stop rule ended."""
    return [
        f"{arm.name}, seed {one['seed']}, after step {one['step']} by rule {one['rule']}: {one['found']}"
        for arm in study.arms
        for one in _stopped(study, out, arm.name)
    ]


def _finished(study: TrainingStudy, out: Path, arm: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the seeds of an arm's finished runs, with the facts about each."""
    found = [
        (run.seed, run.folder(out).finished) for run in runs_of(study) if run.arm is not None and run.arm.name == arm
    ]
    return [(seed, facts) for seed, facts in found if facts is not None]


def _estimates(found: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: asdict(one) for name, one in found.items()}


def write_study(study: TrainingStudy, text: str, out: Path) -> None:
    """Record in ``out`` what the training study is: its TOML, all settings, profiles, versions and state of the code.

    Raises ConfigError if the study in ``out`` was begun with other contents of a profile.
    """
    out.mkdir(parents=True, exist_ok=True)
    profiles = _profiles(study)
    _require_same_profiles(out, profiles)
    (out / "study.toml").write_text(text, encoding="utf-8")
    made_with = {"versions": versions(_LIBRARIES), "git": git_state(Path.cwd())}
    recorded = {"settings": asdict(study), "profiles": profiles, **made_with}
    _write_json(out / "study.json", {"format": FORMAT, **recorded})


def _profiles(study: TrainingStudy) -> dict[str, Any]:
    """Return the contents of all profiles that judges of a study answer with, by the name that the study gives them."""
    arms = (*study.arms, *([study.auditor] if study.auditor is not None else []))
    tables = [table for arm in arms for table in (arm.judge, *arm.members)]
    return profiles_of((table.profile for table in tables), (table.model for table in tables))


def _require_same_profiles(out: Path, profiles: Mapping[str, Any]) -> None:
    try:
        recorded = json.loads((out / "study.json").read_bytes()).get("profiles", {})
    except (OSError, ValueError, AttributeError):
        return
    for name, profile in profiles.items():
        if name in recorded and recorded[name] != profile:
            raise ConfigError(
                f"{out}: the study there was begun with another content of profile {name!r}; name another folder with "
                "-o, or delete this one"
            )


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(to_json(value) + b"\n")
    part.replace(path)


def _write_parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and an extra
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    part = path.with_suffix(".part")
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), part)
    part.replace(path)
