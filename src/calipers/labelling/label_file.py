"""The label file: every label is appended and on the disk before anybody is told that it is saved.

Nothing in it is ever changed. The last line of an annotator about a group counts; earlier ones are its history. Several
processes may append to one file: they take turns by a lock on it, and read what the others wrote first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs.jsonl import MAX_LINE, parse_json_line
from calipers.labelling.labels import FORMAT, Label, label_from
from calipers.types.encoding import to_json

try:
    import fcntl
except ImportError:  # Windows, where an open file in append mode is all that keeps processes apart
    fcntl = None  # type: ignore[assignment]

_BEGINNING: Final = f'{{"format":"{FORMAT}"'.encode()
"""How every line begins that calipers writes."""


class StaleLabelError(CalipersError):
    """A label that was based on an older one than the file now has: another tab or process saved in between."""

    def __init__(self, label: Label | None, revision: int) -> None:
        self.label = label
        self.revision = revision
        super().__init__("This group was labelled in another tab or window meanwhile.")


class LabelFile:
    """The labels in ``path``, which is created with the first one. Safe to use from several threads and processes.

    A line that cannot be read goes to ``on_error`` with its number; it is kept. Raises ConfigError for a file that is
    not a label file or cannot be read.
    """

    def __init__(self, path: Path, *, on_error: Callable[[InputError], None]) -> None:
        self.path = path
        self._on_error = on_error
        self._writing = threading.RLock()
        self._latest: dict[tuple[str, str], tuple[Label, int]] = {}
        self._read = 0
        self._line = 0
        self.refresh()

    def current(self, annotator: str, group_id: str) -> tuple[Label | None, int]:
        """Return an annotator's label of a group, None if there is none, and how many lines the file has about it."""
        label, revision = self._latest.get((annotator, group_id), (None, 0))
        return (None if label is None or label.ranks is None else label), revision

    def labels(self) -> list[Label]:
        """Return every annotator's latest label of every group, without those that were taken back."""
        with self._writing:
            return [label for label, _ in self._latest.values() if label.ranks is not None]

    def of(self, annotator: str) -> dict[str, Label]:
        """Return an annotator's labels by group, oldest first."""
        own = sorted((one for one in self.labels() if one.annotator == annotator), key=lambda one: one.time)
        return {one.group_id: one for one in own}

    def refresh(self) -> None:
        """Read the lines that were added since the last time, by whomever."""
        with self._writing:
            try:
                with self.path.open("rb") as stream:
                    stream.seek(self._read)
                    while line := stream.readline(MAX_LINE):
                        self._require_own(line)
                        if not line.endswith(b"\n"):
                            break  # another process is writing it, or a crash cut it off
                        self._read += len(line)
                        self._line += 1
                        self._take(line)
            except FileNotFoundError:
                return
            except OSError as error:
                raise ConfigError(f"--labels {self.path}: cannot be read: {error.strerror or error}") from error

    def append(self, label: Label, *, based_on: int | None = None) -> int:
        """Save a label, and return its revision once it is on the disk.

        ``based_on`` is the revision that the annotator saw. Raises StaleLabelError if there is a later one with other
        contents, and ConfigError if the label cannot be written; then the file is as it was.
        """
        return self.append_all([label], based_on=based_on)

    def append_all(self, labels: list[Label], *, based_on: int | None = None) -> int:
        """Save labels together, all or none, as ``append`` does; return the revision of the last."""
        if not labels:
            return 0
        with self._writing, self._locked() as file:
            self.refresh()
            last = labels[-1]
            held, revision = self._latest.get((last.annotator, last.group_id), (None, 0))
            if based_on is not None and revision != based_on:
                if held is not None and (held.ranks, held.note) == (last.ranks, last.note):
                    return revision  # the same label, whose confirmation got lost
                raise StaleLabelError(held, revision)
            self._write(file, b"".join(to_json(label.to_dict(), lone="replace") + b"\n" for label in labels))
            self.refresh()
            return self._latest[last.annotator, last.group_id][1]

    @contextmanager
    def _locked(self) -> Iterator[int]:
        try:
            created = not self.path.exists()
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            if created:
                _sync_folder(self.path.parent)
            yield file
        finally:
            os.close(file)

    def _write(self, file: int, data: bytes) -> None:
        size = os.fstat(file).st_size
        if size > self._read:  # a line that a crash cut off: it was never confirmed, and must not swallow this one
            data = b"\n" + data
        try:
            written = 0
            while written < len(data):
                written += os.write(file, data[written:])
            os.fsync(file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(file, size)
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> ConfigError:
        return ConfigError(f"--labels {self.path}: cannot be written: {error.strerror or error}")

    def _require_own(self, line: bytes) -> None:
        """Refuse a file of something else, by its first line: labels are never appended to it."""
        start = line.rstrip(b"\n")[: len(_BEGINNING)]
        cut_off = len(start) > 2 and _BEGINNING.startswith(start)  # by a crash; "{" alone begins any JSON
        if self._line == 0 and line.strip() and not cut_off:
            raise ConfigError(
                f"--labels {self.path}: is not a file of calipers label, and nothing is appended to it; "
                "name another file"
            )

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        value = parse_json_line(line)
        try:
            if isinstance(value, str):
                raise InputError(f"is not a whole label, and is ignored: {value}")  # noqa: TRY301 - one place names the line
            label = label_from(value)
        except InputError as error:
            self._on_error(InputError(str(error), source=str(self.path), line=self._line))
            return
        key = (label.annotator, label.group_id)
        self._latest[key] = (label, self._latest.get(key, (None, 0))[1] + 1)


def _sync_folder(folder: Path) -> None:
    """Put the entry of a new file on the disk, where the system can do that."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
