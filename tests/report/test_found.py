"""Sources are recognised by their content, alone and in folders, and what is none is refused with a remedy."""

import sqlite3
from pathlib import Path

import pytest

from calipers.errors import ConfigError, InputError
from calipers.report import open_sources
from calipers.report.found import kinds_of
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of
from reported import data_of, judged, member, report_of, result_of, write_lines
from reported_runs import simulation_file, trained, training_folder


async def test_a_folder_of_everything_is_a_report(tmp_path: Path):
    place = tmp_path / "all"
    place.mkdir()
    await judged(place, [group_of(FOUR, group_id="a")], [SimulatedJudge(QUALITY)])
    (place / "deeper").mkdir()
    await trained(place / "deeper", steps=2)
    training_folder(place / "deeper" / "study", finished=[("fair", 0)])
    simulation_file(place / "sim.json")
    (place / "notes.txt").write_text("nothing", encoding="utf-8")
    write_lines(place / "groups.jsonl", [group_of(FOUR, group_id="a").to_dict()])
    with sqlite3.connect(place / "other.db") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    kinds = [(str(Path(path).relative_to(place)), kind) for path, kind in kinds_of([str(place)])]
    assert sorted(kinds) == [
        ("deeper/runs.db", "ledger"), ("deeper/study", "study"), ("deeper/watched", "watched"), ("runs.db", "ledger"),
        ("scored.jsonl", "results"), ("sim.json", "study"),
    ]  # fmt: skip
    data = data_of(report_of(tmp_path, place))
    assert [one["id"] for one in data["rows"]] == ["a"]
    assert [one["kind"] for one in data["run"]] == ["ledger", "ledger", "watched"]
    assert [one["name"] for one in data["study"]] == ["study", "sim.json"]
    assert data["about"][0]["title"] == "scored.jsonl"


def test_a_study_alone_is_a_report_without_groups(tmp_path: Path):
    data = data_of(report_of(tmp_path, simulation_file(tmp_path / "sim.json")))
    assert (data["rows"], data["run"], len(data["study"])) == ([], [], 1)
    assert data["about"][0]["title"] == "sim.json"


def test_one_source_named_twice_is_shown_once(tmp_path: Path):
    path = str(simulation_file(tmp_path / "sim.json"))
    assert kinds_of([path, path, str(tmp_path)]) == [(path, "study")]


def test_a_folder_without_sources_says_what_a_report_shows(tmp_path: Path):
    with pytest.raises(InputError, match=r"is a folder without anything that a report shows; .* studies"):
        kinds_of([str(tmp_path)])


def test_a_folder_of_too_many_sources_is_not_read(tmp_path: Path):
    for number in range(101):
        write_lines(tmp_path / f"{number}.jsonl", [result_of("g", member("a"))])
    with pytest.raises(InputError, match="holds 101 sources; name at most 100"):
        kinds_of([str(tmp_path)])


@pytest.mark.parametrize(("file", "message"), [
    ("study.json", "holds the settings of a study; name the folder it is in"),
    ("runs/fair/0/steps.jsonl", "is not a result file"),
])  # fmt: skip
def test_a_part_of_a_study_is_refused_with_the_remedy(tmp_path: Path, file: str, message: str):
    training_folder(tmp_path, finished=[("fair", 0)])
    with pytest.raises(InputError, match=message):
        kinds_of([str(tmp_path / file)])


async def test_a_part_of_a_watched_run_is_refused_with_the_remedy(tmp_path: Path):
    run = await trained(tmp_path, steps=1)
    with pytest.raises(InputError, match="belongs to a watched run; name the folder"):
        kinds_of([str(run.watched / "watch.json")])


def test_a_newer_study_names_what_is_read(tmp_path: Path):
    (tmp_path / "new.json").write_text('{"format":"calipers-training/7","arms":[]}', encoding="utf-8")
    with pytest.raises(InputError, match="has the format 'calipers-training/7'; this version"):
        kinds_of([str(tmp_path / "new.json")])


def test_options_of_judged_groups_are_refused_where_there_are_none(tmp_path: Path):
    path = str(simulation_file(tmp_path / "sim.json"))
    groups = str(write_lines(tmp_path / "groups.jsonl", [group_of(FOUR).to_dict()]))
    with pytest.raises(ConfigError, match="no source is a ledger"):
        open_sources([path], run=1, on_error=print)
    with pytest.raises(ConfigError, match="no source has judged groups"):
        open_sources([path], groups=groups, on_error=print)
