"""One mutant against the tests that reach it."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import itertools
import resource
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import CodeType, ModuleType

import pytest

from . import forks
from .cover import Cover, Uses
from .operators import sites
from .report import Outcome
from .sample import Mutant

_BUDGET_S = 30.0
"""Seconds of tests, as the map timed them, that a mutant is tried with at most."""

_FIRST_S = 5.0
"""Of which so many go to each of the nearest files first."""

_FILES = 30
_MEMORY = 6 << 30


@dataclass(frozen=True)
class Plan:
    """The tests to run for a mutant, by batches of files; ``slowest_s`` is what the slowest of them took."""

    batches: tuple[tuple[str, ...], ...]
    seconds: float
    slowest_s: float


def plan(mutant: Mutant, cover: Cover, uses: Uses) -> Plan:
    """The tests which execute the mutated lines: a few cheap ones of each near file, then the rest, nearest first."""
    by_file: dict[str, list[int]] = defaultdict(list)
    for test in sorted(_reaching(mutant, cover, uses), key=cover.seconds.__getitem__):
        by_file[cover.tests[test].partition("::")[0]].append(test)
    files = sorted(by_file, key=lambda name: (_distance(mutant.path, name), cover.seconds[by_file[name][0]]))[:_FILES]
    cheap = {name: _within(by_file[name], _FIRST_S, cover) for name in files if _distance(mutant.path, name) == 0}
    rest = [_within(by_file[name], _BUDGET_S / 4, cover)[len(cheap.get(name, ())) :] for name in files]
    batches = [*cheap.values(), *(list(itertools.chain(*rest[place : place + 5])) for place in range(0, len(rest), 5))]
    ordered = _within([test for tests in batches for test in tests], _BUDGET_S, cover)
    chosen = set(ordered)
    names = [tuple(cover.tests[test] for test in tests if test in chosen) for tests in batches]
    seconds = [cover.seconds[test] for test in ordered]
    return Plan(tuple(tests for tests in names if tests), sum(seconds), max(seconds, default=0.0))


def _within(tests: Sequence[int], budget: float, cover: Cover) -> list[int]:
    """The first of ``tests`` that together take no more than ``budget`` seconds, but one at least."""
    ends = itertools.accumulate(cover.seconds[test] for test in tests)
    return [test for place, (test, end) in enumerate(zip(tests, ends, strict=True)) if end <= budget or not place]


def _reaching(mutant: Mutant, cover: Cover, uses: Uses) -> set[int]:
    if not mutant.names:
        return cover.executing(mutant.path, mutant.lines)
    found: set[int] = set()
    for name in mutant.names:
        for path, line in uses.of(name):
            found |= cover.executing(path, (line,))
    # The tests beside a file read what it defines without any other code.
    tests = enumerate(cover.tests)
    near = {number for number, test in tests if _distance(mutant.path, test.partition("::")[0]) <= 1}
    return found | near or cover.executing(mutant.path, list(cover.lines.get(mutant.path, {})))


def _distance(source: str, test: str) -> int:
    """0 for the test file that mirrors ``source`` and its room's golden ones, then 1, 2, 3 by how far away it is."""
    module = PurePosixPath(source).relative_to("src/calipers")
    file = PurePosixPath(test).relative_to("tests")
    same_room = len(file.parts) > 1 and file.parts[0] == module.parts[0]
    if same_room and file.stem.startswith("test_golden"):
        return 0
    if file.parent == module.parent:
        return 0 if file.stem == f"test_{module.stem}" else 1
    return 2 if same_room else 3


def tried(root: Path, plans: Mapping[Mutant, Plan], workers: int, *, mutate: bool = True) -> Iterator[Outcome]:
    """What became of each mutant, as they end."""
    jobs = (
        forks.Job(
            one,
            lambda folder, one=one, chosen=chosen: _child(root, one if mutate else None, chosen, folder),
            120 + 10 * chosen.seconds,
        )
        for one, chosen in plans.items()
    )
    for one, found in forks.run(jobs, workers):
        match found:
            case "":
                yield Outcome(one, "survived" if plans[one].batches else "not reached", "")
            case str():
                yield Outcome(one, "killed", found)
            case _:
                yield Outcome(one, "timed out" if isinstance(found, TimeoutError) else "killed", type(found).__name__)


def _child(root: Path, mutant: Mutant | None, chosen: Plan, folder: Path) -> str:
    """The test that failed, or nothing."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    if mutant is not None:
        sys.meta_path.insert(0, _Mutated(root, mutant))
    for batch in chosen.batches:
        files = list(dict.fromkeys(test.partition("::")[0] for test in batch))
        plugin = _Chosen(batch)
        status = forks.pytest_main(["-x", f"--timeout={15 + 20 * chosen.slowest_s:.0f}", *files], folder, plugin)
        if status not in (0, 5):
            return plugin.failed or f"exit status {status} of {', '.join(files)}"
    return ""


class _Chosen:
    """A pytest plugin: keep the chosen tests, in the order in which they were chosen."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._order = {test: place for place, test in enumerate(tests)}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((one for one in items if one.nodeid in self._order), key=lambda one: self._order[one.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


class _Mutated(importlib.abc.MetaPathFinder):
    """Finds the mutated module before Python finds the one on disk."""

    def __init__(self, root: Path, mutant: Mutant) -> None:
        self._path = root / mutant.path
        parts = PurePosixPath(mutant.path).relative_to("src").with_suffix("").parts
        self._name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self._code = _compiled(self._path, mutant)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the finder's signature
        target: ModuleType | None = None,  # noqa: ARG002 - likewise
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        from importlib.util import spec_from_file_location  # noqa: PLC0415 - needed in a child alone

        return spec_from_file_location(fullname, self._path, loader=_Loader(fullname, str(self._path), self._code))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - likewise
        return self._code


def _compiled(path: Path, mutant: Mutant) -> CodeType:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    site = list(sites(tree))[mutant.number]
    site.apply()
    return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)
