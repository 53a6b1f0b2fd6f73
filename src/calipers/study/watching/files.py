"""The folder of a watched run: rows of judged groups, the trainer's figures, broken rules.

Rows are JSON lines. Several processes may write groups at the same time, each to a file of its own. Not responsible for
what rows mean (``rows``, ``rules``).
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from calipers._version import __version__
from calipers.errors import ConfigError, InputError
from calipers.study.curves import StudyCurves
from calipers.study.json_text import why_no_json
from calipers.study.watching.curves import LOGGED, watched_curves
from calipers.study.watching.rows import WatchedGroup, require_numbers
from calipers.study.watching.rules import BrokenRule
from calipers.types.encoding import measured_number, to_json

FORMAT: Final = "calipers-watch/1"
_ABOUT, _LOG, _BROKEN = "watch.json", "trainer.jsonl", "broken.jsonl"
_GROUPS: Final = "groups*.jsonl"


@dataclass(frozen=True, slots=True)
class WatchFolder:
    """The folder ``path`` of a watched run. Raises ConfigError where it cannot be read or written."""

    path: Path

    def begin(self, step: int, *, title: str, again: bool = False) -> None:
        """Make the folder, or go on with the watched run in it at ``step``: later rows are dropped.

        Raises ConfigError for a folder with other files, and, unless ``again``, if ``step`` is 0 and there is a run in
        it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            about = self.path / _ABOUT
            if not about.exists() and any(self.path.iterdir()):
                raise ConfigError(f"{self.path}: is a folder with other files in it; name a new one for the watch")
            if step == 0 and not again and self.groups():
                raise ConfigError(
                    f"{self.path}: another run was watched there, and this one begins at step 0; name another folder, "
                    "or delete this one"
                )
            for path in (*self.path.glob(_GROUPS), self.path / _LOG, self.path / _BROKEN):
                if path.exists():
                    _replace(path, [row for row in _rows(path) if row["step"] < step])
            _replace(about, [{"format": FORMAT, "calipers": __version__, "title": title}])
        except OSError as error:
            raise ConfigError(f"{self.path}: the watch cannot use it ({error.strerror or error})") from error

    def add_groups(self, groups: Iterable[WatchedGroup], *, of_process: bool = False) -> None:
        """Add rows of judged groups; with ``of_process``, to a file of this process's own."""
        name = f"groups-{socket.gethostname()}-{os.getpid()}.jsonl" if of_process else "groups.jsonl"
        self._add(name, (group.as_json() for group in groups))

    def add_log(self, row: Mapping[str, float]) -> None:
        """Add figures that the watched run's trainer logs, with their ``step``; null for what is no number."""
        self._add(_LOG, [{name: value if name == "step" else measured_number(value) for name, value in row.items()}])

    def add_broken(self, rules: Iterable[BrokenRule]) -> None:
        """Add rules that the watched run has broken."""
        self._add(_BROKEN, map(asdict, rules))

    def groups(self) -> list[WatchedGroup]:
        """Return the rows of all processes that judged groups of the watched run, by step."""
        found = []
        for path in sorted(self.path.glob(_GROUPS)):
            for number, row in enumerate(_rows(path), 1):
                try:
                    found.append(WatchedGroup.from_json(row))
                except InputError as error:
                    raise ConfigError(f"{path}:{number}: {error}") from None
        return sorted(found, key=lambda group: (group.step, group.split, group.group))

    def log(self) -> list[dict[str, Any]]:
        """Return the figures that the watched run's trainer logged."""
        found = []
        for number, row in enumerate(_rows(self.path / _LOG), 1):
            try:
                require_numbers(row, ("step",), (name for name in LOGGED if row.get(name) is not None))
            except InputError as error:
                raise ConfigError(f"{self.path / _LOG}:{number}: {error}") from None
            found.append(row)
        return found

    def broken(self) -> list[BrokenRule]:
        """Return the rules that the watched run has broken."""
        found = []
        for number, row in enumerate(_rows(self.path / _BROKEN), 1):
            one = BrokenRule(str(row.get("rule")), row.get("step", -1), str(row.get("found")))
            if not isinstance(one.step, int) or isinstance(one.step, bool) or one.step < 0:
                raise ConfigError(
                    f"{self.path / _BROKEN}:{number}: step must be a whole number from 0; delete the line"
                )
            found.append(one)
        return found

    def title(self) -> str:
        """Return the watched run's title. Raises ConfigError for a folder without one, or of another version."""
        about = next(_rows(self.path / _ABOUT), {})
        if about.get("format") != FORMAT:
            raise ConfigError(f"{self.path / _ABOUT}: its format is {about.get('format')!r}, and {FORMAT} is read")
        return str(about.get("title") or "")

    def curves(self) -> StudyCurves:
        """Return the curves of the watched run. Raises InputError for a folder without one."""
        about = next(_rows(self.path / _ABOUT), {})
        groups = self.groups() if about.get("format") == FORMAT else []
        if not groups:
            raise InputError(f"{self.path}: has no rows of a watched run")
        return watched_curves(str(about.get("title") or ""), self.path.name, groups, self.log())

    def _add(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        lines = b"".join(to_json(row) + b"\n" for row in rows)
        if lines:
            with (self.path / name).open("ab") as file:
                file.write(lines)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, without one that a crash cut off. Raises ConfigError for a line that is not JSON."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for number, line in enumerate(lines[:-1], 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}:{number}: {why_no_json(error)}; delete the line") from error
        if not isinstance(row, dict):
            raise ConfigError(f"{path}:{number}: not a JSON object")
        yield row


def _replace(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(b"".join(to_json(row) + b"\n" for row in rows))
    part.replace(path)
