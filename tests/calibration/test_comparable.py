"""Judges are held against one another on the groups that all of them scored, and silence is said, not hidden."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration import Calibration, calibrate
from calipers.calibration.comparable import MIN_GROUPS, common_groups
from calipers.calibration.judges import Missing
from judged import gold_of, groups, rated, record

GROUPS = groups(40)
HARD = {one["group_id"] for one in GROUPS[:8]}


def honest(name: str = "honest") -> list[dict[str, Any]]:
    """Right about easy groups, and the wrong way round about the hard ones."""
    return [
        record(
            one,
            name,
            {"scores": {who: -gold if one["group_id"] in HARD else gold for who, gold in gold_of(one).items()}},
        )
        for one in GROUPS
    ]


def silent(name: str = "silent", **fields: Any) -> list[dict[str, Any]]:
    """As right about easy groups, and nothing about the hard ones."""
    said = [one for one in honest(name) if one["group_id"] not in HARD]
    return said + [one | {"parsed": None} | fields for one in honest(name) if one["group_id"] in HARD and fields]


def judge_of(found: Calibration, name: str) -> Any:
    return next(one for one in found.judges if one.judge == name)


def test_silence_about_hard_groups_buys_nothing_on_common_groups():
    found = calibrate(GROUPS, [*honest(), *silent()])
    one, other = judge_of(found, "honest"), judge_of(found, "silent")
    assert one.advantage_fidelity == pytest.approx(0.6)
    assert other.advantage_fidelity == pytest.approx(1.0)
    assert (one.common_fidelity, other.common_fidelity) == (pytest.approx(1.0), pytest.approx(1.0))
    assert one.common_groups == other.common_groups == 32
    assert (one.missing, other.missing) == (Missing(), Missing(unrecorded=8))


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({}, Missing(unrecorded=8)),
        ({"status": "failed"}, Missing(failed=8)),
        ({"status": "abstained", "reason": "too long"}, Missing(abstained=8)),
        ({"raw_text": "I would rather not."}, Missing(failed=8)),
    ],
)
def test_what_is_missing_is_counted_by_why_and_found(fields: dict[str, Any], missing: Missing):
    found = calibrate(GROUPS, [*honest(), *silent(**fields)])
    assert judge_of(found, "silent").missing == missing
    (finding,) = [one for one in found.findings if one.kind == "missing_groups"]
    assert finding.judge == "silent"
    assert finding.text == (
        f"no score in 8 of 40 groups with gold ({missing.as_text()}): its fidelity 1.000 is that of the other 32"
    )
    told = found.to_dict()["judges"][1]
    assert told["missing"] == {
        "abstained": missing.abstained,
        "failed": missing.failed,
        "unrecorded": missing.unrecorded,
    }


def test_both_figures_are_told_where_they_differ():
    other = [one | {"judge": "other"} for one in honest() if one["group_id"] not in {"g39", "g38"}]
    found = calibrate(GROUPS, [*silent(), *other])
    texts = {one.judge: one.text for one in found.findings if one.kind == "missing_groups"}
    assert texts["other"].endswith("is that of the other 38; on the 30 common groups it is 1.000")


def test_one_scored_member_of_a_group_is_no_score_of_the_group():
    lame = [
        one | {"parsed": {"scores": {"a": 1, "b": None, "c": None, "d": None}}} if one["group_id"] in HARD else one
        for one in honest("lame")
    ]
    assert judge_of(calibrate(GROUPS, lame), "lame").missing == Missing(failed=8)


def test_the_recommended_judge_is_chosen_on_common_groups_and_its_silence_is_told():
    better = [one | {"judge": "better"} for one in rated(GROUPS, "better", 0.3) if one["group_id"] not in HARD]
    worse = list(rated(GROUPS, "worse", 2.0))
    words = calibrate(GROUPS, [*better, *worse]).recommendation
    assert tomllib.loads(words)["judge"] == ["better"]
    assert "# better gave no score in 8 of 40 groups: 8 not recorded." in words


def test_a_judge_of_few_groups_is_set_aside_rather_than_shrinking_the_comparison():
    few = [one | {"judge": "few"} for one in honest()[:4]]
    found = calibrate(GROUPS, [*rated(GROUPS, "a", 0.3), *rated(GROUPS, "b", 1.0), *few])
    assert judge_of(found, "few").common_fidelity is None
    assert judge_of(found, "a").common_groups == 40
    assert "# Not compared, because they scored too few groups: few." in found.recommendation


def test_judges_without_common_groups_are_taken_as_they_are_and_that_is_said():
    halves = [one | {"judge": "first" if place < 20 else "second"} for place, one in enumerate(rated(GROUPS, "x", 0.5))]
    found = calibrate(GROUPS, halves)
    assert all(one.common_fidelity is None for one in found.judges)
    assert "each was compared on its own" in found.recommendation


@pytest.mark.parametrize("name", ["embedded", "scripted:replies.jsonl"])
def test_a_judge_that_is_not_for_training_is_never_recommended(name: str):
    alone = calibrate(GROUPS, rated(GROUPS, name, 0.1)).recommendation
    assert tomllib.loads(alone) == {}
    assert f"{name} is for tests, not for training" in alone
    beside = calibrate(GROUPS, [*rated(GROUPS, name, 0.1), *rated(GROUPS, "model", 1.0)])
    assert tomllib.loads(beside.recommendation)["judge"] == ["model"]
    assert beside.choice is not None
    assert all(name not in way.judges for way in (*beside.choice.frontier, *beside.choice.rivals))


def test_a_status_that_there_is_not_is_refused():
    (problem, *_) = calibrate(GROUPS, silent(status="skipped")).problems
    assert "'status' is 'skipped'" in str(problem)


def test_the_report_shows_what_is_missing(tmp_path: Path):
    (tmp_path / "groups.jsonl").write_text("".join(json.dumps(one) + "\n" for one in GROUPS))
    said = [*honest(), *silent(status="abstained")]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said))
    run = subprocess.run(
        [sys.executable, "-m", "calipers", "calibrate", "groups.jsonl", "--judgments", "said.jsonl"],
        cwd=tmp_path, env=os.environ | {"COLUMNS": "160"}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "missing" in run.stdout
    assert "8+0+0" in run.stdout
    assert "honest (pointwise, v): 1.000 (1.000 to 1.000) on 32, 0.600 on all 40" in run.stdout


# --- the rule ---------------------------------------------------------------------------------------------------------

tables = st.integers(1, 5).flatmap(
    lambda rows: st.lists(st.lists(st.booleans(), min_size=60, max_size=60), min_size=rows, max_size=rows)
)


@given(tables)
def test_compared_rows_know_every_common_group_and_there_are_enough(known: list[list[bool]]):
    table = np.where(np.array(known), 0.5, np.nan)
    found = common_groups(table)
    counts = (~np.isnan(table)).sum(axis=1)
    if found.shared:
        assert not np.isnan(table[np.ix_(found.rows, found.groups)]).any()
        assert found.groups.sum() >= min(MIN_GROUPS, counts.max() / 2)
        assert found.rows[counts.argmax()]
        assert all(kept or 2 * count < counts.max() for kept, count in zip(found.rows, counts, strict=True))
    else:
        assert found.rows.all()
