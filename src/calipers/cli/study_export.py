"""``calipers study export`` and ``calipers study table``: a study on a cluster, before it runs and after."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.command_options import InputFile, command_option
from calipers.cli.messages import print_message
from calipers.errors import ConfigError
from calipers.types.counted import counted

if TYPE_CHECKING:
    from calipers.study.export.plan import Plan
    from calipers.study.export.results import Figure, ResultTable

_WIDTH = 160


@click.command(short_help="Write scripts that train a study on a GPU node.")
@click.argument("config", type=InputFile())
@command_option("-o", "--out", named=True, metavar="DIR", help="The folder to write. Not needed with --dry-run.")
@command_option(
    "--engine", type=click.Choice(["verl"]), default="verl", show_default=True, help="What trains on the cluster."
)
@click.option("--dry-run", is_flag=True, help="Check everything and print the plan; write nothing.")
def export(config: str, out: str | None, engine: str, *, dry_run: bool) -> int:
    """Write what trains the study of CONFIG on a node with GPUs: scripts, settings, a schedule, a README.

    CONFIG is the TOML file of calipers study train; its table [cluster] describes the node. Everything is checked
    first, without GPU and without asking a judge, and every problem is listed. Where verl is installed, its own loader
    checks the settings, too. Keys are read from the environment on the node, and written nowhere.

    \b
    calipers study export study.toml --dry-run
    calipers study export study.toml -o cluster

    Exit code: 0 written or without problems, 2 it cannot be run as it is.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.study.export.checking import checked_plan  # noqa: PLC0415 - --help stays quick
    from calipers.study.export.writing import plan_files, require_replaceable_folder, write_plan  # noqa: PLC0415 - same

    del engine  # there is one
    if out is None and not dry_run:
        raise click.UsageError("name the folder to write: -o DIR (or --dry-run)")
    plan, text, by_verl = checked_plan(config)
    files = plan_files(plan, text)
    if out is not None:
        require_replaceable_folder(Path(out), files)
    _print_plan(plan, by_verl=by_verl)
    if dry_run:
        print_message("nothing is wrong with it; nothing was written")
        return 0
    write_plan(files, Path(str(out)))
    print_message(f"{counted(len(files), 'file')}: {out}. {out}/README.md says what to do")
    return 0


@click.command(short_help="Print the result table of a study that was trained on a cluster.")
@click.argument("folder", type=InputFile(), default=".")
@click.option("--json", "as_json", is_flag=True, help="Print the table as one JSON object.")
def table(folder: str, *, as_json: bool) -> int:
    """Print the results in FOLDER, which calipers study export wrote and whose scripts have run.

    A row for each arm and recipe, and one for the policy before training: IFEval's strict accuracies, and the rubric
    score of each data set, as means over seeds with 95 % t-intervals. "difference" is paired by seeds, from the
    arm that the study's file pairs it with.

    Exit code: 0 all runs have results, 1 some have none yet, 2 bad usage, or results that cannot be read.
    """
    from calipers.study.export.results import read_results  # noqa: PLC0415 - --help stays quick

    found = read_results(Path(folder))
    if as_json:
        from calipers.types.encoding import to_json  # noqa: PLC0415 - likewise

        click.echo(to_json(dataclasses.asdict(found)).decode())
    else:
        _print_table(found)
    missing = sum(row.of - row.runs for row in found.rows)
    if missing:
        print_message(f"{counted(missing, 'run has', 'runs have')} no results yet")
    return int(bool(missing))


def _print_plan(plan: Plan, *, by_verl: bool) -> None:
    study = plan.study
    click.echo(
        f"{counted(len(plan.runs), 'run')} of {study.settings.model}, {counted(study.settings.steps, 'step')} each"
    )
    for slot in plan.layout.slots:
        names = [run.name for run in plan.runs if run.slot == slot]
        trained = ", ".join(names) or "no run is left for them: they are idle"
        click.echo(f"  GPUs {', '.join(map(str, slot.gpus))}: {trained}")
    for server in plan.layout.servers.values():
        click.echo(f"  GPUs {', '.join(map(str, server.gpus))}: judge {server.judge}, {server.model}")
    for name, why in study.arms.left_out.items():
        click.echo(f"  left out: {name}: {why}")
    click.echo(f"  evaluated by {study.evaluator}: {', '.join(study.settings.evaluate)}")
    click.echo(f"  keys that the node needs: {', '.join(plan.keys) or 'none'}")
    if not by_verl:
        print_message("verl is not installed here: on the node, check.sh has verl's own loader check the settings")


def _print_table(found: ResultTable) -> None:
    from calipers.cli.tables import print_figures  # noqa: PLC0415 - --help stays quick
    from calipers.cli.terminal import table_console  # noqa: PLC0415 - likewise

    heads = ["runs"]
    for column in found.columns:
        heads += [column, "difference"]
    rows = []
    for row in found.rows:
        name = f"{row.arm}, against {row.against}" if row.against else row.arm
        line = [name, row.recipe, f"{row.runs}/{row.of}"]
        for column in found.columns:
            line += _figure_cells(row.figures.get(column))
        rows.append(line)
    by = f", graded by {found.evaluator}" if found.evaluator else ""
    title = f"{found.title or 'Study'}: {found.model}, {counted(found.steps, 'step')}{by}"
    print_figures(table_console(width=_WIDTH), title, ("arm", "recipe"), heads, rows)


def _figure_cells(figure: Figure | None) -> list[str]:
    if figure is None:
        return ["", ""]
    ungraded = f" ({figure.ungraded} ungraded)" if figure.ungraded else ""
    own = f"{figure.value.mean:.3f}{_interval(figure.value.half_width)}{ungraded}"
    other = figure.difference
    return [own, "" if other is None else f"{other.mean:+.3f}{_interval(other.half_width)}"]


def _interval(half_width: float | None) -> str:
    return "" if half_width is None else f" ± {half_width:.3f}"


__all__ = ["ConfigError", "export", "table"]
