"""The groups of a groups file by number: one pass notes where each line is, and a group is read when it is needed.

Memory does not grow with the texts: it holds the id and the place of each line. A file that has no lines to come back
to (compressed, Parquet, an array of groups, stdin) is copied to a temporary file of JSON lines first.
"""

from __future__ import annotations

import os
import tempfile
import threading
from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final, Self

import orjson

from calipers.errors import InputError
from calipers.inputs import read_groups
from calipers.inputs.files import group_of_row, unused_id
from calipers.inputs.jsonl import MAX_LINE, decompressed_stream, open_binary, parse_json_line
from calipers.types import TrajectoryGroup
from calipers.types.encoding import to_json

_PLAIN: Final = "jsonl"
_BOM: Final = b"\xef\xbb\xbf"


class GroupIndex:
    """The groups of the groups file ``path``, numbered from 0 in the order of the file. Safe to use from threads.

    ``ids`` are their ids. ``single`` counts groups of one trajectory, which nobody can rank, and which have no number.
    A line that cannot be read goes to ``on_error`` as an InputError with file and line; it has no number either. Raises
    InputError for a file that cannot be opened, and for one without any group.
    """

    def __init__(self, path: str, *, on_error: Callable[[InputError], None]) -> None:
        self.path = path
        self.ids: list[str] = []
        self.single = 0
        self._on_error = on_error
        self._starts = array("Q")
        self._lines = array("Q")
        self._reading = threading.Lock()
        self._seen: dict[int, int] = {}
        self._stream = self._opened()
        try:
            self._scan()
        except BaseException:
            self._stream.close()
            raise
        self.numbers = {group_id: number for number, group_id in enumerate(self.ids)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __len__(self) -> int:
        return len(self.ids)

    def group(self, number: int) -> TrajectoryGroup:
        """Read a group. Raises InputError, with file and line, for one that breaks the rules of a groups file."""
        with self._reading:
            self._stream.seek(0, os.SEEK_END)  # forgets what is buffered: the file may have been changed since
            self._stream.seek(self._starts[number])
            line = self._stream.readline(MAX_LINE)
        try:
            group = _group_in(line, self.ids[number])
        except InputError as error:
            raise InputError(str(error), source=self.path, line=self._lines[number]) from None
        return replace(group, group_id=self.ids[number])

    def line(self, number: int) -> int:
        """Return the 1-based line of a group in its file."""
        return self._lines[number]

    def _opened(self) -> IO[bytes]:
        path = Path(self.path)
        if self.path != "-":
            stream = open_binary(path)
            if path.suffix in ("", f".{_PLAIN}") and decompressed_stream(stream) is stream:
                stream.seek(0)
                return stream
            stream.close()
        copy = tempfile.TemporaryFile(prefix="calipers-label-")  # noqa: SIM115 - closed with this object
        for group in read_groups(self.path, on_error=self._on_error):
            copy.write(to_json(group.to_dict(), lone="replace") + b"\n")
        copy.seek(0)
        return copy

    def _scan(self) -> None:
        start = number = 0
        while line := self._stream.readline(MAX_LINE + 1):
            number += 1
            if number == 1 and line.startswith(_BOM):
                line, start = line[len(_BOM) :], len(_BOM)
            if line.strip():
                try:
                    self._add(line, start, number)
                except InputError as error:
                    self._on_error(InputError(str(error), source=self.path, line=number))
            start += len(line)
            if len(line) > MAX_LINE:
                start += self._skip_line()
        if not self.ids and not self.single:
            raise InputError("holds no groups that can be read; see docs/groups-file.md for its form", source=self.path)

    def _add(self, line: bytes, start: int, number: int) -> None:
        if len(line) > MAX_LINE:
            raise InputError(f"the line is longer than {MAX_LINE // 2**20} MB; split the group, or link images instead")
        name, count, derived = _identified(line)
        name = unused_id(name, number, self._seen, derived=derived)
        if count < 2:
            self.single += 1
            return
        self.ids.append(name)
        self._starts.append(start)
        self._lines.append(number)

    def _skip_line(self) -> int:
        skipped = 0
        while rest := self._stream.readline(2**20):
            skipped += len(rest)
            if rest.endswith(b"\n"):
                break
        return skipped


def _group_in(line: bytes, group_id: str) -> TrajectoryGroup:
    value = _object(line)
    group = group_of_row(value)
    known = (
        group_id if value.get("group_id") is not None else group_id.partition("-")[0]
    )  # a derived id may have a count
    if group.group_id != known:
        raise InputError("the file has changed since it was opened; start calipers label again")
    return group


def _object(line: bytes) -> dict[str, Any]:
    value = parse_json_line(line)
    if isinstance(value, str):
        raise InputError(value)
    return value


def _identified(line: bytes) -> tuple[str, int, bool]:
    """Return a group's id, its number of trajectories, and whether the id is derived from the content.

    Most lines state an id: only their JSON is read here, fast, and their trajectories are checked when they are shown.
    """
    try:
        value: Any = orjson.loads(line)
    except orjson.JSONDecodeError:  # what is wrong, and whether it is wrong for calipers, is found out below
        value = None
    if isinstance(value, Mapping):
        name, members = value.get("group_id"), value.get("trajectories")
        if isinstance(name, str) and name and isinstance(members, list) and members:
            return name, len(members), False
    found = _object(line)
    group = group_of_row(found)
    return group.group_id, len(group.trajectories), found.get("group_id") is None
