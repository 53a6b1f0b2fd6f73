"""Files of a report: recognised by their content, joined by group id, and refused in words."""

import os
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.report import Sources
from calipers.report.sources import is_ledger
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of
from reported import calibration_file, data_of, details_in, judged, member, page_of, report_of, result_of, write_lines


def joined(folder: Path, results: str, groups: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What a page knows of results of the groups with these letters, given the texts of those, and of what it lacks."""
    lines = [result_of(name, member("right"), member("far")) for name in results]
    page = page_of(folder, lines, *(group_of(FOUR, group_id=name) for name in groups))
    return details_in(page), data_of(page)["about"][0]


def test_results_find_their_groups_in_any_order_and_what_is_lacking_is_counted(tmp_path: Path):
    for order in ("abc", "cba", "bca"):
        found, _ = joined(tmp_path, "abc", order)
        assert [(one["id"], bool(one["shared"])) for one in found] == [("a", True), ("b", True), ("c", True)], order
    _, about = joined(tmp_path, "abc", "bxyz")
    assert [about["without_texts"], about["unjudged"], about["without_questions"]] == [2, 3, 3]


async def test_a_ledger_adds_texts_and_questions_to_results_and_is_shown_alone(tmp_path: Path):
    results, ledger = await judged(
        tmp_path, [group_of(FOUR, group_id=name) for name in "ab"], [SimulatedJudge(QUALITY)]
    )
    assert [one["id"] for one in details_in(report_of(tmp_path, ledger))] == ["a", "b"]
    write_lines(results, [result_of("other", member("right")), result_of("a", member("right", 0.123))])
    other, ours = details_in(report_of(tmp_path, results, ledger))
    assert other["questions"] is None
    assert ours["trajectories"][0]["reward"] == 0.123, "the result file decides"
    assert len(ours["questions"]) == 1


async def test_a_ledger_of_other_groups_is_said_to_have_none(tmp_path: Path):
    results, ours = await judged(tmp_path, [group_of(FOUR, group_id="a")], [SimulatedJudge(QUALITY)])
    (tmp_path / "other").mkdir()
    _, other = await judged(tmp_path / "other", [group_of(FOUR, group_id="b")], [SimulatedJudge(QUALITY)])
    (about,) = data_of(report_of(tmp_path, results, ours, other))["about"]
    assert [(run["source"], run["is_used"]) for run in about["runs"]] == [(str(ours), True), (str(other), False)]


async def test_options_that_no_source_can_satisfy_are_refused(tmp_path: Path):
    results, ledger = await judged(tmp_path, [group_of(FOUR)], [SimulatedJudge(QUALITY)])
    with pytest.raises(CalipersError, match="no run 7"):
        Sources([str(ledger)], run=7, on_error=print)
    with pytest.raises(ConfigError, match="--run"):
        Sources([str(results)], run=1, on_error=print)
    with pytest.raises(ConfigError, match="--groups"):
        Sources([str(calibration_file(tmp_path / "c.json", groups=8))], groups="x", on_error=print)


def test_a_source_of_another_kind_is_refused_with_the_remedy(tmp_path: Path):
    groups = write_lines(tmp_path / "groups.jsonl", [{"group_id": "g", "trajectories": []}])
    other = write_lines(tmp_path / "other.jsonl", [{"judge": "x", "met": True}])
    for path, message in ((groups, "--groups"), (other, "calipers score"), (tmp_path, "folder")):
        with pytest.raises(InputError, match=message):
            Sources([str(path)], on_error=print)
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero"):
        with pytest.raises(InputError, match="no regular file"):
            is_ledger(str(tmp_path / name))


def test_a_bad_line_is_reported_and_the_rest_is_shown(tmp_path: Path):
    path = write_lines(tmp_path / "scored.jsonl", [result_of("a", member("x")), {"group_id": 3}, ["x"]])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"group_id": "cut off')
    problems: list[str] = []
    with Sources([str(path)], on_error=lambda error: problems.append(str(error))) as sources:
        assert [one.result["group_id"] for one in sources] == ["a"]
    assert [one.split(":")[1] for one in problems] == ["2", "3", "4"]
    assert sources.notes.bad_lines == 3


def test_sources_of_one_file_name_are_named_by_their_paths(tmp_path: Path):
    paths = [tmp_path / name for name in ("x.jsonl", "a/y.jsonl", "b/y.jsonl")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        write_lines(path, [])
    with Sources([str(path) for path in paths], on_error=print) as sources:
        assert sources.names == ["x.jsonl", str(paths[1]), str(paths[2])]
