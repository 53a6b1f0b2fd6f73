"""``calipers convert``: writes a groups file from other libraries' rollouts.

The formats are in ``inputs.rollouts``; ``inputs.grouping`` decides which rollouts are of one prompt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

from calipers.cli.messages import BadLines, print_message
from calipers.cli.output import json_line, require_replaceable, write_text
from calipers.errors import InputError
from calipers.inputs import as_group
from calipers.inputs.grouping import grouped, rollouts_of
from calipers.inputs.records import file_rows
from calipers.inputs.rollouts import Rollout
from calipers.types.encoding import counted

Place = tuple[str, int]
SOURCE: Final = "calipers_source"
"""The key of a trajectory's metadata that has its file and line; a row's own ``source`` stays."""


def convert(files: tuple[str, ...], out: str, group_by: str | None, *, force: bool) -> int:
    """Write a groups file, and return the exit code."""
    require_replaceable("--out", out, force=force, beside={f"the input {file}": file for file in files})
    notes, bad = BadLines(kind="Note"), BadLines()
    lines: list[str] = []
    rollouts = 0

    def note(place: Place, text: str) -> None:
        notes(_problem(text, place))

    for place, value in grouped(_rollouts(files), group_by=group_by, note=note):
        try:
            if isinstance(value, str):
                raise InputError(value)  # noqa: TRY301 - it is placed below
            group = as_group(value).to_dict()
        except InputError as error:
            bad(_problem(str(error), place))
            continue
        members = [{key: item for key, item in member.items() if item is not None} for member in group["trajectories"]]
        group = {key: item for key, item in group.items() if item is not None} | {"trajectories": members}
        lines.append(json_line(group))
        rollouts += len(members)
    if not lines:
        raise InputError("no rollout could be read; nothing was written", source=_on_one_line(", ".join(files)))
    write_text("--out", out, "".join(lines))
    lost = f"; {counted(bad.count, 'row or file', 'rows or files')} could not be read" if bad.count else ""
    print_message(f"{counted(rollouts, 'rollout')} in {counted(len(lines), 'group')}{lost}")
    return int(bool(bad.count))


def _problem(text: str, place: Place) -> InputError:
    """Return a problem with its file and line, on one line: names and keys may hold line breaks."""
    file, line = place
    return InputError(_on_one_line(text), source=_on_one_line(file), line=line or None)


def _on_one_line(text: str) -> str:
    return text.replace("\n", "\\n")


def _rollouts(files: tuple[str, ...]) -> Iterator[tuple[Place, Rollout | str]]:
    """Yield the rollouts of all files. A file that cannot be read as a whole is one problem; the others are read."""
    for file in files:
        path = Path(file)
        try:
            rows = iter(file_rows(path))
            first = next(rows, None)
            if first is None:
                yield (file, 0), "is empty; it holds no rollouts"
                continue
            if isinstance(first[1], dict) and "trajectories" in first[1]:
                yield (file, 0), "is a groups file or a result file already; nothing in it can be converted"
                continue
            for line, rollout in rollouts_of(chain([first], rows)):
                if isinstance(rollout, str):
                    yield (file, line), rollout
                elif SOURCE in rollout.metadata:
                    yield (file, line), f"has the key {SOURCE!r}, which calipers writes; rename it"
                else:
                    yield (file, line), replace(rollout, metadata={**rollout.metadata, SOURCE: f"{file}:{line}"})
        except InputError as error:
            yield (file, 0), str(error).removeprefix(f"{path}: ")
