"""A run's folder survives what interrupts a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from calipers.errors import ConfigError
from calipers.study.training.run_folder import EVALUATIONS, STEPS, RunFolder
from calipers.study.training.settings import Pretraining, Size
from calipers.study.training.starts import Starts


def test_rows_come_back_without_one_that_was_cut_off(tmp_path: Path):
    folder = RunFolder(tmp_path / "run")
    assert folder.rows(STEPS) == []
    folder.begin({"seed": 1})
    for step in range(3):
        folder.add(STEPS, {"step": step, "truth": 0.1 + 0.2})
    with (folder.path / STEPS).open("ab") as file:
        file.write(b'{"step":3,"tru')
    assert folder.rows(STEPS) == [{"step": step, "truth": 0.1 + 0.2} for step in range(3)]
    folder.keep(STEPS, 2)
    assert [row["step"] for row in folder.rows(STEPS)] == [0, 1]
    folder.add(STEPS, {"step": 2})
    assert [row["step"] for row in folder.rows(STEPS)] == [0, 1, 2]
    assert folder.rows(EVALUATIONS) == []


def test_a_run_with_other_settings_is_refused_by_name(tmp_path: Path):
    folder = RunFolder(tmp_path / "run")
    folder.begin({"seed": 1, "kl": 0.0, "quality": (0.1, 0.2)})
    folder.begin({"seed": 1, "kl": 0.0, "quality": (0.1, 0.2)})
    with pytest.raises(ConfigError, match=r"other settings \(kl, more\); name another folder"):
        folder.begin({"seed": 1, "kl": 0.1, "quality": [0.1, 0.2], "more": 1})


def test_a_failure_is_kept_until_the_run_goes_on(tmp_path: Path):
    folder = RunFolder(tmp_path / "run")
    folder.begin({})
    assert folder.error is None
    folder.fail("the disk is full")
    assert folder.error == "the disk is full"
    folder.begin({})
    assert folder.error is None
    assert folder.finished is None
    folder.finish({"seconds": 1.5, "judging_seconds": 0.5})
    assert folder.finished == {"seconds": 1.5, "judging_seconds": 0.5}


def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path):
    folder = RunFolder(tmp_path / "run")
    folder.begin({})
    (folder.path / "settings.json").write_text("{")
    with pytest.raises(ConfigError, match=r"settings\.json: it is not JSON: .* in line 1, column 2; delete the folder"):
        folder.begin({})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\xff", "it is not UTF-8 text"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"9" * 5000, "a number in it has thousands of digits"),
        (b"[]", "it is no JSON object"),
        (b'{"seconds": "long"}', "it says nothing of seconds and judging_seconds"),
    ],
)
def test_a_finished_run_whose_record_is_damaged_is_an_error_in_words(tmp_path: Path, content: bytes, words: str):
    folder = RunFolder(tmp_path / "run")
    folder.begin({})
    (folder.path / "done.json").write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        _ = folder.finished
    assert str(raised.value).startswith(f"{folder.path / 'done.json'}: {words}; delete the folder")


@pytest.mark.parametrize("content", [b"\xff", b"{", b"[]", b'{"truth_spread": "x"}'])
def test_a_first_policy_whose_figures_are_damaged_is_an_error_in_words(tmp_path: Path, content: bytes):
    starts = Starts(tmp_path, Size(), Pretraining())
    path = starts.path(0).with_suffix(".json")
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"; delete it, and the first policy is made again") as raised:
        starts.facts(0)
    assert str(raised.value).startswith(f"{path}: it ")
