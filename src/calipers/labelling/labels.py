"""A label: how one annotator ranks the candidates of one group; and the line of the label file that holds it.

Plain data, checked.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs.records import MAX_LINE, parse_json_line
from calipers.types.encoding import printable, to_json

FORMAT: Final = "calipers-label/1"
LONGEST_NOTE: Final = 4000
LONGEST_NAME: Final = 80
_KEYS: Final = ("group_id", "annotator", "time", "content")


@dataclass(frozen=True, slots=True)
class Label:
    """How ``annotator`` ranks the trajectories of a group.

    ``ranks`` maps ids to ranks from 1, the best; equal ranks are ties, and None means "can't tell". ``ranks`` is None
    for a label that its annotator took back. ``shown`` holds the ids in the order in which the page showed them, one of
    each set of identical trajectories; it is empty for labels from other tools. ``content`` identifies the texts that
    were labelled, and ``time`` is in UTC (ISO 8601).
    """

    group_id: str
    annotator: str
    time: str
    content: str
    ranks: Mapping[str, int | None] | None
    shown: tuple[str, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the label as data: a line of a label file."""
        return {
            "format": FORMAT,
            "group_id": self.group_id,
            "annotator": self.annotator,
            "time": self.time,
            "ranks": None if self.ranks is None else dict(self.ranks),
            "shown": list(self.shown),
            "note": self.note,
            "content": self.content,
        }


def label_from(value: Mapping[str, Any]) -> Label:
    """Return the label in a line of a label file. Raises InputError that names what is wrong with it."""
    if value.get("format") != FORMAT:
        raise InputError(f'is no label of calipers: its "format" is not {FORMAT!r}; name another file with --labels')
    texts = {key: value.get(key) for key in _KEYS}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{key!r} must be text")
    ranks, shown, note = value.get("ranks"), value.get("shown", []), value.get("note", "")
    if ranks is not None and not (isinstance(ranks, Mapping) and all(map(_is_rank, ranks.values()))):
        raise InputError(
            "'ranks' must be null, or an object of ids with whole numbers from 1, or null for \"can't tell\""
        )
    if not isinstance(shown, list) or not all(isinstance(name, str) for name in shown):
        raise InputError("'shown' must be a list of ids")
    if not isinstance(note, str):
        raise InputError("'note' must be text")
    group_id, annotator, time, content = (str(texts[key]) for key in _KEYS)
    return Label(group_id, annotator, time, content, ranks, tuple(shown), note)


def _is_rank(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1)


def require_annotator(name: str) -> str:
    """Return an annotator's name without spaces around it. Raises ConfigError for one that cannot be used."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or printable(name) != name or not name.isprintable():
        raise ConfigError(f"--annotator: needs a name of 1 to {LONGEST_NAME} printable characters")
    return name


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
        mine = sorted((label for label in self.labels() if label.annotator == annotator), key=lambda label: label.time)
        return {label.group_id: label for label in mine}

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
        with self._writing, self._locked() as file:
            self.refresh()
            held, revision = self._latest.get((label.annotator, label.group_id), (None, 0))
            if based_on is not None and revision != based_on:
                if held is not None and (held.ranks, held.note) == (label.ranks, label.note):
                    return revision  # the same label, whose confirmation got lost
                raise StaleLabelError(held, revision)
            self._write(file, to_json(label.to_dict(), lone="replace") + b"\n")
            self.refresh()
            return self._latest[label.annotator, label.group_id][1]

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
