"""``calipers study compare``, run as a person runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compared_groups import compared_groups, comparison_folder

TOML = """
title = "Two judges"
groups = "groups.jsonl"
samples = 1

[judges.honest]

[judges.wordy]
vices = [{ kind = "LengthBias", per_doubling = 0.05 }]
"""


def calipers(*arguments: object, cwd: Path, columns: int = 160) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", "study", "compare", *map(str, arguments)],
        cwd=cwd, env=os.environ | {"COLUMNS": str(columns)}, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip


def test_a_comparison_prints_its_tables_and_writes_its_figures(tmp_path: Path) -> None:
    comparison_folder(tmp_path, TOML, compared_groups(4))
    done = calipers("compare.toml", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Two judges\n")
    for title in (
        "Scores of single calls",
        "Repeatability, position bias",
        "What a rewrite adds to the score of the same answer",
        "What a unit of a feature adds",
        "Drift that tier 1 predicts",
        "Agreement within groups",
        "Cost",
    ):
        assert title in done.stdout
    assert "nan" not in done.stdout.lower()
    assert "2 cells: honest; wordy" in done.stderr
    assert "wordy: " in done.stderr
    written = json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    assert written["title"] == "Two judges"
    again = calipers("groups.jsonl", "out/judgments.jsonl", "out/rewritten.jsonl", "-o", "again", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout in done.stdout


def test_a_check_asks_nothing(tmp_path: Path) -> None:
    comparison_folder(tmp_path, TOML, compared_groups(4))
    done = calipers("compare.toml", "--check", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4 groups in 2 orders, 1 time each; 32 groups with rewritten answers" in done.stderr
    assert not (tmp_path / "out").exists()


def test_one_of_a_thing_is_told_in_the_singular(tmp_path: Path) -> None:
    toml = 'groups = "groups.jsonl"\norders = 1\nsamples = 3\nrewrites = []\n[judges.honest]\n'
    comparison_folder(tmp_path, toml, compared_groups(1))
    told = calipers("compare.toml", "--check", "-o", "out", cwd=tmp_path).stderr
    assert "1 cell: honest" in told
    assert "1 group in 1 order, 3 times each; 0 groups with rewritten answers (no rewrites)" in told


@pytest.mark.parametrize("check", [("--check",), ()])
@pytest.mark.parametrize(("out", "problem"), [("groups.jsonl", "is a file"), (".", "is a folder with other files")])
def test_a_folder_that_cannot_be_used_is_refused_before_the_plan(
    tmp_path: Path, out: str, problem: str, check: tuple[str, ...]
) -> None:
    comparison_folder(tmp_path, TOML, compared_groups(1))
    done = calipers("compare.toml", "-o", out, *check, cwd=tmp_path)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "cells" not in done.stderr


def test_a_cell_that_fails_is_reported_with_exit_code_1(tmp_path: Path) -> None:
    toml = TOML + '[judges.gone]\nmodel = "openai/x@http://127.0.0.1:9/v1"\noptions = { attempts = 1, timeout = 2 }\n'
    comparison_folder(tmp_path, toml, compared_groups(2))
    done = calipers("compare.toml", "-o", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert "Failed: gone: " in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("none.toml",), "none.toml: cannot be read"),
        (("none.jsonl",), "there is no such file"),
        (("compare.toml", "groups.jsonl"), "compare.toml is a config: name it alone"),
        (("groups.jsonl", "--check"), "--check and --samples are for a config"),
        (("compare.toml", "--format", "mt_bench"), "--format is for recorded answers"),
        (("groups.jsonl",), "no answers were named"),
        (("compare.toml", "-o", "groups.jsonl"), "is a file; name a folder"),
        (("compare.toml", "-o", "."), "is a folder with other files in it"),
    ],
)
def test_bad_usage_is_told_in_a_sentence(tmp_path: Path, arguments: tuple[str, ...], problem: str) -> None:
    comparison_folder(tmp_path, TOML, compared_groups(2))
    done = calipers(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_figures_refuses_what_is_for_curves(tmp_path: Path) -> None:
    (tmp_path / "comparison.json").write_text('{"format": "calipers-comparison/1", "cells": []}', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "calipers", "study", "figures", "comparison.json", "--differences"],
        cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--arm, --over and --differences are for curves" in done.stderr
