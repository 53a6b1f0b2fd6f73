"""``calipers report``: writes a page that shows judged groups, judges, runs and studies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import BadLines, print_message
from calipers.cli.overwriting import REPORT, add_force_option, require_replaceable
from calipers.errors import ConfigError, InputError

if TYPE_CHECKING:
    from calipers.report.sources import Sources


@click.command(short_help="Write a page that shows judged groups, runs and studies.")
@click.argument("source", nargs=-1, required=True, type=click.Path())
@command_option("-o", "--out", named=True, metavar="OUT", help="The page (.html): one file. Required without --serve.")
@command_option(
    "--serve", is_flag=True, help="Show the page in this machine's browsers instead of writing it, and follow a ledger."
)
@command_option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="With --serve: the port. [default: a free one]",
)
@command_option(
    "--groups",
    type=click.Path(),
    metavar="FILE",
    help="The groups file that was scored: its texts are shown. [default: those in the ledger]",
)
@command_option(
    "--run", type=int, metavar="ID", help="The number of the run in a ledger among SOURCE. [default: the latest]"
)
@command_option(
    "--redact",
    is_flag=True,
    help="Leave out every text of prompts, trajectories and judges; ids, scores and counts stay.",
)
@add_force_option
def report(
    source: tuple[str, ...],
    out: str | None,
    port: int | None,
    groups: str | None,
    run: int | None,
    *,
    serve: bool,
    redact: bool,
    force: bool,
) -> int:
    """Write one HTML file that shows what is in SOURCE.

    Sources are result files of calipers score, ledgers, calibrations (calipers calibrate --json), comparisons (calipers
    study compare), profiles, the folders of watched runs and of studies, result files of calipers study, and folders
    that hold such sources; any of them may be mixed. They are recognised by content.

    Of judged groups, candidates are shown side by side, ranked with error bars, with the judge's words and every
    question that was asked. Of judges, agreement with gold, bias, noise, failures and cost, side by side. Of a run,
    rewards, health, length, exploits and spend over its steps, and alarms. Of a study, its arms' curves and paired
    differences. The page works offline and runs nothing that a trajectory contains. If OUT.ledger.db lies beside the
    only result file OUT, it is read as well, unless --groups names the texts: then name it too.

    \b
    calipers report scored.jsonl -o report.html
    calipers report scored.jsonl --groups groups.jsonl -o report.html
    calipers report runs.db --run 3 -o report.html
    calipers report calibration.json runs.db -o judges.html
    calipers report runs.db watched -o run.html
    calipers report order/ -o study.html
    calipers report runs.db --serve

    With --serve, the page is shown at an address of this machine that is printed, and no file is written. If the only
    SOURCE is a ledger, groups that its run finishes appear while you read. Ctrl-C ends it.

    Exit code: 0 the page was written, 1 it was written but a line could not be read, 2 bad usage or a missing file.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.report import open_sources, write_report  # noqa: PLC0415 - --help stays quick

    if serve:
        return _serve(source, out, port, groups, run, redact=redact)
    if port is not None:
        raise ConfigError("--port is for --serve")
    if out is None:
        raise click.UsageError("Missing option '-o' / '--out': name the page to write, or --serve to look at it.")
    if out == "-":
        raise ConfigError("--out -: a page is not written to stdout; name a file, such as report.html")
    if not Path(out).absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: its folder does not exist; create it first")
    named = {f"the source {path}": path for path in source} | {"the groups file": groups}
    require_replaceable("--out", out, REPORT, force=force, beside=named)
    bad = BadLines()
    with open_sources(with_ledger_beside(source, groups), groups=groups, run=run, on_error=bad) as sources:
        count = write_report(sources, Path(out), redact=redact)
    views = _counted(sources)
    if not count and not views:
        why = "no line in it can be read" if bad.count else "it holds no judged groups"
        raise InputError(f"{why}; the page shows no group", source=source[0])
    lacking = f", {sources.notes.without_texts:,} without texts" if sources.notes.without_texts else ""
    size = Path(out).stat().st_size / 1e6
    groups_shown = [f"{count:,} group{'s' * (count != 1)}{lacking}"] if count or not views else []
    print_message(f"{out}: {', '.join([*groups_shown, *views])}, {size:,.1f} MB")
    for one in sources.notes.runs if run is None else ():
        if one["of"] > 1:
            print_message(f"{one['source']} has {one['of']:,} runs; run {one['run']} is shown (--run names another)")
    return 1 if bad.count else 0


def _serve(
    source: tuple[str, ...], out: str | None, port: int | None, groups: str | None, run: int | None, *, redact: bool
) -> int:
    """Show the page at a local address until Ctrl-C."""
    from calipers.report.serving import ServedReport, serve_report  # noqa: PLC0415 - --help stays quick

    if out is not None:
        raise ConfigError("--serve writes no file; leave --out out, or leave --serve out")
    bad = BadLines()
    served = ServedReport(with_ledger_beside(source, groups), groups=groups, run=run, redact=redact, on_error=bad)
    follows = "follows the run; " if served.follows else ""
    serve_report(served, port=port or 0, on_ready=lambda address: print_message(f"{address}\n{follows}Ctrl-C ends it"))
    print_message("Stopped serving.")
    return 0


def _counted(sources: Sources) -> list[str]:
    """Return how many runs, studies and files about judges a report shows, without those that it has none of."""
    counts = {
        "run": len(sources.ledgers) + len(sources.watched),
        "stud": len(sources.studies),
        "file": len(sources.judge_files),
    }
    ends = {"run": ("", "s"), "stud": ("y", "ies"), "file": (" about judges", "s about judges")}
    return [f"{count:,} {kind}{ends[kind][count != 1]}" for kind, count in counts.items() if count]


def with_ledger_beside(source: tuple[str, ...], groups: str | None) -> tuple[str, ...]:
    """Add to a command's only SOURCE the ledger that calipers score wrote beside it, unless the texts are named."""
    from calipers.report.judge_files import is_judge_file  # noqa: PLC0415 - --help stays quick
    from calipers.report.sources import ledger_beside  # noqa: PLC0415 - likewise

    judged = [one for one in source if not is_judge_file(one)]
    if len(judged) != 1 or groups is not None or (beside := ledger_beside(judged[0])) is None:
        return source
    print_message(f"Texts, questions and answers are read from {beside}")
    return (*source, beside)
