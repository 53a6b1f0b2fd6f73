"""The list that .ci/engines works through, and the table it writes into the documentation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from ci_scripts import ci_script

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def engines() -> ModuleType:
    return ci_script("engines")


def test_every_engine_has_its_page_its_tests_and_a_row_in_the_table(engines: ModuleType) -> None:
    for engine in (*engines.ENGINES, *engines.JUDGES):
        page = engine.table.page
        assert all((ROOT / test).is_file() for test in engine.test.split()), engine.name
        assert (page.parent / (engine.page.partition("#")[0] or page.name)).is_file(), engine.name
        assert f"[{engine.name}]({engine.page})" in page.read_text(encoding="utf-8"), engine.name


def test_every_row_of_a_table_is_of_an_engine_that_can_be_run_again(engines: ModuleType) -> None:
    names = {engine.name for engine in (*engines.ENGINES, *engines.JUDGES)}
    for table in (engines.TRAINERS, engines.SERVERS):
        written = table.page.read_text(encoding="utf-8").split(engines.BEGIN)[1].split(engines.END)[0]
        rows = engines.cells_in(written)
        assert rows
        assert {engines.name_of(cells) for cells in rows} <= names


def test_every_test_that_waits_for_an_engine_is_run_beside_one(engines: ModuleType) -> None:
    run = {file for engine in (*engines.ENGINES, *engines.JUDGES) for file in engine.test.split()}
    files = [file for file in (ROOT / "tests").rglob("test_*.py") if file != Path(__file__)]
    waiting = {
        str(file.relative_to(ROOT)) for file in files if f"({engines.SKIPPED}" in file.read_text(encoding="utf-8")
    }
    assert waiting
    assert waiting <= run


def test_a_row_of_an_unknown_engine_is_kept(engines: ModuleType) -> None:
    rows = {name: (f"[{name}]({name}.md)", *["x"] * 6, "1 passed") for name in ("known", "by hand")}
    once = engines.written(f"{engines.BEGIN}\n{engines.END}\n", rows.values(), ["known", "by hand"])
    assert engines.written(once, [rows["known"]], ["known"]) == once


def test_a_row_is_written_in_its_place_and_the_others_are_kept(engines: ModuleType) -> None:
    empty = f"Before.\n\n{engines.BEGIN}\n{engines.END}\n\nAfter.\n"
    rows = {name: (f"[{name}]({name}.md)", *["x"] * 6, "1 passed") for name in ("first", "second")}
    order = ["first", "second"]
    once = engines.written(empty, [rows["second"]], order)
    twice = engines.written(once, [rows["first"]], order)
    assert twice.index("[first]") < twice.index("[second]")
    assert twice.startswith("Before.\n")
    assert twice.endswith("\n\nAfter.\n")
    again = (*rows["first"][:-1], "FAILED: 1 failed")
    assert engines.written(twice, [again], order).count("[first]") == 1
    assert "FAILED: 1 failed" in engines.written(twice, [again], order)


def test_a_step_that_fails_is_told_in_the_table(engines: ModuleType, tmp_path: Path) -> None:
    engine = engines.Engine(
        "nowhere", "x.md", "tests/none.py", "nowhere", "none", "raise", "lost", python="0.1", version="1.0"
    )
    row = engines.run_engine(engine, tmp_path, {})
    assert row[1:3] == ("1.0", "no: see the result; held to the signature")
    assert row[-1] == "there is no Python 0.1 here (--python PATH)"


def test_a_server_has_a_row_of_its_own_kind(engines: ModuleType, tmp_path: Path) -> None:
    server = engines.Engine(
        "a server", "#here", "tests/none.py", "nowhere", table=engines.SERVERS, asked="chat", python="0.1"
    )
    row = engines.run_engine(server, tmp_path, {})
    assert len(row) == len(engines.SERVERS.header)
    assert row[1:4] == ("not installed", "no: see the result", "chat")
    page = f"{engines.BEGIN}\n{engines.END}\n"
    assert "| [a server](#here) |" in engines.written(page, [row], ["a server"], engines.SERVERS.header)


def test_a_failed_step_is_the_scripts_own_failure_too(engines: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"{engines.BEGIN}\n{engines.END}\n", encoding="utf-8")
    engine = engines.Engine("nowhere", "x.md", "tests/none.py", "nowhere", "none", "raise", "lost", python="0.1")
    assert (
        engines.run_all([replace(engine, table=engines.Table(page, engine.table.header))], tmp_path, {}, ["nowhere"])
        == 1
    )
    assert "| there is no Python 0.1 here (--python PATH) |" in page.read_text(encoding="utf-8")
