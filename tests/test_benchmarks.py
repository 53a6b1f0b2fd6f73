"""What benchmarks, scripts and examples import from calipers is there: none of them runs in CI."""

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(file for folder in ("benchmarks", "scripts", "examples") for file in (ROOT / folder).rglob("*.py"))


def test_what_is_imported_is_there() -> None:
    nodes = ((file, node) for file in FILES for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    for file, node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "calipers":
            try:
                module = import_module(str(node.module))
            except ModuleNotFoundError as error:
                if str(error.name).startswith("calipers"):
                    raise
                continue  # it needs a trainer that is not installed
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or find_spec(f"{node.module}.{name}"), f"{file}:{node.lineno}: {name}"


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "benchmarks" / "README.md"]


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="benchmarks/ is not part of this checkout")
def test_every_benchmark_that_a_page_names_is_there() -> None:
    for page in PAGES:
        for name in re.findall(r"(?:-m\s+|`)(benchmarks(?:\.\w+)+)", page.read_text(encoding="utf-8")):
            path = ROOT.joinpath(*name.split("."))
            assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), f"{page}: {name}"
