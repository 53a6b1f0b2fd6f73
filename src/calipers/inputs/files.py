"""Read the groups of a file, of any registered kind, one after the other: ``read_groups``.

This file reports problems of a file as a whole, and ids that repeat. Not responsible for lines (``jsonl``, ``parquet``)
or for groups (``groups``).
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
from calipers.interfaces import Reader
from calipers.types import TrajectoryGroup

_LOOKED_AT = 100
"""How many rows are looked at to tell a groups file from a file of rollouts."""
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
    anything else that ``score_group`` takes, a pandas data frame, or a Hugging Face dataset whose rows are groups. Rows
    that are rollouts of other libraries, here and on stdin, make up groups, as those of a file do;
    ``reader="rollouts"`` insists on it.

    The first iteration raises InputError for a path that is missing, a directory, unreadable or without any group, and
    ConfigError for an unknown ``reader``, one that only reads files where there is none, and Parquet without pyarrow.
    """
    seen: dict[int, int] = {}
    if reader is not None:
        registry.READERS.find(str(reader))
    if isinstance(path, str | os.PathLike):
        source = "<stdin>" if os.fspath(path) == "-" else os.fspath(path)
        found = iter(_rows(source, reader))
    else:
        source = f"<{type(path).__name__}>"
        found = _rows_in_memory(path, source, reader)
    in_file = reader is None and source[0] != "<"
    head = _head(found) if in_file else list(islice(found, 1))
    if in_file and any(_is_foreign(row) for _, row in head):
        found = iter(_rows(source, "rollouts"))
        head = list(islice(found, 1))
    if not head:
        raise InputError(f"holds no groups; expected {_SHAPE}", source=source)
    yield from jsonl.convert_rows(
        chain(head, found),
        lambda value, line: _group(value, line, seen),
        source=source,
        on_error=None if strict else on_error,
    )


def _head(rows: Iterator[tuple[int, object]]) -> list[tuple[int, object]]:
    """Return a file's rows up to the first that is a group or a rollout; titles and damaged lines may precede it."""
    head = []
    for numbered in islice(rows, _LOOKED_AT):
        head.append(numbered)
        if _is_group(numbered[1]) or _is_foreign(numbered[1]):
            break
    return head


def _is_group(row: object) -> bool:
    return isinstance(row, Mapping) and ("trajectories" in row or "responses" in row)


def _is_foreign(row: object) -> bool:
    """Return whether a row of a file is a rollout of another library, whose groups the file's rows make up."""
    if not isinstance(row, dict) or _is_group(row):
        return False
    from calipers.inputs.foreign.files import is_rollout_row  # noqa: PLC0415 - groups files do not need it

    return is_rollout_row(row)


def group_of_row(value: object) -> TrajectoryGroup:
    """Convert a row of a groups file to a group. Raises InputError for text, and for a rollout, which has no siblings
    here.
    """
    if isinstance(value, str):
        raise InputError(value)
    group = as_group(value)
    if isinstance(value, Mapping) and not _is_group(value) and len(group.trajectories) == 1:
        raise InputError(
            "is one rollout where a group is needed: rollouts make up groups if the first row is one, or with "
            "reader='rollouts' (--reader rollouts)"
        )
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
        return _with_rollouts(jsonl.json_line_rows(jsonl.decompressed_stream(sys.stdin.buffer)), source, reader)
    path = Path(source)
    read: Reader = registry.READERS.find(_reader_of(path) if reader is None else reader)
    return read(path)


def _rows_in_memory(rows: object, source: str, reader: str | None) -> Iterator[tuple[int, object]]:
    from calipers.inputs.tables import table_rows  # noqa: PLC0415 - files do not need it

    return _with_rollouts(table_rows(rows), source, reader)


def _with_rollouts(rows: Iterator[tuple[int, object]], source: str, reader: str | None) -> Iterator[tuple[int, object]]:
    """Return rows that are read once, with the groups that they make up if the first known one is a rollout."""
    from calipers.inputs.foreign.files import is_rollout, rollout_groups  # noqa: PLC0415 - files do not need it

    if reader not in (None, "rollouts", "jsonl"):
        raise ConfigError(f"reader={reader!r} reads files, and here are rows of {source}; leave it out, or name a file")
    head = []
    for numbered in islice(rows, _LOOKED_AT):
        head.append(numbered)
        if not isinstance(numbered[1], str | dict) or _is_group(numbered[1]) or is_rollout(numbered[1]):
            break
    if reader == "rollouts" or (reader is None and head and is_rollout(head[-1][1])):
        return rollout_groups(chain(head, rows), source)
    return chain(head, rows)


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
