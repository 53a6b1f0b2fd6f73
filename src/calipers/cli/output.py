"""What a command writes: which files it may replace, and the result file.

The result file is opened only for the first result, so that a wrong option destroys no older file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO, TypeVar

from calipers.cli.command_options import command_option
from calipers.errors import ConfigError
from calipers.types import GroupResult

F = TypeVar("F", bound=Callable[..., Any])


def require_replaceable(
    flag: str, path: str, *, force: bool, beside: Mapping[str, str | None], resumes: bool = False
) -> None:
    """Raise ConfigError if writing ``path`` would destroy a file that is not empty, unless ``force`` allows it.

    A command that ``resumes`` replaces the file that its interrupted run wrote. ``beside`` maps names for messages to
    the other files that the command reads or writes; those are never replaced.
    """
    if path == "-":
        return
    for name, other in beside.items():
        sides = () if other is None else ("", "-wal", "-shm", "-journal")  # SQLite's files beside a ledger
        if any(_same(path, f"{other}{side}") for side in sides):
            raise ConfigError(f"{flag} {path}: is {name} itself, or a file that belongs to it; name another file")
    file = Path(path)
    if not (force or resumes) and file.is_file() and file.stat().st_size:
        raise ConfigError(f"{flag} {path}: exists, so it is not replaced; name another file, or give --force")


def _same(path: str, other: str) -> bool:
    one, two = Path(path), Path(other.removeprefix("sqlite:///"))
    if one.exists() and two.exists():
        return one.samefile(two)
    return os.path.realpath(one) == os.path.realpath(two)  # which ends where links lead to themselves


def add_force_option(command: F) -> F:
    """Add the flag ``--force`` to ``command``."""
    return command_option("--force", is_flag=True, named=True, help="Replace a file that exists.")(command)


class Output:
    """Writes result lines to the file ``out``, or to stdout for ``-``. Raises ConfigError if it cannot be written."""

    def __init__(self, out: str) -> None:
        self._out = out
        self._file: TextIO | None = sys.stdout if out == "-" else None
        self._stack = ExitStack()
        self._whole = 0

    def __enter__(self) -> Self:
        return self

    def write(self, result: GroupResult) -> None:
        """Write the result of one group as a line of the command's file, and flush it."""
        file = self._opened()
        try:
            try:
                file.write(json.dumps(result.to_dict(), ensure_ascii=False) + "\n")
            except UnicodeEncodeError:
                file.write(
                    json.dumps(result.to_dict()) + "\n"
                )  # half a surrogate pair can only be written as an escape
            file.flush()
            if file is not sys.stdout:
                self._whole = os.fstat(file.fileno()).st_size
        except BrokenPipeError:
            raise
        except OSError as error:
            raise ConfigError(
                f"--out {self._out}: cannot be written: {error.strerror}. What was answered is "
                "recorded; fix that and run the same command again"
            ) from error

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
        with (
            suppress(OSError) if kind is not None else nullcontext()
        ):  # closing the file tries again to write what could not be written
            self._stack.close()
        if kind is not None and self._file not in (None, sys.stdout):
            # Half a line is no result: the same command would take the file for somebody's, and not replace it.
            with suppress(OSError):
                os.truncate(self._out, self._whole)
