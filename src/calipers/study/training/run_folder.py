"""The folder of one run: its settings, its rows, and the state from which it goes on after a crash.

Rows are written before the state that follows them, and a state replaces the last one in one move, so that a crash, a
full disk or Ctrl-C costs at most the step in progress. Not responsible for what rows mean (``measures``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.study.json_text import why_no_json
from calipers.types.encoding import finite_number, to_json

STEPS: Final = "steps.jsonl"
EVALUATIONS: Final = "evaluations.jsonl"
_SETTINGS, _DONE, _STATE, _ERROR = "settings.json", "done.json", "state.pt", "error.txt"

_TIMES: Final = ("seconds", "judging_seconds")
"""Facts about every finished run of an arm; a first policy has none."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder ``path`` of one run of a training study."""

    path: Path

    def begin(self, settings: Mapping[str, Any]) -> None:
        """Make the run's folder and write its settings. Raises ConfigError if it holds a run with other settings."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.require_same(settings)
        (self.path / _ERROR).unlink(missing_ok=True)
        self._write(_SETTINGS, to_json(settings))

    def require_same(self, settings: Mapping[str, Any]) -> None:
        """Raise ConfigError if the folder holds a run with other settings."""
        found = self._read(_SETTINGS)
        if found is None or found == json.loads(to_json(settings)):
            return
        names = sorted(key for key in {*found, *settings} if found.get(key) != json.loads(to_json(settings)).get(key))
        raise ConfigError(
            f"{self.path}: the run there has other settings ({', '.join(names)}); name another folder with -o, or "
            "delete this one"
        )

    def add(self, file: str, row: Mapping[str, Any]) -> None:
        """Add ``row`` to the run's STEPS or EVALUATIONS."""
        with (self.path / file).open("ab") as rows:
            rows.write(to_json(row) + b"\n")

    def rows(self, file: str) -> list[dict[str, Any]]:
        """Return the rows of the run's STEPS or EVALUATIONS; a row that a crash cut off is left out.

        Raises ConfigError if any other row is unusable.
        """
        try:
            lines = (self.path / file).read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        return [self._row(file, number, line) for number, line in enumerate(lines[:-1], 1)]

    def finished_rows(self, file: str) -> list[dict[str, Any]]:
        """Return all rows of a finished run's STEPS or EVALUATIONS. Raises ConfigError if some are missing."""
        rows, facts = self.rows(file), self.finished or {}
        expected = facts.get(Path(file).stem)
        if not rows or (expected is not None and len(rows) != expected):
            raise ConfigError(
                f"{self.path / file}: rows of this finished run are missing ({len(rows)} are left); delete the folder "
                f"{self.path}, and the run is made again"
            )
        return rows

    def _row(self, file: str, number: int, line: bytes) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"{self.path / file}:{number}: {why_no_json(error)}; delete the folder {self.path}"
            ) from error
        if not isinstance(row, dict) or "step" not in row:
            raise ConfigError(f"{self.path / file}:{number}: not a row of a run; delete the folder {self.path}")
        return row

    def keep(self, file: str, before: int) -> None:
        """Drop the rows of the run from step ``before`` on: they are written again."""
        rows = [row for row in self.rows(file) if row["step"] < before]
        self._write(file, b"".join(to_json(row) + b"\n" for row in rows))

    def save_state(self, state: Mapping[str, Any]) -> None:
        """Replace the state of the run with ``state``, which holds tensors and plain data."""
        import torch  # noqa: PLC0415 - heavy, and an extra

        part = self.path / f"{_STATE}.part"
        torch.save(state, part)
        part.replace(self.path / _STATE)

    def load_state(self) -> dict[str, Any] | None:
        """Return the last state of the run, or None if there is none."""
        import torch  # noqa: PLC0415 - heavy, and an extra

        if not (self.path / _STATE).exists():
            return None
        state: dict[str, Any] = torch.load(self.path / _STATE, weights_only=True)
        return state

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Mark the run as finished, with ``facts`` about it, and delete its state."""
        self._write(_DONE, to_json(facts))
        (self.path / _STATE).unlink(missing_ok=True)

    def fail(self, text: str) -> None:
        """Record why the run ended early, if the disk allows."""
        self._write(_ERROR, text.encode())

    @property
    def finished(self) -> dict[str, Any] | None:
        """The facts about the finished run; None while it is not. Raises ConfigError for a damaged file."""
        found = self._read(_DONE)
        if found and None in (finite_number(found.get(key)) for key in _TIMES):
            raise ConfigError(
                f"{self.path / _DONE}: it says nothing of {' and '.join(_TIMES)}; delete the folder {self.path}, and "
                "the run is made again"
            )
        return found

    @property
    def error(self) -> str | None:
        """Why the run ended early, if it did and was not continued."""
        try:
            return (self.path / _ERROR).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def _read(self, file: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads((self.path / file).read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"{self.path / file}: {why_no_json(error)}; delete the folder {self.path}, and the run is made again"
            ) from error
        if not isinstance(found, dict):
            raise ConfigError(f"{self.path / file}: it is no JSON object; delete the folder {self.path}")
        return found

    def _write(self, file: str, content: bytes) -> None:
        part = self.path / f"{file}.part"
        part.write_bytes(content)
        part.replace(self.path / file)
