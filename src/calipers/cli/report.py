"""``calipers report``: writes a page that shows judged groups and judges."""

from __future__ import annotations

from pathlib import Path

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import BadLines, print_message
from calipers.cli.output import add_force_option, require_replaceable
from calipers.errors import ConfigError, InputError


@click.command(short_help="Write a page that shows judged groups and judges.")
@click.argument("source", nargs=-1, required=True, type=click.Path())
@command_option("-o", "--out", required=True, named=True, metavar="OUT", help="The page (.html): one file.")
@command_option(
    "--groups",
    type=click.Path(),
    metavar="FILE",
    help="The groups file that was scored: its texts are shown. [default: those in the ledger]",
)
@command_option(
    "--run", type=int, metavar="ID", help="The number of the run in a ledger among SOURCE. [default: the latest]"
)
@add_force_option
def report(
    source: tuple[str, ...],
    out: str,
    groups: str | None,
    run: int | None,
    *,
    force: bool,
) -> int:
    """Write one HTML file that shows what is in SOURCE.

    Sources are result files of calipers score, ledgers, and calibrations (calipers calibrate --json). They may be
    mixed, and are recognised by content.

    Of judged groups, candidates are shown side by side, ranked with error bars, with the judge's words and every
    question that was asked. Of judges, health metrics and alarms, agreement with gold, and calibrate's recommendation.
    The page works offline and runs nothing that a trajectory contains. If OUT.ledger.db lies beside the only result
    file OUT, it is read as well, unless --groups names the texts: then name it too.

    \b
    calipers report scored.jsonl -o report.html
    calipers report scored.jsonl --groups groups.jsonl -o report.html
    calipers report runs.db --run 3 -o report.html
    calipers report calibration.json runs.db -o judges.html

    Exit code: 0 the page was written, 1 it was written but a line could not be read, 2 bad usage or a missing file.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.report import open_sources, write_report  # noqa: PLC0415 - --help stays quick

    if out == "-":
        raise ConfigError("--out -: a page is not written to stdout; name a file, such as report.html")
    if not Path(out).absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: its folder does not exist; create it first")
    named = {f"the source {path}": path for path in source} | {"the groups file": groups}
    require_replaceable("--out", out, force=force, beside=named)
    bad = BadLines()
    with open_sources(with_ledger_beside(source, groups), groups=groups, run=run, on_error=bad) as sources:
        count = write_report(sources, Path(out))
    calibrations = len(sources.calibrations)
    if not count and not calibrations:
        why = "no line in it can be read" if bad.count else "it holds no judged groups"
        raise InputError(f"{why}; the page shows no group", source=source[0])
    lacking = f", {sources.notes.without_texts:,} without texts" if sources.notes.without_texts else ""
    shown = [f"{count:,} group{'s' * (count != 1)}{lacking}"] if count else []
    shown += [f"{calibrations:,} calibration{'s' * (calibrations != 1)}"] if calibrations else []
    print_message(f"{out}: {', '.join(shown)}, {Path(out).stat().st_size / 1e6:,.1f} MB")
    for one in sources.notes.runs if run is None else ():
        if one["of"] > 1:
            print_message(f"{one['source']} has {one['of']:,} runs; run {one['run']} is shown (--run names another)")
    return 1 if bad.count else 0


def with_ledger_beside(source: tuple[str, ...], groups: str | None) -> tuple[str, ...]:
    """Add to a command's only SOURCE of groups the ledger that calipers score wrote beside it, unless the texts are
    named.
    """
    from calipers.report.sources import kind_of, ledger_beside  # noqa: PLC0415 - --help stays quick

    judged = [one for one in source if kind_of(one) != "calibration"]
    if len(judged) != 1 or groups is not None or (beside := ledger_beside(judged[0])) is None:
        return source
    print_message(f"Texts, questions and answers are read from {beside}")
    return (*source, beside)
