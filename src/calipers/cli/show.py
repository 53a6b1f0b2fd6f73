"""``calipers show``: prints judged groups in the terminal."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import BadLines
from calipers.cli.report import with_ledger_beside
from calipers.errors import InputError
from calipers.types.encoding import printable

if TYPE_CHECKING:
    from calipers.report import Sources

_WIDTH = 110
_IDS_NAMED = 5


@click.command(short_help="Print judged groups.")
@click.argument("result", type=click.Path())
@click.argument("group", required=False)
@command_option(
    "--groups",
    type=click.Path(),
    metavar="FILE",
    help="The groups file that was scored: its texts are shown. [default: those in the ledger]",
)
@command_option("--run", type=int, metavar="ID", help="The number of the run, if RESULT is a ledger. [default: latest]")
@command_option("--full", is_flag=True, help="Print all messages of GROUP whole, instead of the last ones shortened.")
def show(result: str, group: str | None, groups: str | None, run: int | None, *, full: bool) -> int:
    """Print a line for each group of RESULT, or all about GROUP: ranking, the judge's words, answers, questions.

    RESULT is a result file of calipers score or a ledger. If RESULT.ledger.db lies beside it, it is read as well,
    unless --groups names the texts.

    \b
    calipers show scored.jsonl
    calipers show scored.jsonl undo-commit
    calipers show scored.jsonl undo-commit --groups groups.jsonl --full

    Exit code: 0 printed, 1 printed but a line could not be read, 2 bad usage, a missing file or an unknown GROUP.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.report import open_sources  # noqa: PLC0415 - --help stays quick

    bad = BadLines()
    with open_sources(with_ledger_beside((result,), groups), groups=groups, run=run, on_error=bad) as sources:
        if not (sources.results or sources.ledgers):
            raise InputError("has no judged groups; calipers report writes a page of it", source=result)
        if group is None:
            if not _print_overview(sources):
                raise InputError("holds no judged groups", source=result)
        else:
            _print_group(sources, result, group, full=full)
    return 1 if bad.count else 0


def _print_overview(sources: Sources) -> int:
    """Print a line for each group; return how many there are."""
    from calipers.report.details import details_of, index_row  # noqa: PLC0415 - --help stays quick
    from calipers.report.plain import overview_line  # noqa: PLC0415 - likewise

    count = 0
    for count, judged in enumerate(sources, start=1):  # noqa: B007 - it is returned
        detail = details_of(judged)
        click.echo(printable(overview_line(index_row(detail), detail)))
    return count


def _print_group(sources: Sources, result: str, group: str, *, full: bool) -> None:
    from calipers.report.details import details_of  # noqa: PLC0415 - --help stays quick
    from calipers.report.plain import describe_group  # noqa: PLC0415 - likewise

    width = min(_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDTH
    seen: list[str] = []
    count = 0
    for judged in sources:
        name = str(judged.result["group_id"])
        if name == group:
            click.echo(printable(describe_group(details_of(judged), width=width, full=full)))
            return
        count += 1
        seen = seen if len(seen) == _IDS_NAMED else [*seen, name]
    known = f"it has {', '.join(seen)}{f' and {count - len(seen):,} more' if count > len(seen) else ''}"
    raise InputError(f"has no group {group!r}; {known if seen else 'it has no groups'}", source=result)
