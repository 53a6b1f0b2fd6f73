"""Files of a report: recognised by their content, joined by group id, and refused in words."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import calipers
from calipers.cli import app
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.report import open_sources
from calipers.report.sources import source_names
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of
from reported import data_of, details_in, judged, member, report_of, result_of, write_lines


def groups_file(folder: Path, *names: str) -> Path:
    return write_lines(folder / "groups.jsonl", (group_of(FOUR, group_id=name).to_dict() for name in names))


def results_file(folder: Path, *names: str) -> Path:
    return write_lines(folder / "scored.jsonl", (result_of(name, member("right"), member("far")) for name in names))


@pytest.mark.parametrize("order", ["abc", "cba", "bca"])
def test_results_find_their_groups_in_any_order(tmp_path: Path, order: str):
    page = report_of(tmp_path, results_file(tmp_path, *"abc"), groups=groups_file(tmp_path, *order))
    assert [one["id"] for one in details_in(page)] == ["a", "b", "c"]
    assert all(one["shared"] for one in details_in(page))


def test_what_is_lacking_is_counted(tmp_path: Path):
    page = report_of(tmp_path, results_file(tmp_path, *"abc"), groups=groups_file(tmp_path, *"bxyz"))
    (about,) = data_of(page)["about"]
    assert [about["without_texts"], about["unjudged"], about["without_questions"]] == [2, 3, 3]


async def test_a_ledger_alone_is_a_source(tmp_path: Path):
    _, ledger = await judged(tmp_path, [group_of(FOUR, group_id=name) for name in "ab"], [SimulatedJudge(QUALITY)])
    page = report_of(tmp_path, ledger)
    assert [one["id"] for one in details_in(page)] == ["a", "b"]
    assert data_of(page)["about"][0]["runs"][0]["run"] == 1


async def test_a_ledger_adds_texts_and_questions_to_results(tmp_path: Path):
    results, ledger = await judged(tmp_path, [group_of(FOUR, group_id="a")], [SimulatedJudge(QUALITY)])
    write_lines(results, [result_of("other", member("right")), result_of("a", member("right", 0.123))])
    other, ours = details_in(report_of(tmp_path, results, ledger))
    assert other["questions"] is None
    assert ours["trajectories"][0]["reward"] == 0.123, "the result file decides"
    assert len(ours["questions"]) == 1


async def test_a_ledger_says_how_many_of_the_results_it_adds_to(tmp_path: Path):
    results, ours = await judged(tmp_path, [group_of(FOUR, group_id="a")], [SimulatedJudge(QUALITY)])
    (tmp_path / "other").mkdir()
    _, other = await judged(tmp_path / "other", [group_of(FOUR, group_id="b")], [SimulatedJudge(QUALITY)])
    (about,) = data_of(report_of(tmp_path, results, ours, other))["about"]
    names = [f"{tmp_path.name}/{ours.name}", f"other/{other.name}"]
    assert [(run["source"], run["completed"]) for run in about["runs"]] == [(names[0], 1), (names[1], 0)]


async def test_a_ledger_that_a_run_is_writing_to_is_shown_as_far_as_it_is(tmp_path: Path):
    ledger = tmp_path / "runs.db"
    async with calipers.Judge(SimulatedJudge(QUALITY), ledger=str(ledger)) as judge:
        await judge.score_group(group_of(FOUR, group_id="a"))
        assert [one["id"] for one in details_in(report_of(tmp_path, ledger))] == ["a"]
        await judge.score_group(group_of(FOUR, group_id="b"))
        assert [one["id"] for one in details_in(report_of(tmp_path, ledger))] == ["a", "b"]


LEDGERS = Path(__file__).parent.parent / "fixtures" / "ledgers"


@pytest.mark.parametrize("made", sorted(LEDGERS.glob("*/*.sql")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_ledger_of_an_older_version_is_shown_and_not_changed_by_a_byte(tmp_path: Path, made: Path):
    ledger = tmp_path / "ledger.db"
    with closing(sqlite3.connect(ledger)) as connection:
        connection.executescript(made.read_text(encoding="utf-8"))
    before = ledger.read_bytes()
    data = data_of(report_of(tmp_path, ledger))
    shown = CliRunner().invoke(app, ["show", str(ledger)])
    assert (len(shown.stdout.splitlines()), shown.exit_code) == (len(data["rows"]), 0), shown.output
    assert data["run"][0]["counts"]
    assert data["rows"]
    assert ledger.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "report.html"]


def test_a_ledger_that_nobody_may_write_is_shown(tmp_path: Path):
    folder = tmp_path / "closed"
    folder.mkdir()
    ledger = folder / "ledger.db"
    with closing(sqlite3.connect(ledger)) as connection:
        connection.executescript(next(LEDGERS.glob("*/*.sql")).read_text(encoding="utf-8"))
    ledger.chmod(0o400)
    folder.chmod(0o500)
    try:
        assert data_of(report_of(tmp_path, ledger))["rows"]
    finally:
        folder.chmod(0o700)


async def test_a_run_that_a_ledger_lacks_is_refused(tmp_path: Path):
    results, ledger = await judged(tmp_path, [group_of(FOUR)], [SimulatedJudge(QUALITY)])
    with pytest.raises(CalipersError, match="no run 7"):
        open_sources([str(ledger)], run=7, on_error=print)
    with pytest.raises(ConfigError, match="no source is a ledger"):
        open_sources([str(results)], run=1, on_error=print)


@pytest.mark.parametrize(("content", "message"), [
    ('{"group_id": "g", "trajectories": []}\n', "is a groups file"),
    ('{"judge": "x", "met": true}\n', "is not a result file"),
])  # fmt: skip
def test_a_file_of_another_kind_is_refused_with_the_remedy(tmp_path: Path, content: str, message: str):
    (tmp_path / "other.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        open_sources([str(tmp_path / "other.jsonl")], on_error=print)


def test_a_bad_line_is_reported_and_the_rest_is_shown(tmp_path: Path):
    path = write_lines(tmp_path / "scored.jsonl", [result_of("a", member("x")), {"group_id": 3}, ["x"]])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"group_id": "cut off')
    problems: list[str] = []
    with open_sources([str(path)], on_error=lambda error: problems.append(str(error))) as sources:
        assert [one.result["group_id"] for one in sources] == ["a"]
    assert [one.split(":")[1] for one in problems] == ["2", "3", "4"]
    assert sources.notes.bad_lines == 3


def test_an_empty_result_file_is_an_empty_report(tmp_path: Path):
    (tmp_path / "scored.jsonl").write_text("", encoding="utf-8")
    assert data_of(report_of(tmp_path, tmp_path / "scored.jsonl"))["rows"] == []


def test_sources_of_one_file_name_are_named_with_their_folders(tmp_path: Path):
    paths = [tmp_path / "runs" / name / "scored.jsonl" for name in ("a", "b")] + [tmp_path / "other.jsonl"]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_lines(path, [result_of("g", member("x"))])
    with open_sources([str(path) for path in paths], on_error=print) as sources:
        assert sources.names == ["a/scored.jsonl", "b/scored.jsonl", "other.jsonl"]
        assert sources.title == "a/scored.jsonl, b/scored.jsonl, other.jsonl"


def test_names_of_sources_take_as_many_folders_as_tell_them_apart(tmp_path: Path):
    paths = [str(tmp_path / one) for one in ("x/1/l.db", "y/1/l.db", "y/2/l.db", "z/2/l.db", "l.json")]
    names = source_names([*paths, "postgresql://me:secret@host/l.db"])
    assert list(names.values())[:5] == ["x/1/l.db", "y/1/l.db", "y/2/l.db", "z/2/l.db", "l.json"]
    assert "secret" not in names["postgresql://me:secret@host/l.db"]
