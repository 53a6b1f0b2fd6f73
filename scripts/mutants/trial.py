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

_BUDGET_S = 40.0
"""Seconds of tests, as the map timed them, that a mutant is tried with at most."""

_FILES = 30
_MEMORY = 6 << 30


@dataclass(frozen=True)
class Plan:
    """The tests to run for a mutant, by batches of files; ``slowest_s`` is what the slowest of them took."""

    batches: tuple[tuple[str, ...], ...]
    seconds: float
    slowest_s: float


def plan(mutant: Mutant, cover: Cover, uses: Uses) -> Plan:
    """The tests which execute the mutated lines: the mirrored file's first, then its neighbours', the cheapest
    first.
    """
    by_file: dict[str, list[int]] = defaultdict(list)
    for test in _reaching(mutant, cover, uses):
        by_file[cover.tests[test].partition("::")[0]].append(test)

    def rank(name: str) -> tuple[int, float]:
        return _distance(mutant.path, name), sum(cover.seconds[test] for test in by_file[name]) / len(by_file[name])

    chosen: list[tuple[str, list[int]]] = []
    left = _BUDGET_S
    for name in sorted(by_file, key=rank)[:_FILES]:
        taken = []
        for test in sorted(by_file[name], key=cover.seconds.__getitem__):
            left -= cover.seconds[test]
            if left < 0 and (taken or chosen):
                break
            taken.append(test)
        if taken:
            chosen.append((name, taken))
        if left < 0:
            break
    near = [tests for name, tests in chosen if _distance(mutant.path, name) == 0]
    rest = [tests for name, tests in chosen if _distance(mutant.path, name) > 0]
    batches = [*near, *([*itertools.chain(*rest[place : place + 5])] for place in range(0, len(rest), 5))]
    seconds = [cover.seconds[test] for tests in batches for test in tests]
    names = tuple(tuple(cover.tests[test] for test in tests) for tests in batches)
    return Plan(names, sum(seconds), max(seconds, default=0.0))


def _reaching(mutant: Mutant, cover: Cover, uses: Uses) -> set[int]:
    if not mutant.names:
        return cover.executing(mutant.path, mutant.lines)
    found: set[int] = set()
    for name in mutant.names:
        for path, line in uses.of(name):
            found |= cover.executing(path, (line,))
    return found or cover.executing(mutant.path, list(cover.lines.get(mutant.path, {})))


def _distance(source: str, test: str) -> int:
    """0 for the test file that mirrors ``source``, 1 in the same folder, 2 in the same room, 3 elsewhere."""
    module = PurePosixPath(source).relative_to("src/calipers")
    file = PurePosixPath(test).relative_to("tests")
    if file.parent == module.parent:
        return 0 if file.stem == f"test_{module.stem}" else 1
    return 2 if len(file.parts) > 1 and file.parts[0] == module.parts[0] else 3


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
