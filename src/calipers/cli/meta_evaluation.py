"""``calipers calibrate`` on labelled criteria: measures how far a judge's verdicts agree with people's."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from calipers.backends.names import is_stand_in, name_without_password, short_names
from calipers.cli.calibration_output import print_cost, require_writable, save_judgments
from calipers.cli.calibration_report import print_addresses
from calipers.cli.command_options import is_typed
from calipers.cli.judge_options import given_options
from calipers.cli.messages import BadLines, wrap_for_console
from calipers.cli.terminal import print_figures
from calipers.errors import ConfigError, InputError

if TYPE_CHECKING:
    from rich.console import Console

    from calipers.calibration.criteria import Agreement, JudgeOfCriteria, MetaEvaluation

_WIDTH = 160
_SHOWN = 10
"""The largest number of annotators in a table, those with the most labels first; --json lists all."""
_ABOUT_GROUPS = ("protocol", "orders", "rubric", "expected")


def meta_evaluation(path: str, verdicts: str | None, options: Mapping[str, Any], *, as_json: bool) -> int:
    """On the command line, measure agreement on labelled criteria, print it, and return the exit code.

    Raises ConfigError for flags that are about groups.
    """
    from calipers.calibration.criteria import (  # noqa: PLC0415 - --help stays quick
        meta_evaluate,
        read_labelled,
        read_verdicts,
    )

    for name in _ABOUT_GROUPS:
        if is_typed(name):
            raise ConfigError(f"--{name} is about groups, and {path} holds labelled criteria")
    if options["save"] is not None:
        beside = {"the file of labels": path, "the verdicts file": verdicts, "the ledger": options["ledger"]}
        require_writable(options["save"], force=options["force"], beside=beside)
    bad = BadLines()
    rows = list(read_labelled(path, on_error=bad))
    if not rows:
        raise InputError("no row of it can be read", source=path)
    for name in options["judge"]:
        _require_askable(name, options)  # before any judge is paid
    asked = [said for name in options["judge"] for said in _ask(rows, name, options)]
    recorded = () if verdicts is None else read_verdicts(verdicts, format=options["format"], on_error=bad)
    if options["save"] is not None:
        save_judgments(options["save"], asked)
    found = meta_evaluate(rows, itertools.chain(asked, recorded), on_error=bad)
    if as_json:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        _print(found)
    return 1 if bad.count else 0


def _require_askable(name: str, options: Mapping[str, Any]) -> None:
    from calipers.calibration.collect import require_askable  # noqa: PLC0415 - --help stays quick

    settings = given_options(options, "grading", "samples", "params", "price")
    require_askable(name, protocol="checklist", experience=False, **settings)


def _ask(rows: Any, name: str, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    from calipers.calibration.criteria.collect import collect_verdicts  # noqa: PLC0415 - --help stays quick

    settings = given_options(options, "grading", "samples", "params", "price", "ledger")
    asked = asyncio.run(collect_verdicts(rows, name, experience=False, **settings))
    called = name_without_password(short_names(options["judge"])[name])
    print_cost(asked.spent(), called, sent=not is_stand_in(name))
    return asked.judgments


def _print(found: MetaEvaluation) -> None:
    from calipers.cli.terminal import table_console  # noqa: PLC0415 - --help stays quick

    console = table_console(width=_WIDTH)
    names = short_names(one.judge for one in found.judges)
    found = replace(found, judges=tuple(replace(one, judge=names[one.judge]) for one in found.judges))
    _print_overall(console, found)
    print_addresses(console, names)
    for judge in found.judges:
        _print_judge(console, judge, found.annotators)
    if found.findings:
        console.print("\n[bold]Findings[/bold]")
        for line in found.findings:
            for name, short in names.items():
                line = line.replace(f"{name}: ", f"{short}: ").replace(f"{name} ", f"{short} ")  # noqa: PLW2901
            console.print(wrap_for_console(console, f"- {line}"), markup=False, soft_wrap=True)


def _print_overall(console: Console, found: MetaEvaluation) -> None:
    title = f"Balanced F1 against {found.labels:,} labels of {found.rows:,} criteria, 95 % interval over completions"
    heads = ("bal. F1", "", "met F1", "prec.", "recall", "not met F1", "prec.", "recall", "graded", "ungraded", "above")
    rows = []
    for one in found.judges:
        above = "-" if one.above is None else f"{one.above:.0%}"
        rows.append((one.judge, *_cells(one.overall), str(one.graded), str(one.ungraded), above))
    rows.append(("annotators among themselves", *_cells(found.among), "", "", ""))
    print_figures(console, title, ("judge",), heads, rows)
    for one in found.judges:
        for reason, count in one.reasons.items():
            told = f"  {one.judge}: no verdict {count} times: {reason}"
            console.print(wrap_for_console(console, told), markup=False, soft_wrap=True)


def _cells(one: Agreement) -> list[str]:
    low_high = f"{one.interval[0]:.3f} to {one.interval[1]:.3f}" if one.interval else ""
    met = (one.f1_met, one.precision_met, one.recall_met)
    not_met = (one.f1_not_met, one.precision_not_met, one.recall_not_met)
    return [_figure(one.balanced_f1), low_high, *map(_figure, (*met, *not_met))]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _print_judge(console: Console, judge: JudgeOfCriteria, each: Mapping[str, Agreement]) -> None:
    from rich.table import Table  # noqa: PLC0415 - likewise
    from rich.text import Text  # noqa: PLC0415 - likewise

    table = Table(title=f"\n{judge.judge}", title_justify="left", box=None)
    table.add_column("category", overflow="fold")
    for name in ("bal. F1", "", "labels"):
        table.add_column(name, justify="right", no_wrap=True)
    for category, one in judge.by_category.items():
        table.add_row(Text(category), *_cells(one)[:2], str(one.labels))
    console.print(table)
    most = sorted(judge.by_annotator.items(), key=lambda pair: (-pair[1].labels, pair[0]))
    if not most:
        return
    against = Table(box=None)
    against.add_column("annotator", overflow="fold")
    for name in ("judge bal. F1", "", "labels", "with the others"):
        against.add_column(name, justify="right", no_wrap=True)
    for annotator, one in most[:_SHOWN]:
        against.add_row(Text(annotator), *_cells(one)[:2], str(one.labels), _figure(each[annotator].balanced_f1))
    console.print(against)
    if len(most) > _SHOWN:
        console.print(f"  and {len(most) - _SHOWN} annotators more (--json has all)")
