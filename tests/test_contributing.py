"""The worked examples of CONTRIBUTING.md, done: their files written, their lines added, their tests run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import calipers

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(
    r"^<!-- not run: tests/test_contributing\.py (writes|adds) it to (\S+?)(?: under (\w+))? -->\n```\w*\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
EXAMPLES_OF_THE_PAGE = _BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
EXAMPLES = ("rewards", "verifiers", "inputs", "providers", "trainers")
TESTED = ("pytest", "-q", "-p", "no:cacheprovider", "-W", "error")
OTHER_TESTS = ("tests/backends/test_contract.py", "tests/backends/test_connect.py")
"""Tests that also hold for a judge that is added."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with every example of the page in it."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "examples", root / "examples")
    for path in ("pyproject.toml", "tests/conftest.py", *OTHER_TESTS, "tests/servers/tongues.py"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, root / path)
    for kind, path, table, text in EXAMPLES_OF_THE_PAGE:
        target = root / path
        if kind == "writes":
            assert not (ROOT / path).exists(), f"{path} exists, so the example would replace it"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        else:
            start = re.compile(rf"^{table}: .*?\{{\n", re.MULTILINE | re.DOTALL).search(target.read_text("utf-8"))
            assert start, f"{path} has no {table}"
            target.write_text(f"{start.string[: start.end()]}{text}{start.string[start.end() :]}", encoding="utf-8")
    return root


def run(copy: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, (copy / "src", copy / "tests", ROOT / "tests")))
    return subprocess.run(
        [sys.executable, "-P", "-m", *arguments], cwd=cwd or copy, env=os.environ | {"PYTHONPATH": paths},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


def test_the_tests_of_all_examples_pass(copy: Path) -> None:
    written = sorted(
        path for path in (copy / "tests").rglob("test_*.py") if not (ROOT / path.relative_to(copy)).exists()
    )
    assert {path.parent.name for path in written} >= set(EXAMPLES)
    done = run(copy, *TESTED, *map(str, written))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_judge_that_the_page_adds_owes_and_keeps_what_all_judges_do(copy: Path) -> None:
    done = run(copy, *TESTED, *OTHER_TESTS, "-k", "acme or every_provider")
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert int(passed[1] if passed else 0) > 5, done.stdout


def test_the_examples_are_written_as_the_linters_want_them(copy: Path) -> None:
    pytest.importorskip("ruff", reason="ruff is not installed: pip install ruff")
    code = [path for _, path, _, _ in EXAMPLES_OF_THE_PAGE if path.endswith(".py")]
    # Without the sorting of imports: the modules that the tests import are not all in the copy.
    for command in (("check", "--ignore", "I001"), ("format", "--check", "--diff")):
        done = run(copy, "ruff", *command, "--no-cache", *code)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_are_reached_by_name_from_the_command_line(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "groups.csv").write_text("Who was it?,Ada,Charles Babbage\n")
    (tmp_path / "judge.jsonl").write_text('{"scores": {"1": 90, "2": 40}}\n')
    command = ("calipers", "score", "groups.csv", "-o", "out.jsonl", "--judge", "scripted:judge.jsonl")
    done = run(copy, *command, "--rules", str(copy / "rules.toml"), "--reward", "above_median", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (group,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert [one["reward"] for one in group["trajectories"]] == [1.0, 0.0]
    done = run(copy, "calipers", "score", "groups.csv", "-o", "-", "--judge", "acme/judge-1", cwd=tmp_path)
    assert (done.returncode, "ACME_API_KEY is not set" in done.stderr) == (2, True)


def test_paths_and_commands_that_a_page_names_exist() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    examples = {path for _, path, _, _ in EXAMPLES_OF_THE_PAGE}
    for page in ("CONTRIBUTING.md", "SECURITY.md", "AGENTS.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert [target for target in re.findall(r"`make (\w+)", text) if target not in targets] == [], page
        for path in re.findall(r"`((?:src|tests|docs|\.ci|\.github)/[\w/.-]+)`", text):
            assert (ROOT / path).exists() or path in examples, f"{page}: {path}"


def test_the_citation_names_this_version_and_issue_templates_are_valid() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(calipers.__version__)}$", text, re.MULTILINE)
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: pip install 'calipers[yaml]'")
    assert {"cff-version", "message", "title", "authors"} <= yaml.safe_load(text).keys()
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.stem != "config":
            assert {"name", "description", "body"} <= form.keys(), path.name
            for field in form["body"]:
                assert field["type"] in {"textarea", "input", "dropdown", "checkboxes", "markdown"}, path.name
                assert field["attributes"].get("label"), path.name
