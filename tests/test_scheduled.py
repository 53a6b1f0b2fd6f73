"""The script that trains the smoke study on a schedule: what it checks, and the row it writes into the docs."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from calipers.study.training.study_file import read_study
from calipers.study.training.summary import Trained, run_figures
from ci_scripts import ci_script

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def scheduled() -> ModuleType:
    return ci_script("scheduled")


class Ones(dict[str, float]):
    """A row of a run in which every figure is 1."""

    def __missing__(self, _: str) -> float:
        return 1.0


def results(scheduled: ModuleType, **other: float) -> dict[str, Any]:
    """Results with the predicted signs, except for the differences of the arms in ``other``."""
    arms: dict[str, dict[str, Any]] = {}
    for one in scheduled.SIGNS:
        arm = arms.setdefault(one.arm, {"name": one.arm, "runs": [0, 1, 2], "differences": {}})
        arm["differences"][one.figure] = {"mean": other.get(one.arm, 0.1 * one.sign)}
    return {"calipers": "0.2.0", "valid": True, "arms": list(arms.values())}


def test_every_sign_is_of_a_pair_of_the_smoke_study_and_of_a_figure_it_has(scheduled: ModuleType) -> None:
    against = {arm.name: arm.against for arm in read_study("smoke")[0].arms}
    figures = run_figures(Trained(0, [Ones()], [Ones()]), 1)
    assert all(against[one.arm] for one in scheduled.SIGNS)
    assert {one.figure for one in scheduled.SIGNS} <= figures.keys()


def test_a_difference_with_the_other_sign_is_named(scheduled: ModuleType) -> None:
    assert list(scheduled.wrong_signs(results(scheduled))) == []
    (wrong,) = scheduled.wrong_signs(results(scheduled, injectable=-0.5))
    assert wrong == "injectable: the difference in injection is -0.5, and was predicted to be above 0"
    found = results(scheduled, inverted=0.0, wordy=float("nan"))
    found["arms"] = [arm for arm in found["arms"] if arm["name"] != "shuffled"]
    assert len(list(scheduled.wrong_signs(found))) == 4


def test_the_last_result_replaces_the_one_before(scheduled: ModuleType) -> None:
    page = scheduled.PAGE.read_text(encoding="utf-8")
    once = scheduled.written(page, scheduled.row_of(results(scheduled), 1500, [], 2))
    assert "| 0.2.0 |" in once
    assert f"| 25 | valid | {len(scheduled.SIGNS)} of {len(scheduled.SIGNS)} |" in once
    twice = scheduled.written(once, ("2030-01-01", "", "", "", "", "FAILED: no", ""))
    assert "| 0.2.0 |" not in twice
    assert twice.count("FAILED: no") == 1
    before, after = page.split(scheduled.BEGIN)[0], page.split(scheduled.END)[1]
    assert twice.startswith(before)
    assert twice.endswith(after)


def test_a_run_that_takes_too_long_is_ended_and_recorded(
    scheduled: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "calipers"
    slow.write_text("#!/bin/sh\nsleep 600\n", encoding="utf-8")
    slow.chmod(0o755)
    rows: list[tuple[str, ...]] = []
    monkeypatch.setattr(scheduled, "MOST_SECONDS", 0.2)
    monkeypatch.setattr(scheduled, "environment", lambda _: slow)
    monkeypatch.setattr(scheduled, "write", rows.append)
    with pytest.raises(scheduled.Failed, match="not finished"):
        scheduled.scheduled(tmp_path, [], 2)
    assert rows[0][5].startswith("FAILED: not finished after")
    slow.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    with pytest.raises(scheduled.Failed, match="exit code"):
        scheduled.train(slow, tmp_path / "out", [], 2)


def test_a_folder_with_a_study_is_refused(scheduled: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    with pytest.raises(scheduled.Failed, match="delete it"):
        scheduled.scheduled(tmp_path, [], 2)
