"""The list that .ci/engines works through, and the table it writes into the documentation."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def engines() -> Iterator[ModuleType]:
    """The script, which has no ending, as a module, without bytecode beside it."""
    loader = SourceFileLoader("calipers_ci_engines", str(ROOT / ".ci" / "engines"))
    spec = importlib.util.spec_from_file_location(loader.name, loader.path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as here:
        here.setattr(sys, "dont_write_bytecode", True)
        here.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
        loader.exec_module(module)
        yield module


def test_every_engine_has_its_page_its_tests_and_a_row_in_the_table_and_every_row_an_engine(
    engines: ModuleType,
) -> None:
    names = set()
    for engine in (*engines.ENGINES, *engines.JUDGES):
        page = engine.table.page
        assert all((ROOT / test).is_file() for test in engine.test.split()), engine.name
        assert (page.parent / (engine.page.partition("#")[0] or page.name)).is_file(), engine.name
        assert f"[{engine.name}]({engine.page})" in page.read_text(encoding="utf-8"), engine.name
        names.add(engine.name)
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


def test_a_row_is_written_in_its_place_and_the_others_are_kept_also_of_unknown_engines(engines: ModuleType) -> None:
    empty = f"Before.\n\n{engines.BEGIN}\n{engines.END}\n\nAfter.\n"
    rows = {name: (f"[{name}]({name}.md)", *["x"] * 6, "1 passed") for name in ("first", "second", "by hand")}
    order = ["first", "second"]
    once = engines.written(empty, [rows["second"], rows["by hand"]], order)
    page = engines.written(once, [rows["first"], (*rows["second"][:-1], "FAILED: 1 failed")], order)
    assert page.index("[first]") < page.index("[second]") < page.index("[by hand]")
    assert (page.count("[second]"), page.count("1 passed"), page.count("FAILED: 1 failed")) == (1, 2, 1)
    assert page.startswith("Before.\n")
    assert page.endswith("\n\nAfter.\n")


def test_a_failed_step_is_in_the_table_and_is_the_scripts_own_failure(engines: ModuleType, tmp_path: Path) -> None:
    page, why = tmp_path / "README.md", "there is no Python 0.1 here (--python PATH)"
    page.write_text(f"{engines.BEGIN}\n{engines.END}\n", encoding="utf-8")
    here = engines.Table(page, engines.TRAINERS.header)
    engine = engines.Engine("nowhere", "x.md", "tests/none.py", "nowhere", "n", "r", "l", table=here, python="0.1")
    assert engines.run_all([engine], tmp_path, {}, ["nowhere"]) == 1
    assert f"| {why} |" in page.read_text(encoding="utf-8")
    server = replace(engine, table=engines.SERVERS, asked="chat")
    row = engines.run_engine(server, tmp_path, {})
    assert len(row) == len(engines.SERVERS.header)
    assert (*row[1:4], row[-1]) == ("not installed", "no: see the result", "chat", why)
