"""Ledgers that earlier versions wrote replay: equal statuses, scores and rewards for the same answers.

Only the wording of reasons and warnings may differ. ``fixtures/ledgers/make.py`` made them, with the version in the
folder's name.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from calipers.cli import app

_FOLDER = Path(__file__).parent.parent / "fixtures" / "ledgers"
_RUNS = sorted(path.relative_to(_FOLDER) for path in _FOLDER.glob("*/*.jsonl"))


def outcomes(results: Path) -> list[dict[str, Any]]:
    """What of each group in a result file has to stay."""
    groups = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return [
        {
            "group_id": group["group_id"],
            "status": group["status"],
            "judge_calls": group["judge_calls"],
            "trajectories": [
                {key: one[key] for key in ("id", "status", "reward", "score", "stderr")}
                for one in group["trajectories"]
            ],
        }
        for group in groups
    ]


@pytest.mark.parametrize("run", _RUNS, ids=str)
def test_a_run_that_an_earlier_version_recorded_replays_with_equal_outcomes(run: Path, tmp_path: Path) -> None:
    scenario, _, number = run.stem.rpartition("-")
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.executescript((_FOLDER / run.parent / f"{scenario}.sql").read_text(encoding="utf-8"))
    out = tmp_path / "out.jsonl"

    done = CliRunner().invoke(app, ["replay", str(tmp_path / "ledger.db"), "--run", number, "-o", str(out)])

    assert done.exception is None, done.output
    assert outcomes(out) == outcomes(_FOLDER / run)


def test_there_are_recorded_runs_to_replay() -> None:
    assert len(_RUNS) >= 40
