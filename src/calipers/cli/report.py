"""``calipers report`` writes a page that shows judged groups and judges; ``calipers show`` prints judged groups."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

import click

from calipers.cli.messages import BadLines, print_message
from calipers.cli.output import require_replaceable
from calipers.errors import ConfigError, InputError
from calipers.report import Sources, write_report
from calipers.report.details import details_of, index_row
from calipers.report.plain import describe_group, overview_line
from calipers.report.sources import kind_of, ledger_beside
from calipers.types.encoding import counted, printable

_WIDTH: Final = 110
_IDS_NAMED: Final = 5


def report(source: tuple[str, ...], out: str, groups: str | None, run: int | None, *, force: bool) -> int:
    """Write a page, and return the exit code."""
    if out == "-":
        raise ConfigError("--out -: a page is not written to stdout; name a file, such as report.html")
    named = {f"the source {path}": path for path in source} | {"the groups file": groups}
    require_replaceable("--out", out, force=force, beside=named)
    bad = BadLines()
    with Sources(with_ledger_beside(source, groups), groups=groups, run=run, on_error=bad) as sources:
        count = write_report(sources, Path(out))
    calibrations = len(sources.calibrations)
    if not count and not calibrations:
        why = "no line in it can be read" if bad.count else "it holds no judged groups"
        raise InputError(f"{why}; the page shows no group", source=source[0])
    lacking = f", {sources.notes.without_texts:,} without texts" if sources.notes.without_texts else ""
    shown = [counted(count, "group") + lacking] if count else []
    shown += [counted(calibrations, "calibration")] if calibrations else []
    print_message(f"{out}: {', '.join(shown)}, {Path(out).stat().st_size / 1e6:,.1f} MB")
    for shown_run in sources.notes.runs if run is None else ():
        if shown_run["of"] > 1:
            source, of, number = shown_run["source"], shown_run["of"], shown_run["run"]
            which = "each group's latest" if sources.results else f"run {number}"
            print_message(f"{source} has {of:,} runs; {which} is shown (--run names another)")
    return int(bool(bad.count))


def with_ledger_beside(source: tuple[str, ...], groups: str | None) -> tuple[str, ...]:
    """Add to a command's only SOURCE of groups the ledger that calipers score wrote beside it, unless the texts are
    named.
    """
    judged = [path for path in source if kind_of(path) != "calibration"]
    if len(judged) != 1 or groups is not None or (beside := ledger_beside(judged[0])) is None:
        return source
    print_message(f"Texts, questions and answers are read from {beside}")
    return (*source, beside)


def show(result: str, group: str | None, groups: str | None, run: int | None, *, full: bool) -> int:
    """Print judged groups, or all about one; return the exit code."""
    bad, count = BadLines(), 0
    width = min(_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDTH
    known: list[str] = []
    with Sources(with_ledger_beside((result,), groups), groups=groups, run=run, on_error=bad) as sources:
        if not (sources.results or sources.ledgers):
            raise InputError("has no judged groups; calipers report writes a page of it", source=result)
        for judged in sources:
            count += 1
            name = str(judged.result["group_id"])
            known += [name] if count <= _IDS_NAMED else []
            if group is None:
                detail = details_of(judged)
                click.echo(printable(overview_line(index_row(detail), detail)))
            elif name == group:
                click.echo(printable(describe_group(details_of(judged), width=width, full=full)))
                return int(bool(bad.count))
    if not count:
        raise InputError("holds no judged groups", source=result)
    if group is not None:
        more = f" and {count - len(known):,} more" if count > len(known) else ""
        raise InputError(f"has no group {group!r}; it has {', '.join(known)}{more}", source=result)
    return int(bool(bad.count))
