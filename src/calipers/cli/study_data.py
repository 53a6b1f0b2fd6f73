"""``calipers study data``: a data set of the study, from its authors' files to Parquet files for verl."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.command_options import InputFile, command_option
from calipers.cli.messages import BadLines, print_message
from calipers.cli.overwriting import TRAINING_ROWS, add_force_option, require_replaceable
from calipers.errors import ConfigError
from calipers.types.counted import counted

if TYPE_CHECKING:
    from calipers.study.export.data_sets import DataSet
    from calipers.study.export.data_sets.rows import Form


@click.command(short_help="Prepare a data set of the study for verl.")
@click.argument("name", required=False)
@click.argument("source", required=False)
@command_option(
    "-o", "--out", default=".", show_default=True, named=True, metavar="DIR", help="The folder of the files."
)
@click.option(
    "--form",
    type=click.Choice(["rubric", "verif"]),
    default="rubric",
    show_default=True,
    help="What a row asks for: criteria with points, or VerIF's rules and constraints as well.",
)
@click.option("--list", "listed", is_flag=True, help="Print the data sets, and where their files are.")
@add_force_option
def data(name: str | None, source: str | None, out: str, form: Form, *, listed: bool, force: bool) -> int:
    """Prepare the data set NAME, whose files were downloaded to SOURCE (a folder or a file).

    Writes NAME.train.parquet, where there are rows to train on, and NAME.val.parquet with held-out rows, in the form
    that verl and calipers read. Which rows are held out follows from the prompts alone, so it is the same everywhere.

    \b
    calipers study data --list
    calipers study data math-500 downloads/math-500 -o data
    calipers study data verinstruct downloads/verinstruct -o data --form verif

    Exit code: 0 prepared, 1 rows were skipped, 2 bad usage, or files that cannot be read.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.study.export.data_sets import data_sets, find_data_set, prepare_data_set  # noqa: PLC0415 - --help
    from calipers.study.export.data_sets.preparation import prepared_path  # noqa: PLC0415 - likewise

    if listed:
        _print_list(list(data_sets().values()))
        return 0
    if name is None or source is None:
        raise click.UsageError("name a data set and the folder of its files; --list prints the data sets")
    found = find_data_set(name)
    InputFile().convert(source, None, None)  # not by click, which would look for the file of an unknown data set first
    if form == "verif" and not found.has_rules:
        raise ConfigError(f"--form verif: {found.title} has no rules; of the data sets, verinstruct has")
    if not Path(out).is_dir():
        raise ConfigError(f"--out {out}: there is no such folder; create it first")
    for split in ("train", "val"):
        path = str(prepared_path(Path(out), found.name, split, form))
        require_replaceable("--out", path, TRAINING_ROWS, force=force, beside={"the published file": source})
    bad_lines = BadLines()
    for written in prepare_data_set(found, Path(source), Path(out), form=form, on_error=bad_lines):
        print_message(f"{counted(written.rows, 'row')}: {written.path}")
    if bad_lines.count:
        print_message(f"{counted(bad_lines.count, 'row was', 'rows were')} skipped")
    return int(bool(bad_lines.count))


def _print_list(found: list[DataSet]) -> None:
    for one in found:
        splits = "train and val" if one.is_trained_on else "val"
        click.echo(f"{one.name:15} {splits:15} {one.get}{' (gated)' if one.gated else ''}")
