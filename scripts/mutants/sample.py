"""A seeded sample of mutants, stratified by room: at most one for a statement.

A statement is drawn by a hash of the seed, its file, its function and its text, so that a change elsewhere leaves the
rest of the sample as it was. Large tables of data count as one statement each.
"""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .operators import sites

ROOMS: dict[str, Sequence[str]] = {
    "types": ["types/**/*.py"],
    "interfaces": ["interfaces.py"],
    "replies": ["replies/**/*.py"],
    "rubric": ["rubric/**/*.py"],
    "render": ["render/**/*.py"],
    "protocols": ["protocols/**/*.py"],
    "planners": ["planners/**/*.py"],
    "aggregators": ["aggregators/**/*.py"],
    "rewards": ["rewards/**/*.py"],
    "guard": ["guard/**/*.py"],
    "verifiers": ["verifiers/**/*.py"],
    "inputs": ["inputs/**/*.py"],
    "judging (results)": ["judging/results.py"],
    "backends (retry, secrets)": ["backends/limits/retry.py", "backends/transport/secrets.py"],
    "ledger (replay)": ["ledger/replayer.py"],
}
"""The rooms whose code touches no clock, network or process, and the pure parts of three that do."""

_LEFT_OUT = ("verifiers/sandbox/", "verifiers/code.py")
_FLOOR = 20
"""Mutants a room gets at least, where it has as many statements."""


@dataclass(frozen=True)
class Mutant:
    """Mutation ``number`` of the file ``path`` (as ``operators.sites`` counts them), and how to tell it to a person."""

    room: str
    path: str
    number: int
    line: int
    place: str
    statement: str
    before: str
    after: str
    lines: tuple[int, ...] = field(compare=False)
    names: tuple[str, ...] = field(compare=False)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What stays the same when lines move."""
        return (self.path, self.place, self.before, self.after)


def mutants(root: Path) -> Iterator[Mutant]:
    """Every mutant of every room."""
    source = root / "src" / "calipers"
    for room, patterns in ROOMS.items():
        paths = sorted({path for pattern in patterns for path in source.glob(pattern)})
        if not paths:
            raise FileNotFoundError(f"{room}: nothing matches {', '.join(patterns)} in {source}")
        for path in paths:
            if not str(path.relative_to(source)).startswith(_LEFT_OUT):
                yield from _of_file(room, root, path)


def _of_file(room: str, root: Path, path: Path) -> Iterator[Mutant]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for number, site in enumerate(sites(tree)):
        lines = range(site.old.lineno, site.old.end_lineno + 1)  # type: ignore[attr-defined]
        yield Mutant(
            room=room,
            path=str(path.relative_to(root)),
            number=number,
            line=lines[0],
            place=site.place,
            statement=_header(site.statement),
            before=site.before,
            after=site.after,
            lines=tuple(lines),
            names=site.names,
        )


def _header(statement: ast.stmt) -> str:
    """A statement's text without the statements inside it."""
    return " ".join(ast.unparse(statement).split("\n    ")[0].split())[:200]


def sample(all_of: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """About ``count`` mutants, no two of one statement, in the order of their files."""
    by_room: dict[str, dict[tuple[str, ...], list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for one in all_of:
        by_room[one.room][(one.path, one.place, one.statement)].append(one)
    shares = _shares({room: len(statements) for room, statements in by_room.items()}, count)
    drawn = []
    for room, statements in by_room.items():
        order = sorted(statements, key=lambda key: _hash(seed, *key))
        chosen = (statements[key] for key in order[: shares[room]])
        drawn += [min(of_one, key=lambda one: _hash(seed, *one.key, one.statement)) for of_one in chosen]
    return sorted(drawn, key=lambda one: (one.path, one.number))


def _shares(statements: dict[str, int], count: int) -> dict[str, int]:
    """What each room gets: a part in proportion to its statements, or the floor where that is more."""
    shares: dict[str, int] = {}
    rest = count
    for room in sorted(statements, key=statements.__getitem__):
        left = sum(size for name, size in statements.items() if name not in shares)
        shares[room] = min(max(round(rest * statements[room] / left), _FLOOR), statements[room])
        rest -= shares[room]
    return shares


def _hash(seed: int, *parts: str) -> str:
    return hashlib.sha256("\0".join((str(seed), *parts)).encode()).hexdigest()


def declared(path: Path) -> dict[tuple[str, str, str, str], str]:
    """Mutants that cannot change what the code does, each with its reason."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    return {(one["path"], one["place"], one["before"], one["after"]): one["reason"] for one in entries}
