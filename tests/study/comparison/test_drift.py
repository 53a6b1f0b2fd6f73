"""Tier 1's prediction has the judge's measures as settings, and the uncertainty of its preferences as interval."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from calipers.study.comparison import compare_study
from calipers.study.comparison.drift import Drift
from calipers.study.comparison.figures import figures_of
from calipers.study.comparison.recorded import read_evidence
from calipers.study.comparison.study_file import read_study
from compared_groups import compared_groups, comparison_folder


def drift_of(folder: Path, vices: str, *, gold: bool = True) -> Drift:
    """The drift predicted for a simulated judge; without ``gold``, its answers are compared without it."""
    toml = f'groups = "groups.jsonl"\nrewrites = ["verbose"]\n[judges.j]\nvices = [{vices}]\n'
    found = compare_study(read_study(comparison_folder(folder, toml, compared_groups(24, 6))), folder / "out")
    if not gold:
        lines = (folder / "groups.jsonl").read_text(encoding="utf-8")
        (folder / "bare.jsonl").write_text(lines.replace('"gold": 0.0', '"gold": null').replace(
            '"gold": 1.0', '"gold": null'), encoding="utf-8")  # fmt: skip
        out = folder / "out"
        found = figures_of(read_evidence([folder / "bare.jsonl", out / "judgments.jsonl", out / "rewritten.jsonl"]))
    drift = found.cells[0].drift
    assert drift is not None
    return drift


def test_errors_that_stay_with_an_answer_are_told_from_noise(tmp_path: Path) -> None:
    kept = drift_of(tmp_path, '{ kind = "Noise", sd = 0.1, per = "candidate" }').judge
    assert kept.response_noise == pytest.approx(0.08, abs=0.005)  # what was drawn for these answers
    assert kept.noise == pytest.approx(0, abs=1e-6)


def test_noise_of_calls_is_no_error_of_an_answer(tmp_path: Path) -> None:
    drawn = drift_of(tmp_path, '{ kind = "Noise", sd = 0.1 }').judge
    assert drawn.noise == pytest.approx(0.1, rel=0.15)
    assert drawn.response_noise < 0.03
    assert drawn.gain == pytest.approx(0.5, abs=0.03)


def test_an_interval_spans_what_the_preference_may_be(tmp_path: Path) -> None:
    length = drift_of(tmp_path, '{ kind = "Noise", sd = 0.1 }').by_feature["length"]
    assert length.low is not None
    assert length.high is not None
    assert length.low < 0 < length.high
    assert length.high - length.low > 0.02  # the error of the simulation alone would be half of it


def test_without_gold_stable_differences_are_taken_for_quality_and_it_is_said(tmp_path: Path) -> None:
    found = drift_of(tmp_path, '{ kind = "LengthBias", per_doubling = 0.05 }', gold=False)
    assert any(one.startswith("quality from 0 to 1 adds") for one in found.assumed)
    assert found.judge.gain > 0
    assert found.judge.response_noise == 0
    assert found.judge.length == pytest.approx(0.05, abs=0.01)
    assert found.by_feature["length"].low is not None
    assert math.isfinite(found.by_feature["length"].value or math.nan)
    assert (found.by_feature["length"].low or 0) > 0
