"""Which tests execute which lines, and how long each takes: collected once, a child for each test file.

A test counts only if it passes here, in the same kind of process that the mutants are tried in.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from . import forks

_LIMIT_S = 240.0
"""What a test file may take; the tests of one that takes longer are not used."""

FOLDERS = (
    *("types", "config", "replies", "rubric", "render", "protocols", "planners", "aggregators", "rewards", "guard"),
    *("verifiers", "inputs", "judging", "ledger", "testing", "backends/limits", "backends/transport"),
    "test_interfaces.py",
)
"""Where the tests are that should notice: those of the rooms themselves, and of what puts them together."""
_PROCESSES = ("tests/verifiers/sandbox/", "tests/verifiers/test_code.py")
"""Tests of processes that code under test starts: none of that is mutated."""


@dataclass(frozen=True)
class Run:
    """What one test file's child found: seconds of each passing test, and by line the tests that execute it."""

    digest: str
    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]


class Cover:
    """The map of all test files. Tests are numbered; a set of tests is an int with their bits set."""

    def __init__(self, runs: dict[str, Run], sources: dict[str, str], left_out: list[str]) -> None:
        self.runs, self.sources, self.left_out = runs, sources, left_out
        self.tests: list[str] = []
        self.seconds: list[float] = []
        self.lines: dict[str, dict[int, int]] = {}
        for name in sorted(runs):
            self._add(runs[name])

    def _add(self, run: Run) -> None:
        number = {test: len(self.tests) + place for place, test in enumerate(run.seconds)}
        self.tests += run.seconds.keys()
        self.seconds += run.seconds.values()
        for path, lines in run.lines.items():
            of_file = self.lines.setdefault(path, {})
            for line, tests in lines.items():
                bits = sum(1 << number[test] for test in tests if test in number)
                of_file[line] = of_file.get(line, 0) | bits

    def executing(self, path: str, lines: Sequence[int]) -> set[int]:
        """The numbers of the tests that execute any of the ``lines``."""
        found = 0
        of_file = self.lines.get(path, {})
        for line in lines:
            found |= of_file.get(line, 0)
        return {place for place, bit in enumerate(reversed(f"{found:b}")) if bit == "1"}


class _Contexts:
    """A pytest plugin: the coverage context is the test that runs; remembers what passed and how long it took."""

    def __init__(self, coverage: Any) -> None:
        self._coverage = coverage
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        began = time.perf_counter()
        yield
        self.seconds[item.nodeid] = time.perf_counter() - began
        self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.failed.add(report.nodeid)


def collect(
    root: Path, folders: Iterable[str], workers: int, report: Callable[[str], None], last: Cover | None = None
) -> Cover:
    """Run the test files below ``folders`` and note what each of their tests executes below ``src``.

    What ``last`` holds of a test file that has not changed since is used again, its lines moved with the source.
    """
    paths = sorted((root / "src").rglob("*.py"))
    sources = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths}
    runs = {} if last is None else _moved(last, sources)
    runs = {name: run for name, run in runs.items() if run.digest == _digest(root / name)}
    places = [root / "tests" / name for name in folders]
    found = (path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("test_*.py"))))
    names = (str(path.relative_to(root)) for path in found)
    rest = [name for name in names if name not in runs and not name.startswith(_PROCESSES)]
    jobs = (forks.Job(name, partial(_run, root, name, _digest(root / name)), _LIMIT_S) for name in rest)
    left_out = []
    for done, (name, run) in enumerate(forks.run(jobs, workers), 1):
        if isinstance(run, Run):
            runs[name] = run
        else:
            left_out.append(f"{name}: {type(run).__name__}")
        report(f"{done}/{len(rest)} test files: {name}")
    return Cover(runs, sources, left_out)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _moved(last: Cover, sources: dict[str, str]) -> dict[str, Run]:
    """The runs of ``last`` with the line numbers of the source as it is now."""
    changed = {path for path, text in last.sources.items() if path in sources and text != sources[path]}
    moves = {path: _moves(last.sources[path], sources[path]) for path in changed}
    return {name: _renumbered(run, moves) for name, run in last.runs.items()}


def _moves(before: str, after: str) -> dict[int, list[int]]:
    """Where each line went; a line that was rewritten may have become any of those that replaced its block."""
    moves: dict[int, list[int]] = {}
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        for line in range(start, end):
            whole = range(new_start + 1, new_end + 1)
            moves[line + 1] = [new_start + 1 + line - start] if kind == "equal" else list(whole)
    return moves


def _renumbered(run: Run, moves: dict[str, dict[int, list[int]]]) -> Run:
    lines = dict(run.lines)
    for path in moves.keys() & lines.keys():
        moved: dict[int, list[str]] = {}
        for line, tests in lines[path].items():
            for new in moves[path].get(line, ()):
                moved[new] = list(dict.fromkeys([*moved.get(new, ()), *tests]))
        lines[path] = moved
    return Run(run.digest, run.seconds, lines)


def _run(root: Path, name: str, digest: str, folder: Path) -> Run:
    import coverage  # noqa: PLC0415 - needed for this step alone

    tracer = coverage.Coverage(data_file=None, source=[str(root / "src")], config_file=False)
    plugin = _Contexts(tracer)
    tracer.start()
    forks.pytest_main([name], folder, plugin)
    tracer.stop()
    data = tracer.get_data()
    lines = {}
    for path in data.measured_files():
        by_line = {line: [test for test in tests if test] for line, tests in data.contexts_by_lineno(path).items()}
        lines[str(Path(path).relative_to(root))] = {line: tests for line, tests in by_line.items() if tests}
    passed = {test: seconds for test, seconds in plugin.seconds.items() if test not in plugin.failed}
    return Run(digest, passed, lines)


class Uses:
    """Where each name is read in the source: what stands for lines that run at import alone."""

    def __init__(self, root: Path) -> None:
        self._places: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for path in sorted((root / "src").rglob("*.py")):
            relative = str(path.relative_to(root))
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    self._places[node.id].append((relative, node.lineno))
                elif isinstance(node, ast.Attribute):
                    self._places[node.attr].append((relative, node.lineno))
                elif isinstance(node, ast.keyword) and node.arg:
                    self._places[node.arg].append((relative, node.value.lineno))

    def of(self, name: str) -> list[tuple[str, int]]:
        return self._places.get(name, [])
