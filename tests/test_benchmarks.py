"""What benchmarks, scripts and examples import from calipers is there: none of them runs in CI."""

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(file for folder in ("benchmarks", "scripts", "examples") for file in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_is_imported_is_there(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "calipers":
            module = import_module(str(node.module))
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or find_spec(f"{node.module}.{name}"), f"{file}:{node.lineno}: {name}"


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "benchmarks" / "README.md"]


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="benchmarks/ is not part of this checkout")
def test_every_benchmark_that_a_page_names_is_there() -> None:
    for page in PAGES:
        for name in re.findall(r"(?:-m\s+|`)(benchmarks(?:\.\w+)+)", page.read_text(encoding="utf-8")):
            path = ROOT.joinpath(*name.split("."))
            assert path.with_suffix(".py").is_file(), f"{page}: {name}"


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="benchmarks/ is not part of this checkout")
def test_python_m_benchmarks_lists_only_what_there_is() -> None:
    for name in import_module("benchmarks.__main__").BENCHMARKS:
        assert (ROOT / "benchmarks" / f"{name.replace('.', '/')}.py").is_file(), name


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="benchmarks/ is not part of this checkout")
def test_the_share_that_a_prefix_cache_holds_is_counted_from_a_groups_second_question_on():
    heard = [("g", "rules A B"), ("h", "rules C x"), ("g", "rules B A"), ("g", "rules A B")]
    found = import_module("benchmarks.speed.prefix_cache").measured(heard)
    assert found["of a repeated question"] == (6 + 9) / 18  # "rules " of the second, all of the third
    assert found["of all questions"] == 15 / 36
    assert found["questions in between"] == 0.5  # one before the second, none before the third
