"""The folder of a watched run: what may be in it, what is drawn of it, and several processes' rows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from calipers.errors import CalipersError, ConfigError
from calipers.study.curves import read_curves, read_runs
from calipers.study.watching.files import WatchFolder
from calipers.study.watching.rules import BrokenRule
from study.watching.watched import group


@pytest.fixture
def folder(tmp_path: Path) -> WatchFolder:
    made = WatchFolder(tmp_path / "run-1")
    made.begin(0, title="a run")
    return made


def test_curves_are_means_over_groups_and_what_was_not_measured_is_none(folder: WatchFolder) -> None:
    folder.add_groups([group(0, 0, reward=0.4, audit=0.2), group(0, 1, reward=0.6), group(1, 0, reward=0.7)])
    folder.add_groups([group(1, split="held_out", reward=0.3, truth=1.0)])
    folder.add_log({"step": 1, "kl": 0.01, "length": 20.0})
    study = read_curves(str(folder.path))
    (arm,) = study.arms
    assert (study.title, arm.name, arm.at) == ("a run", "run-1", (0, 1))
    assert arm.runs["reward"][0] == pytest.approx((0.5, 0.7))
    assert arm.runs["audit"] == ((0.2, None),)
    assert arm.runs["held_out_truth"] == ((None, 1.0),)
    assert arm.runs["kl"] == ((None, 0.01),)
    assert "truth" not in arm.runs
    assert "entropy" not in arm.runs


def test_curves_are_over_steps_only(folder: WatchFolder) -> None:
    folder.add_groups([group(0)])
    with pytest.raises(CalipersError, match="are drawn over steps only, not over kl"):
        read_curves(str(folder.path), over="kl")


def test_several_runs_are_drawn_together(folder: WatchFolder, tmp_path: Path) -> None:
    other = WatchFolder(tmp_path / "again" / "run-1")
    other.begin(0, title="a run")
    folder.add_groups([group(0, reward=0.4), group(1, reward=0.5)])
    other.add_groups([group(0, reward=0.6)])
    study = read_runs([str(folder.path), str(other.path)])
    assert [arm.name for arm in study.arms] == [str(folder.path), str(other.path)]
    assert [arm.at for arm in study.arms] == [(0, 1), (0,)]
    assert study.title == "a run"
    assert "reward" in study.names
    third = WatchFolder(tmp_path / "run-3")
    third.begin(0, title="another")
    third.add_groups([group(0, reward=0.6)])
    study = read_runs([str(folder.path), str(third.path)])
    assert ([arm.name for arm in study.arms], study.title) == (["run-1", "run-3"], "")
    with pytest.raises(CalipersError, match="is named twice"):
        read_runs([str(folder.path), str(folder.path)])
    with pytest.raises(CalipersError, match=r"results\.json: is no folder of a watched run"):
        read_runs([str(folder.path), str(tmp_path / "results.json")])


def test_each_process_has_a_file_and_all_are_read_in_the_order_of_steps(folder: WatchFolder) -> None:
    folder.add_groups([group(3), group(1)], of_process=True)
    folder.add_groups([group(2)])
    assert [one.step for one in folder.groups()] == [1, 2, 3]
    assert str(os.getpid()) in next(folder.path.glob("groups-*.jsonl")).name


def test_going_on_drops_later_rows_everywhere(folder: WatchFolder) -> None:
    folder.add_groups([group(1), group(2)], of_process=True)
    folder.add_groups([group(1), group(2)])
    folder.add_log({"step": 2, "kl": 0.1})
    folder.add_broken([BrokenRule("kl", 2, "it is large")])
    folder.begin(2, title="a run")
    assert [one.step for one in folder.groups()] == [1, 1]
    assert (folder.log(), folder.broken()) == ([], [])


def test_a_row_that_a_crash_cut_off_is_left_out(folder: WatchFolder) -> None:
    folder.add_groups([group(1)])
    with (folder.path / "groups.jsonl").open("ab") as file:
        file.write(b'{"step": 2, "spl')
    assert [one.step for one in folder.groups()] == [1]


def test_another_run_or_other_files_are_not_written_over(folder: WatchFolder, tmp_path: Path) -> None:
    folder.begin(0, title="again")  # nothing was measured yet
    folder.add_groups([group(0)])
    with pytest.raises(ConfigError, match="another run was watched there"):
        folder.begin(0, title="again")
    folder.begin(0, title="again", again=True)
    assert folder.groups() == []
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(ConfigError, match="a folder with other files in it"):
        WatchFolder(tmp_path / "mine").begin(0, title="")
    with pytest.raises(ConfigError, match="the watch cannot use it"):
        WatchFolder(tmp_path / "mine" / "thesis.txt").begin(0, title="")


@pytest.mark.parametrize(
    ("text", "words"),
    [("{\n", "groups.jsonl:1: it is not JSON"), ("[]\n", ":1: not a JSON object"), ("{}\n", ":1: is not")],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(folder: WatchFolder, text: str, words: str) -> None:
    (folder.path / "groups.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(CalipersError, match=words):
        read_curves(str(folder.path))


def test_a_folder_without_rows_is_no_watched_run(tmp_path: Path, folder: WatchFolder) -> None:
    for path in (tmp_path, folder.path):
        with pytest.raises(CalipersError, match="has no rows of a watched run"):
            read_curves(str(path))
