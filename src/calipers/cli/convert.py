"""``calipers convert``: writes a groups file from other libraries' rollouts.

The formats are in ``inputs.rollouts``; ``inputs.grouping`` decides which rollouts are of one prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from calipers.cli.command_options import InputFile, command_option
from calipers.cli.messages import BadLines, print_message
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
def convert(files: tuple[str, ...], out: str, group_by: str | None, *, force: bool) -> int:
    """Write the rollouts in FILES as a groups file, with the rollouts of one prompt as one group.

    FILES are rollouts of TRL, verl, ART, ms-swift, verifiers, NeMo-Gym, inspect_ai, tau-bench, tau2 or ShareGPT,
    preference data (chosen and rejected), or rows with messages.

    \b
    calipers convert rollouts/*.jsonl -o groups.jsonl
    calipers convert rollouts.jsonl -o groups.jsonl --group-by instance_id

    Exit code: 0 all was written, 1 some rows could not be read, 2 nothing was written.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.inputs.grouping import grouped  # noqa: PLC0415 - --help stays quick

    require_replaceable("--out", out, force=force, beside={f"the input {file}": file for file in files})
    notes, bad = BadLines(kind="Note"), BadLines()
    groups = rollouts = 0

    def note(place: Place, text: str) -> None:
        notes(_problem(text, place))

    with _replaced_at_the_end(out) as stream:
        for place, value in grouped(_rollouts(files, note), group_by=group_by, note=note):
            try:
                group = _group_object(value)
            except InputError as error:
                bad(_problem(str(error), place))
                continue
            groups += 1
            rollouts += len(group["trajectories"])
            stream.write(json.dumps(group, ensure_ascii=False) + "\n")
        if not groups:
            raise InputError("no rollout could be read; nothing was written", source=_on_one_line(", ".join(files)))
    lost = f"; {counted(bad.count, 'row or file', 'rows or files')} could not be read" if bad.count else ""
    print_message(f"{counted(rollouts, 'rollout')} in {counted(groups, 'group')}{lost}")
    return int(bool(bad.count))


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


def _problem(text: str, place: Place) -> InputError:
    """Return a problem with its file and line, on one line: names and keys may hold line breaks."""
    file, line = place
    return InputError(_on_one_line(text), source=_on_one_line(file), line=line or None)


def _on_one_line(text: str) -> str:
    return text.replace("\n", "\\n")


def _rollouts(files: tuple[str, ...], note: Callable[[Place, str], None]) -> Iterator[tuple[Place, Rollout | str]]:
    """Yield the rollouts of all files. A file that cannot be read as a whole is one problem; the others are read."""
    from calipers.inputs.grouping import rollouts_of  # noqa: PLC0415 - likewise
    from calipers.inputs.records import file_rows  # noqa: PLC0415 - --help stays quick

    known: set[Path] = set()
    for file in files:
        path = Path(file)
        if path.resolve() in known:
            note((file, 0), "was given before; it is read once")
            continue
        known.add(path.resolve())
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
            yield (file, 0), str(error).removeprefix(f"{path}: ")


def _group_object(value: Any) -> dict[str, Any]:
    """Return a checked group as an object of a groups file. Raises InputError; text is a row's problem."""
    from calipers.inputs import as_group  # noqa: PLC0415 - --help stays quick

    if isinstance(value, str):
        raise InputError(value)
    group = as_group(value).to_dict()
    members = [{key: item for key, item in member.items() if item is not None} for member in group["trajectories"]]
    return {key: item for key, item in group.items() if item is not None} | {"trajectories": members}
