"""Read the groups of a file or a table, one after the other: ``read_groups``. Rollouts in rows of their own make up
groups.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from calipers import registry
from calipers.errors import ConfigError, InputError
from calipers.inputs import jsonl
from calipers.inputs.groups import as_group
from calipers.types import TrajectoryGroup

_LOOKED_AT = 100
"""How many rows are looked at to tell groups from rollouts; titles and damaged lines may precede them."""
_SHAPE = 'one JSON object a line: {"group_id": "g1", "trajectories": [{"id": "a", "messages": [...]}, ...]}'


def read_groups(
    path: str | os.PathLike[str] | Iterable[object],
    *,
    reader: str | None = None,
    strict: bool = False,
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[TrajectoryGroup]:
    """Yield the groups of a groups file (``.jsonl``, ``.jsonl.gz``, ``.parquet``) in order; ``-`` reads stdin's JSON
    lines.

    ``reader`` names a registered reader, which another package may provide; by default the file's suffix selects it. A
    bad line (or Parquet row) goes to ``on_error`` as an InputError naming file, 1-based line and remedy, and is
    skipped; with ``strict``, or without ``on_error``, the error is raised. A line that repeats an earlier ``group_id``
    is bad; lines without a ``group_id`` get an id derived from their content. A ``.json`` file may hold one group or an
    array of groups, and is read whole; other files need memory for one line (or a batch of 64 rows), and a few bytes
    for each id.

    Instead of a path, ``path`` may be groups in memory, read by the same rules: a list of groups-file objects or of
    anything else that ``score_group`` takes, a pandas data frame, or a Hugging Face dataset whose rows are groups.
    Where the first row is a rollout, such as a trainer logs it, all rows are, and those of one prompt are a group; they
    are held in memory.

    The first iteration raises InputError for a path that is missing, a directory, unreadable or without any group, and
    ConfigError for an unknown ``reader``, one beside rows in memory, and Parquet without pyarrow.
    """
    seen: dict[int, int] = {}
    if reader is not None:
        registry.READERS.find(str(reader))
    if isinstance(path, str | os.PathLike):
        source = "<stdin>" if os.fspath(path) == "-" else os.fspath(path)
        rows = iter(_rows(source, reader))
    else:
        from calipers.inputs.parquet import table_rows  # noqa: PLC0415 - files do not need it

        source = f"<{type(path).__name__}>"
        rows = table_rows(path)
    if reader not in (None, "jsonl") and source[0] == "<":
        raise ConfigError(f"reader={reader!r} reads files, and here are rows of {source}; leave it out, or name a file")
    rows = group_rows(rows, source)
    first = next(rows, None)
    if first is None:
        raise InputError(f"holds no groups; expected {_SHAPE}", source=source)
    yield from jsonl.convert_rows(
        chain([first], rows),
        lambda value, line: _group(value, line, seen),
        source=source,
        on_error=None if strict else on_error,
    )


def group_rows(rows: Iterator[tuple[int, object]], source: str) -> Iterator[tuple[int, object]]:
    """Return rows as they are, or the groups that they make up if the first known one is a rollout."""
    head = []
    for numbered in islice(rows, _LOOKED_AT):
        head.append(numbered)
        row = numbered[1]
        if not isinstance(row, str | dict) or _is_group(row):
            break
        if isinstance(row, dict):
            from calipers.inputs.grouping import rollout_groups  # noqa: PLC0415 - groups files do not need it
            from calipers.inputs.rollouts import format_of  # noqa: PLC0415 - likewise

            if format_of(row) is not None:
                return rollout_groups(chain(head, rows), source)
    return chain(head, rows)


def _is_group(row: object) -> bool:
    return isinstance(row, Mapping) and ("trajectories" in row or "responses" in row)


def group_of_row(value: object) -> TrajectoryGroup:
    """Convert a row of a groups file to a group. Raises InputError for text, and for a rollout, which has no siblings
    here.
    """
    if isinstance(value, str):
        raise InputError(value)
    group = as_group(value)
    if isinstance(value, Mapping) and not _is_group(value) and len(group.trajectories) == 1:
        raise InputError("is one rollout among groups; give rollouts in a file of their own, which makes them groups")
    return group


def _group(value: object, line: int, seen: dict[int, int]) -> TrajectoryGroup:
    group = group_of_row(value)
    derived = not isinstance(value, TrajectoryGroup) and (
        not isinstance(value, Mapping) or value.get("group_id") is None
    )
    name = unused_id(group.group_id, line, seen, derived=derived)
    return group if name == group.group_id else replace(group, group_id=name)


def unused_id(name: str, line: int, seen: dict[int, int], *, derived: bool) -> str:
    """Return the id of the group on a ``line`` of a groups file, and note it in ``seen``.

    A ``derived`` id that occurred before gets a count as suffix. Raises InputError for any other that did.
    """
    while (earlier := seen.setdefault(hash(name), line)) != line:
        if not derived:
            raise InputError(f"the group_id {name!r} was used on line {earlier}; each group needs its own")
        # The same content again gets a count as suffix, so that its id does not depend on other lines.
        stem, _, count = name.partition("-")
        name = f"{stem}-{int(count or 1) + 1}"
    return name


def _rows(source: str, reader: str | None) -> Iterable[tuple[int, object]]:
    if source == "<stdin>":
        return jsonl.json_line_rows(jsonl.decompressed_stream(sys.stdin.buffer))
    return file_rows(Path(source), reader)


def file_rows(path: Path, reader: str | None = None) -> Iterable[tuple[int, object]]:
    """Return the rows of a file, with their numbers from 1, by the named reader or by its own."""
    rows: Iterable[tuple[int, object]] = registry.READERS.find(reader or _reader_of(path))(path)
    return rows


def _reader_of(path: Path) -> str:
    """Return the name of the reader for a file, by its first bytes, then by its suffix; by default ``"jsonl"``."""
    suffix = path.suffix.removeprefix(".")
    try:
        is_file = path.is_file()
    except OSError:  # such as a name that is too long, which opening it reports
        is_file = False
    if is_file:  # only for files: bytes read here from a pipe would be lost
        with jsonl.open_binary(path) as stream:
            head = stream.read(4)
        if head == b"PAR1":
            return "parquet"
        if suffix == "gz" and head[:2] != b"\x1f\x8b" and head:
            raise InputError("is named .gz but is not gzip; rename it, or compress it", source=str(path))
    return suffix if suffix in registry.READERS else "jsonl"
