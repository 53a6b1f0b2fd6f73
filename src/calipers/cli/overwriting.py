"""Decides which existing files a command may replace: empty files and files of the kind that it writes.

With --force, it may also replace files of other kinds. A file's kind is recognised by its first line (in Parquet, by
its columns), not by its name. Not responsible for writing (``result_file``, and each command).
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from calipers.cli.command_options import command_option
from calipers.errors import ConfigError

_SIDES: Final = ("", "-wal", "-shm", "-journal")
"""Endings of the files that SQLite writes beside a ledger: replacing such a file would damage the ledger."""
F = TypeVar("F", bound=Callable[..., Any])
_FIRST_LINE: Final = 2**26
"""The largest number of bytes to read of a first line."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file that a command writes: its name in messages, and a test of whether a file is of this kind."""

    name: str
    is_one: Callable[[Path], bool]


def _rows_with(*columns: frozenset[str]) -> Callable[[Path], bool]:
    """Return a test of whether a file's first row has all the names in one of the sets in ``columns``."""

    def is_one(path: Path) -> bool:
        names = _columns(path)
        return any(wanted <= names for wanted in columns)

    return is_one


def _columns(path: Path) -> frozenset[str]:
    with path.open("rb") as file:
        line = file.readline(_FIRST_LINE)
    if line.startswith(b"PAR1"):
        return _parquet_columns(path)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(row) if isinstance(row, dict) else frozenset()


def _parquet_columns(path: Path) -> frozenset[str]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import
        import pyarrow.parquet as pq  # noqa: PLC0415 - likewise
    except ImportError:
        return frozenset()
    try:
        return frozenset(pq.read_schema(path).names)
    except pa.ArrowException:
        return frozenset()


def _is_rubric(path: Path) -> bool:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError):
        return False
    return isinstance(found.get("criteria"), list)


def _is_recommendation(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(RECOMMENDED)) == RECOMMENDED.encode()


RECOMMENDED: Final = "# Recommended by calipers calibrate.\n"
"""The first line of a file that --recommendation writes."""


def _is_collection(path: Path) -> bool:
    """Whether a file is ART's collection of scenarios, an object over many lines."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("scenarios"), list)


def _is_scenarios(path: Path) -> bool:
    return _is_collection(path) if path.suffix == ".json" else _has_scenarios(path)


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        return _REPORT in file.read(200)


def _is_comparison(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_COMPARISON)) == _COMPARISON


_COMPARISON: Final = b'{"calipers_comparison":'
_REPORT: Final = b"<!-- calipers report "


def _is_profile(path: Path) -> bool:
    from calipers.study.profiles.profile import is_profile  # noqa: PLC0415 - --help stays quick

    return is_profile(path)


RESULTS: Final = Kind("a result file", _rows_with(frozenset({"group_id", "status", "trajectories"})))
VERDICTS: Final = Kind("a file of verdicts", _rows_with(frozenset({"judge", "line", "met"})))
JUDGMENTS: Final = Kind("a judgments file", _rows_with(frozenset({"group_id", "judge", "mode"})))
GOLD: Final = Kind("gold of calipers label", _rows_with(frozenset({"group_id", "trajectories", "labels"})))
GROUPS: Final = Kind("a groups file", _rows_with(frozenset({"group_id", "trajectories"})))
RUBRIC: Final = Kind("a rubric in TOML", _is_rubric)
RECOMMENDATION: Final = Kind("a recommendation of calipers calibrate", _is_recommendation)
COMPARISON: Final = Kind("a comparison of judges", _is_comparison)
PROFILE: Final = Kind("a judge's profile", _is_profile)
REPORT: Final = Kind("a report of calipers", _is_report)
RESPONSES: Final = Kind(
    "a file of responses",
    _rows_with(frozenset({"responses"}), frozenset({"prompt", "response"}), frozenset({"group_id", "trajectories"})),
)
EXPORT: Final = Kind("a ledger that was exported", _rows_with(frozenset({"run", "position", "key", "outcome"})))
NO_SAMPLES: Final = Kind("a file of responses with OUT.samples.jsonl beside it", lambda _: False)
PER_RESPONSE: Final = Kind("a file of IFEval's results", _rows_with(frozenset({"follow_instruction_list", "response"})))
_has_scenarios: Final = _rows_with(
    frozenset({"prompt", "topic", "difficulty"}), frozenset({"data_source", "prompt", "reward_model", "extra_info"})
)
SCENARIOS: Final = Kind("a file of scenarios", _is_scenarios)
SAMPLES: Final = Kind("a file of recorded responses", _rows_with(frozenset({"key", "text", "finish_reason"})))


def require_replaceable(flag: str, path: str, kind: Kind, *, force: bool, beside: Mapping[str, str | None]) -> None:
    """Raise ConfigError if writing ``path`` would destroy a file that the command should not replace.

    Such a file is of another kind (allowed with ``force``), or the same command reads or writes it: ``beside`` maps
    names of these files for messages to their paths.
    """
    if path == "-":
        return
    for other, where in beside.items():
        if where is not None and where != "-" and any(_same(path, where + end) for end in _SIDES):
            raise ConfigError(f"{flag} {path}: is {other} itself, or a file that belongs to it; name another file")
    file = Path(path)
    try:
        foreign = file.is_file() and file.stat().st_size > 0 and not kind.is_one(file)
    except OSError as error:
        raise ConfigError(f"{flag} {path}: cannot be read, so it is not replaced ({error.strerror})") from error
    if foreign and not force:
        raise ConfigError(
            f"{flag} {path}: exists and is not {kind.name}, so it is not replaced; name another file, or "
            "replace it with --force"
        )


def _same(path: str, other: str) -> bool:
    """Whether two paths name the same file, which need not exist."""
    one, two = Path(path), Path(other.removeprefix("sqlite:///"))
    if one.exists() and two.exists():
        return one.samefile(two)
    return os.path.realpath(one) == os.path.realpath(two)  # which ends where links lead to themselves


def add_force_option(command: F) -> F:
    """Add the flag ``--force`` to ``command``."""
    return command_option(
        "--force",
        is_flag=True,
        named=True,
        help="Replace an existing file even if it is not of the kind that this command writes.",
    )(command)
