"""What a command writes: which files it may replace, JSON and text, and the result file.

The result file is opened only for the first result, so that a wrong option destroys no older file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

import click

from calipers.errors import ConfigError
from calipers.inputs.plain import is_encodable
from calipers.types import GroupResult


def require_replaceable(
    flag: str, path: str, *suffixes: str, force: bool, beside: Mapping[str, str | None], resumes: bool = False
) -> None:
    """Raise ConfigError if ``path`` cannot be written, or would destroy a file that is not empty, without ``force``.

    ``suffixes`` are those of the formats that the command writes; without them it writes text. A command that
    ``resumes`` replaces the file that its interrupted run wrote. ``beside`` maps names for messages to the other files
    that the command reads or writes; those are never replaced.
    """
    if path == "-" and not suffixes:
        return
    file = Path(path)
    if file.is_dir():
        raise ConfigError(f"{flag} {path}: is a folder; name a file in it")
    if not file.absolute().parent.is_dir():
        raise ConfigError(f"{flag} {path}: its folder does not exist; create it first")
    if file.suffix not in suffixes if suffixes else file.suffix.lower() in {".csv", ".tsv", ".gz", ".parquet"}:
        formats = " or ".join(suffixes or (".jsonl", "a suffix that --help names"))
        raise ConfigError(f"{flag} {path}: must end in {formats}")
    for name, neighbour in beside.items():
        sides = () if neighbour is None else ("", "-wal", "-shm", "-journal")  # SQLite's files beside a ledger
        if any(_same(path, f"{neighbour}{side}") for side in sides):
            raise ConfigError(f"{flag} {path}: is {name} itself, or a file that belongs to it; name another file")
    if not (force or resumes) and file.is_file() and file.stat().st_size:
        raise ConfigError(f"{flag} {path}: exists, so it is not replaced; name another file, or give --force")


def _same(path: str, other: str) -> bool:
    first, second = Path(path), Path(other.removeprefix("sqlite:///"))
    if first.exists() and second.exists():
        return first.samefile(second)
    return os.path.realpath(first) == os.path.realpath(second)  # which ends where links lead to themselves


def print_json(value: object) -> None:
    """Print a command's answer as one JSON object."""
    click.echo(json.dumps(value, ensure_ascii=False))


def write_text(flag: str, path: str, text: str) -> None:
    """Write a command's file, or to stdout for ``-``. A failure leaves an older file as it was. Raises ConfigError."""
    try:
        target = Path(path).resolve()
        if path == "-" or (target.exists() and not target.is_file()):  # a pipe or a device cannot be replaced
            with click.open_file(path, "w", encoding="utf-8") as stream:
                stream.write(text)
            return
        part = target.with_name(f"{target.name[:200]}.part")
        try:
            part.write_text(text, encoding="utf-8", newline="\n")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ConfigError(f"{flag} {path}: cannot be written ({error.strerror or error})") from error


def json_line(row: object) -> str:
    """Return a row of a command's file as a line. Half a surrogate pair can only be written as an escape."""
    text = json.dumps(row, ensure_ascii=False)
    return (text if is_encodable(text) else json.dumps(row)) + "\n"


class Output:
    """Writes result lines to the file ``out``, or to stdout for ``-``. Raises ConfigError if it cannot be written.

    ``kept`` says in that error what is not lost.
    """

    def __init__(self, out: str, *, kept: str) -> None:
        self._out, self._kept = out, kept
        self._file: TextIO | None = sys.stdout if out == "-" else None
        self._stack = ExitStack()
        self._whole = 0

    def __enter__(self) -> Self:
        return self

    def write(self, result: GroupResult) -> None:
        """Write the result of one group as a line, and flush it."""
        file = self._opened()
        try:
            file.write(json_line(result.to_dict()))
            file.flush()
            if file is not sys.stdout:
                self._whole = os.fstat(file.fileno()).st_size
        except BrokenPipeError:
            raise
        except OSError as error:
            raise ConfigError(f"--out {self._out}: cannot be written: {error.strerror}. {self._kept}") from error

    def _opened(self) -> TextIO:
        if self._file is None:
            try:
                file = Path(self._out).open("w", encoding="utf-8", newline="\n")  # noqa: SIM115 - the stack closes it
            except OSError as error:
                raise ConfigError(f"--out {self._out}: cannot be written: {error.strerror}") from error
            self._file = self._stack.enter_context(file)
        return self._file

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._opened()  # a run without results leaves an empty result file
        # Closing the file tries again to write what could not be written.
        with suppress(OSError) if kind is not None else nullcontext():
            self._stack.close()
        if kind is not None and self._file not in (None, sys.stdout):
            # Half a line is no result: the same command would take the file for somebody's, and not replace it.
            with suppress(OSError):
                os.truncate(self._out, self._whole)
