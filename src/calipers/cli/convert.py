"""``calipers convert``: writes a groups file from other libraries' rollouts.

The formats are in ``inputs.rollouts``; ``inputs.grouping`` decides which rollouts are of one prompt.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from calipers.cli.command_options import InputFile, command_option
from calipers.cli.messages import BadLines, Notes, print_message
from calipers.cli.output import add_force_option, require_replaceable
from calipers.errors import ConfigError, InputError
from calipers.types.encoding import counted

if TYPE_CHECKING:
    from calipers.inputs.rollouts import Rollout

Place = tuple[str, int]
SOURCE: Final = "calipers_source"
"""The key of a trajectory's metadata that has its file and line; a row's own ``source`` stays."""


@click.command(short_help="Make a groups file of other libraries' rollouts.")
@click.argument("files", type=InputFile(), nargs=-1, required=True)
@command_option(
    "-o", "--out", required=True, type=click.Path(), named=True, metavar="OUT", help="The groups file to write, or -."
)
@command_option(
    "--group-by",
    metavar="KEY",
    named=True,
    help="Rollouts with the same value of this key of their rows are of one prompt (a.b: the key b in a). By default, "
    "those of the same task, or with the same messages before the first reply to a user.",
)
@add_force_option
@command_option("--strict", is_flag=True, help="Stop at the first row that cannot be read, with exit code 2.")
def convert(files: tuple[str, ...], out: str, group_by: str | None, *, force: bool, strict: bool) -> int:
    """Write the rollouts in FILES as a groups file, with the rollouts of one prompt as one group.

    FILES are rollouts of TRL, verl, ART, ms-swift, verifiers, NeMo-Gym, inspect_ai, tau-bench, tau2 or ShareGPT,
    preference data (chosen and rejected), or rows with messages; - is stdin.

    \b
    calipers convert rollouts/*.jsonl -o groups.jsonl
    calipers convert rollouts.jsonl -o groups.jsonl --group-by instance_id

    Exit code: 0 all was written, 1 some rows could not be read, 2 nothing was written.
    """  # noqa: D301 - click's mark for lines to keep as they are
    beside = {f"the input {file}": file for file in files}
    require_replaceable("--out", out, force=force, beside=beside)
    tally = _Tally()
    with _replaced_at_the_end(out) as stream:
        for place, value in _groups(files, group_by, strict=strict):
            try:
                found = _group_object(value)
            except InputError as error:
                if strict:
                    raise _placed(error, place) from None
                tally.add_problem(_placed(error, place))
                continue
            tally.groups += 1
            tally.rollouts += len(found["trajectories"])
            stream.write(json.dumps(found, ensure_ascii=False) + "\n")
        if not tally.groups:
            raise InputError("no rollout could be read; nothing was written", source=_on_one_line(", ".join(files)))
    print_message(tally.told)
    return int(bool(tally.rows or tally.files))


@dataclass(slots=True)
class _Tally:
    """Counts what was read and what could not be read, and reports the first problems."""

    rollouts: int = 0
    groups: int = 0
    rows: int = 0
    files: int = 0
    bad: BadLines = field(default_factory=BadLines)

    def add_problem(self, problem: InputError) -> None:
        self.bad(problem)
        if problem.line is None:
            self.files += 1
        else:
            self.rows += 1

    @property
    def told(self) -> str:
        unread = [counted(count, what) for count, what in ((self.files, "file"), (self.rows, "row")) if count]
        lost = f"; {' and '.join(unread)} could not be read" if unread else ""
        return f"{counted(self.rollouts, 'rollout')} in {counted(self.groups, 'group')}{lost}"


@contextmanager
def _replaced_at_the_end(out: str) -> Iterator[IO[str]]:
    """Open the file that takes the place of ``out`` when all was written; a failure leaves ``out`` as it was."""
    path = Path(out).resolve()
    whole = out != "-" and (path.is_file() or not path.exists())  # a pipe or a device cannot be replaced
    part = path.with_name(f"{path.name[:200]}.part")
    try:
        with click.open_file(str(part) if whole else out, "w", encoding="utf-8") as stream:
            yield stream
            stream.flush()
        if whole:
            part.replace(path)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written ({error.strerror or error})") from None
    finally:
        if whole:
            part.unlink(missing_ok=True)


def _groups(files: tuple[str, ...], group_by: str | None, *, strict: bool) -> Iterator[tuple[Place, Any]]:
    from calipers.inputs.grouping import grouped  # noqa: PLC0415 - --help stays quick

    notes = Notes()

    def note(place: Place, text: str) -> None:
        notes(_placed(InputError(text), place))

    yield from grouped(_rollouts(files, note, strict=strict), group_by=group_by, note=note)


def _placed(error: InputError, place: Place) -> InputError:
    """Return a problem with its file and line, on one line: names and keys may hold line breaks."""
    file, line = place
    return InputError(_on_one_line(str(error)), source=_on_one_line(file), line=line or None)


def _on_one_line(text: str) -> str:
    return text.replace("\n", "\\n")


def _rollouts(
    files: tuple[str, ...], note: Callable[[Place, str], None], *, strict: bool
) -> Iterator[tuple[Place, Rollout | str]]:
    """Yield the rollouts of all files. A file that cannot be read as a whole is one problem; the others are read."""
    from calipers.inputs.grouping import rollouts_of  # noqa: PLC0415 - likewise
    from calipers.inputs.records import file_rows  # noqa: PLC0415 - --help stays quick

    known: set[Path] = set()
    for file in files:
        if Path(file).resolve() in known:
            note((file, 0), "was given before; it is read once")
            continue
        known.add(Path(file).resolve())
        with _on_disk(file) as path:
            try:
                rows = iter(file_rows(path))
                first = next(rows, None)
                if first is None:
                    yield (file, 0), "is empty; it holds no rollouts"
                    continue
                if isinstance(first[1], dict) and "trajectories" in first[1]:
                    yield (file, 0), "is a groups file already, or one of results; nothing in it can be converted"
                    continue
                for line, rollout in rollouts_of(chain([first], rows)):
                    if isinstance(rollout, str):
                        yield (file, line), rollout
                    elif SOURCE in rollout.metadata:
                        yield (file, line), f"has the key {SOURCE!r}, which calipers writes; rename it"
                    else:
                        yield (file, line), replace(rollout, metadata={**rollout.metadata, SOURCE: f"{file}:{line}"})
            except InputError as error:
                problem = str(error).removeprefix(f"{path}: ")
                if strict:
                    raise InputError(problem, source=file) from None
                yield (file, 0), problem


@contextmanager
def _on_disk(file: str) -> Iterator[Path]:
    """Give the path of an input file; for ``-``, of a copy of stdin, because formats are found by reading twice."""
    if file != "-":
        yield Path(file)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as copy:
            shutil.copyfileobj(click.open_file(file, "rb"), copy)
        yield path


def _group_object(value: Any) -> dict[str, Any]:
    """Return a checked group as an object of a groups file. Raises InputError; text is a row's problem."""
    from calipers.inputs import as_group  # noqa: PLC0415 - --help stays quick

    if isinstance(value, str):
        raise InputError(value)
    group = as_group(value).to_dict()
    group["trajectories"] = [_without_none(member) for member in group["trajectories"]]
    return _without_none(group)


def _without_none(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}
