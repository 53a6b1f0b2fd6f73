"""What a study's runs say: figures of each arm, paired differences, curves, and whether the study is valid."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from calipers._version import __version__
from calipers.study.intervals import Estimate, estimate, paired_difference
from calipers.study.training.matrix import read_run, runs_of, settings_of
from calipers.study.training.rollouts import FIGURES
from calipers.study.training.settings import Arm, Study
from calipers.types.encoding import to_json

FORMAT: Final = "calipers-training/1"
RESULTS: Final = "results.json"
_PULLS: Final = ("length_pull", "truth_pull", "unscored", "weight")
_LAST: Final = (*FIGURES, "truth_spread", "reward_spread", "missing", "unscored")
CURVES: Final = (*FIGURES, "truth_spread", "reward_spread", *_PULLS)
"""Figures of steps that have a curve."""
HELD_OUT: Final = (*FIGURES, "kl", "groups", "calls")
"""Figures of evaluations that have a curve; the last three are there to be drawn against."""
_SAME: Final = 1e-9
"""Gains of held-out truth that differ by less are equal: they are whole numbers of prompts."""
_SPREAD: Final = (0.2, 0.8)
"""The share of groups with right and wrong responses that a valid study starts with."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """An arm's figures over its runs, and their paired differences from the arm ``against``, by name."""

    name: str
    against: str
    seeds: tuple[int, ...]
    figures: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether a study's arms count; None if a check could not be made. ``checks`` say what was found."""

    passed: bool | None
    checks: tuple[tuple[bool | None, str], ...]


def run_figures(run: Row, window: int) -> dict[str, float]:
    """Return the figures of a study's run.

    Figures of rollouts are means over the last ``window`` steps, those that begin with "first_" over the first.
    "held_out_" figures are of the last evaluation; ``held_out_truth_area`` is the mean over all evaluations, and
    ``held_out_truth_gain`` the last less the first. ``calls`` are the judge's answers.
    """
    steps, evaluations = run["steps"], run["evaluations"]
    values = {name: _mean(steps[-window:], name) for name in _LAST}
    values |= {f"first_{name}": _mean(steps[:window], name) for name in _PULLS}
    values |= {f"held_out_{name}": float(evaluations[-1][name]) for name in (*FIGURES, "kl")}
    values["held_out_truth_area"] = _mean(evaluations, "truth")
    values["held_out_truth_gain"] = float(evaluations[-1]["truth"] - evaluations[0]["truth"])
    values["calls"] = float(steps[-1]["calls"])
    return values


def _mean(rows: Sequence[Row], name: str) -> float:
    return math.fsum(row[name] for row in rows) / len(rows)


def summarise(study: Study, runs: Mapping[str, Mapping[int, Row]]) -> list[ArmSummary]:
    """Return the figures of a study's arms, in their order, from the finished runs of each by its name and seed."""
    values = {name: {seed: run_figures(run, study.window) for seed, run in row.items()} for name, row in runs.items()}
    summaries = []
    for arm in study.arms:
        by_seed, control = values[arm.name], values.get(arm.against, {})
        pairs = sorted(by_seed.keys() & control.keys())
        names = list(next(iter(by_seed.values()), {}))
        figures = {name: estimate([values_of_run[name] for values_of_run in by_seed.values()]) for name in names}
        differences = {
            name: paired_difference([by_seed[seed][name] for seed in pairs], [control[seed][name] for seed in pairs])
            for name in (names if pairs else ())
        }
        summaries.append(ArmSummary(arm.name, arm.against, tuple(by_seed), figures, differences))
    return summaries


def validity(study: Study, summaries: Sequence[ArmSummary], spreads: Sequence[float]) -> Validity:
    """Return whether a study is valid: there was something to learn, true rewards teach it, and a placebo does not.

    ``spreads`` are the shares of the first step's groups with right and wrong responses; their mean is to be from 20 to
    80 %. Held-out truth has to rise in arms with ``control = "true"``, and not in those with "placebo"; a 95 % interval
    over seeds decides.
    """
    checks: list[tuple[bool | None, str]] = []
    if spreads:
        share = math.fsum(spreads) / len(spreads)
        checks.append((_SPREAD[0] <= share <= _SPREAD[1], f"{share:.0%} of the first groups have truth spread"))
    for arm, summary in zip(study.arms, summaries, strict=True):
        if arm.table.control is not None:
            checks.append(_control(arm, summary.figures.get("held_out_truth_gain")))
    for control, meaning in (("true", "a control with true rewards"), ("placebo", "a placebo")):
        if not any(arm.table.control == control for arm in study.arms):
            checks.append((None, f"no arm is {meaning}"))
    outcomes = [outcome for outcome, _ in checks]
    return Validity(False if False in outcomes else None if None in outcomes else True, tuple(checks))


def _control(arm: Arm, gain: Estimate | None) -> tuple[bool | None, str]:
    if gain is None or gain.half_width is None:
        return None, f"{arm.name}: fewer than two finished runs"
    if gain.half_width < _SAME < gain.mean:  # an interval of ± 0 would call the chance gain of a few prompts certain
        return None, f"{arm.name}: held-out truth {gain.mean:+.3f} in each of {gain.n} runs: run more seeds"
    improved = gain.is_clear and gain.mean > 0
    outcome = f"{arm.name}: held-out truth {gain.mean:+.3f} ± {gain.half_width:.3f}"
    return improved == (arm.table.control == "true"), f"{outcome}, which {'rises' if improved else 'does not rise'}"


def write_results(study: Study, out: Path, failed: Mapping[str, str]) -> tuple[list[ArmSummary], Validity]:
    """Write a study's results.json into ``out`` from its finished runs, and return what it says."""
    runs: dict[str, dict[int, Row]] = {arm.name: {} for arm in study.arms}
    for run in runs_of(study):
        if (rows := read_run(study, run, out)) is not None:
            runs[run.arm.name][run.seed] = rows
    summaries = summarise(study, runs)
    seeds = range(study.first_seed, study.first_seed + study.seeds)
    every = [run for by_seed in runs.values() for run in by_seed.values()]
    valid = validity(study, summaries, [run["steps"][0]["truth_spread"] for run in every])
    result = {
        "format": FORMAT,
        "calipers": __version__,
        "made_with": {"python": platform.python_version(), "machine": platform.machine(), **_versions()},
        "title": study.title,
        "steps": study.steps,
        "window": study.window,
        "valid": valid.passed,
        "checks": [{"passed": passed, "found": finding} for passed, finding in valid.checks],
        "failed": [{"run": name, "why": why} for name, why in failed.items()],
        "seconds": math.fsum(run["seconds"] for run in every),
        "judging_seconds": math.fsum(run["judging_seconds"] for run in every),
        "arms": [
            {
                "name": arm.name,
                "against": arm.against or None,
                "settings": settings_of(study, arm),
                "runs": list(summary.seeds),
                "figures": {name: asdict(figure) for name, figure in summary.figures.items()},
                "differences": {name: asdict(figure) for name, figure in summary.differences.items()},
                "curves": _curves(runs[arm.name], "steps", seeds, CURVES),
                "held_out": _curves(runs[arm.name], "evaluations", seeds, HELD_OUT),
            }
            for arm, summary in zip(study.arms, summaries, strict=True)
        ],
    }
    part = out / f"{RESULTS}.part"
    part.write_bytes(to_json(result) + b"\n")
    part.replace(out / RESULTS)
    return summaries, valid


def _versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {}
    for name in ("numpy", "torch"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return versions


def _curves(runs: Mapping[int, Row], part: str, seeds: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
    """Return an arm's curves: a row of numbers for each seed, by name; None for runs that were not made."""
    points = sorted({row["step"] for run in runs.values() for row in run[part]})
    curves: dict[str, Any] = {"step": points}
    for name in names:
        rows = [{row["step"]: row[name] for row in runs[seed][part]} if seed in runs else {} for seed in seeds]
        curves[name] = [[_rounded(row.get(point)) for point in points] for row in rows]
    return curves


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
