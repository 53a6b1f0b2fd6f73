"""``read_groups``: a groups file of any kind to groups, one after the other.

What a line holds is parsed in ``jsonl`` and ``parquet`` and checked in ``groups``; here stand what is wrong with a file
as a whole, and ids across it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from calipers.errors import InputError
from calipers.readers import jsonl, parquet
from calipers.readers.groups import as_group
from calipers.types import TrajectoryGroup

_SHAPE = 'one JSON object a line: {"group_id": "g1", "trajectories": [{"id": "a", "messages": [...]}, ...]}'


def read_groups(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[TrajectoryGroup]:
    """The groups of a ``.jsonl``, ``.jsonl.gz`` or ``.parquet`` file, ``-`` for JSON lines on stdin, in order.

    A bad line (or Parquet row) is handed to ``on_error`` as an InputError naming file, 1-based line and remedy, and left
    out; with ``strict``, or without ``on_error``, it is raised instead. A line repeating an earlier ``group_id`` is bad;
    lines without one get an id derived from their content. A ``.json`` file may hold one group or an array of them, and
    is read whole; all others take memory for one line (or a batch of 64 rows), and some bytes an id.

    Raises InputError for a path that is missing, a directory, unreadable or without any group, at the first group
    asked for; ConfigError for Parquet without pyarrow.
    """
    source = "<stdin>" if os.fspath(path) == "-" else os.fspath(path)
    seen: dict[int, int] = {}
    found = False
    with contextlib.ExitStack() as stack:
        for line, value in _rows(source, stack):
            found = True
            try:
                yield _group(value, line, seen)
            except InputError as error:
                placed = InputError(str(error), source=source, line=line)
                if strict or on_error is None:
                    raise placed from None
                on_error(placed)
    if not found:
        raise InputError(f"holds no groups; expected {_SHAPE}", source=source)


def _group(value: dict[str, Any] | str, line: int, seen: dict[int, int]) -> TrajectoryGroup:
    if isinstance(value, str):
        raise InputError(value)
    group = as_group(value)
    derived = value.get("group_id") is None
    while (earlier := seen.setdefault(hash(group.group_id), line)) != line:
        if not derived:
            raise InputError(f"the group_id {group.group_id!r} was used on line {earlier}; results are keyed by it")
        # The same content once more: told apart by how often it came, which does not depend on other lines.
        stem, _, count = group.group_id.partition("-")
        group = replace(group, group_id=f"{stem}-{int(count or 1) + 1}")
    return group


def _rows(source: str, stack: contextlib.ExitStack) -> Iterator[jsonl.Row]:
    if source == "<stdin>":
        return jsonl.rows(jsonl.uncompressed(sys.stdin.buffer))
    path = Path(source)
    stream = stack.enter_context(_opened(path))
    head = stream.peek(4)[:4]  # type: ignore[attr-defined]  # a buffered reader
    if head == b"PAR1" or path.suffix == ".parquet":
        stream.close()
        return parquet.rows(path)
    if path.suffix == ".gz" and head[:2] != b"\x1f\x8b" and head:
        raise InputError("is named .gz but is not gzip; rename it, or compress it", source=source)
    if path.suffix == ".json":
        return _whole(jsonl.uncompressed(stream), source)
    return jsonl.rows(jsonl.uncompressed(stream))


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise InputError("there is no such file", source=str(path)) from None
    except IsADirectoryError:
        raise InputError("is a directory; name the groups file in it", source=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path)) from error


def _whole(stream: IO[bytes], source: str) -> Iterator[jsonl.Row]:
    """A ``.json`` file: an array of groups (numbered from 1), one group over many lines, or JSON lines after all."""
    data = stream.read().removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        return
    if data.lstrip()[:1] == b"[":
        try:
            listed = json.loads(data)
        except ValueError as error:
            raise InputError(f"is not JSON: {error}", source=source) from None
        for number, value in enumerate(listed, start=1):
            yield number, value if isinstance(value, dict) else "not an object with 'trajectories'"
        return
    first = data.lstrip().partition(b"\n")[0]
    if isinstance(jsonl.parsed(first), str):
        yield 1, jsonl.parsed(data)
    else:
        yield from jsonl.rows(io.BytesIO(data))
