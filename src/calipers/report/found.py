"""Which kind of source a file or folder is, by its content, and the sources in a folder that holds several.

Not responsible for reading sources (``sources``, ``runs``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from calipers.errors import InputError, LedgerError
from calipers.inputs.jsonl import open_binary, parse_json_line
from calipers.ledger import LedgerReader
from calipers.ledger.answers import find_run
from calipers.ledger.opening import is_postgres
from calipers.report.judge_files import is_judge_file
from calipers.report.runs.studies import KINDS, is_study_folder
from calipers.report.runs.watched import is_watched_folder

SourceKind: TypeAlias = Literal["results", "ledger", "study", "watched", "judge"]

_SQLITE: Final = b"SQLite format 3\x00"
_FIRST_LINE: Final = 2**26
_BEGINNING: Final = 4096
_FORMAT: Final = re.compile(rb'\A\s*\{.{0,200}?"format"\s*:\s*"([^"]{1,80})"', re.DOTALL)
_COMPARISON: Final = re.compile(rb'\A\s*\{\s*"format"\s*:\s*"(calipers-comparison/[0-9]{1,9})"')
_SETTINGS: Final = re.compile(rb'\A\{"format":"calipers-training/\d+","settings":')
_DEPTH: Final = 3
_MOST_FOUND: Final = 100
_SHOWN: Final = (
    "a report shows what calipers score wrote, ledgers, runs watched by calipers.study.watching, studies of calipers "
    "study train and simulate, and judges: calibrations (calipers calibrate --json), comparisons (calipers study "
    "compare) and profiles"
)


def kinds_of(paths: Sequence[str]) -> list[tuple[str, SourceKind]]:
    """Return the sources of a report with their kinds: each path, or what a folder of several sources holds.

    Raises InputError, with the remedy, for a path that is none.
    """
    found: list[tuple[str, SourceKind]] = []
    for path in paths:
        found += _in_folder(Path(path)) if Path(path).is_dir() else [(path, _kind_of_file(path))]
    return list(dict.fromkeys(found))


def _in_folder(folder: Path) -> list[tuple[str, SourceKind]]:
    found = list(_sources_in(folder, _DEPTH))
    if not found:
        raise InputError(f"is a folder without anything that a report shows; {_SHOWN}", source=str(folder))
    if len(found) > _MOST_FOUND:
        raise InputError(f"holds {len(found):,} sources; name at most {_MOST_FOUND} of them", source=str(folder))
    return found


def _sources_in(folder: Path, depth: int) -> Iterator[tuple[str, SourceKind]]:
    if is_watched_folder(folder):
        yield str(folder), "watched"
    elif is_study_folder(folder):
        yield str(folder), "study"
    elif depth:
        for path in sorted(folder.iterdir()):
            if path.name.startswith("."):
                continue
            if path.is_dir():
                yield from _sources_in(path, depth - 1)
            elif path.is_file() and (kind := _recognised(path)) is not None:
                yield str(path), kind


def _recognised(path: Path) -> SourceKind | None:
    """Return the kind of a file in a folder, None for one that is no source; it may be anything."""
    try:
        with open_binary(path) as stream:
            beginning = stream.read(_BEGINNING)
        if beginning.startswith(_SQLITE):
            return "ledger" if _has_runs(path) else None
        if _study_format(beginning) is not None:
            return "study"
        if is_judge_file(str(path)):
            return "judge"
        if not beginning.lstrip().startswith(b"{"):
            return None
        with open_binary(path) as stream:
            value = parse_json_line(stream.readline(_FIRST_LINE))
    except (InputError, OSError, EOFError):
        return None
    is_result = isinstance(value, dict) and {"group_id", "status", "trajectories"} <= value.keys()
    return "results" if is_result else None


def _has_runs(path: Path) -> bool:
    """Whether a database is a ledger with a run."""
    try:
        with LedgerReader(path) as ledger:
            return ledger.runs_recorded and find_run(ledger) is not None
    except LedgerError:
        return False


def is_ledger(path: str) -> bool:
    """Return whether a report's source is a ledger: by its address, or by its first bytes.

    Raises InputError if it cannot be opened.
    """
    if path.startswith("sqlite:///") or is_postgres(path):
        return True
    with open_binary(Path(path)) as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


def _kind_of_file(path: str) -> SourceKind:
    if is_ledger(path):
        return "ledger"
    with open_binary(Path(path)) as stream:
        beginning = stream.read(_BEGINNING)
    if Path(path).name == "watch.json" and b'"calipers-watch/' in beginning:
        raise InputError("belongs to a watched run; name the folder it is in", source=path)
    if _SETTINGS.match(beginning):
        raise InputError("holds the settings of a study; name the folder it is in", source=path)
    if (stated := _study_format(beginning)) is not None:
        if stated not in KINDS:
            raise InputError(
                f"has the format {stated!r}; this version of calipers shows {', '.join(KINDS)}", source=path
            )
        return "study"
    if is_judge_file(path):
        return "judge"
    if (newer := _COMPARISON.match(beginning)) is not None:
        raise InputError(
            f"has the format {newer[1].decode()!r}; this version of calipers shows calipers-comparison/1", source=path
        )
    _require_results(path)
    return "results"


def _study_format(beginning: bytes) -> str | None:
    found = _FORMAT.match(beginning)
    stated = "" if found is None else found[1].decode("utf-8", "replace")
    return stated if stated.startswith(("calipers-training", "calipers-simulation")) else None


def _require_results(path: str) -> None:
    """Raise InputError, with the remedy, for a file that is certainly not a result file; an empty one may be."""
    with open_binary(Path(path)) as stream:
        line = stream.readline(_FIRST_LINE)
    if line.startswith(b"\x1f\x8b") or not line.strip():
        return
    value = parse_json_line(line)
    if isinstance(value, dict) and "status" not in value and "trajectories" in value:
        raise InputError(
            "is a groups file, which has no results; score it first, and name it after --groups", source=path, line=1
        )
    if isinstance(value, dict) and "trajectories" not in value:
        found = ", ".join([*value][:6]) or "no keys"
        raise InputError(f"is not a result file (it has {found[:200]}); {_SHOWN}", source=path, line=1)
