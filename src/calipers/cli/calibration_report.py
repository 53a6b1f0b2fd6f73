"""The tables and findings that ``calipers calibrate`` prints."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console

from calipers.backends.names import short_names, split_judge_name
from calipers.calibration import Calibration, Finding, JudgeFigures, measures
from calipers.calibration.choice import Choice
from calipers.calibration.criteria import Agreement, MetaEvaluation
from calipers.calibration.metrics import METRICS, difference_lines
from calipers.cli.messages import wrap_for_console, wrap_words
from calipers.cli.terminal import print_figures, table_console
from calipers.types.encoding import counted

_WIDTH: Final = 160
_OF_VERDICTS: Final = {
    "f1_met": "met F1",
    "precision_met": "prec.",
    "recall_met": "recall",
    "f1_not_met": "not met F1",
    "precision_not_met": "prec.",
    "recall_not_met": "recall",
}
"""Figures of verdicts, with their heads in the table."""


def print_report(report: Calibration) -> None:
    """Print a calibration: judges and how they differ, position bias, frontier, findings, recommendation.

    Judges are named without the addresses of their servers, which are printed once.
    """
    console = table_console(width=_WIDTH)
    names = short_names(judge.judge for judge in report.judges)
    _print_judges(console, report.judges, names)
    _print_addresses(console, names)
    heading = "Differences[/bold] (of fidelity, on the same groups, 95 % interval)"
    _print_lines(console, heading, difference_lines(report.differences, names))
    curves = [(judge, judge.place_curve) for judge in report.judges if judge.place_curve and any(judge.place_curve)]
    lines = [f"{names[row.judge]} ({row.asked}): {' '.join(f'{add:+.3g}' for add in curve)}" for row, curve in curves]
    heading = "Position bias[/bold] (what each position adds, first to last, in units of the scores)"
    _print_lines(console, heading, lines)
    if report.choice is not None:
        _print_frontier(console, report.choice, names)
    _print_lines(console, "Findings[/bold]", _findings(report.findings, names), mark="- ")
    is_usable = report.choice is not None and report.choice.is_usable
    usable = "" if not is_usable else " (TOML: --recommendation FILE writes it, --config FILE reads it)"
    console.print(f"\n[bold]Recommendation[/bold]{usable}")
    for line in report.recommendation.removesuffix("\n").split("\n"):
        if console.is_terminal and line.startswith("# "):  # wrapped, but so that what is copied is still TOML
            parts = wrap_words(line.removeprefix("# "), console.width - 2).split("\n")
            line = "\n".join(f"# {part}" for part in parts)  # noqa: PLW2901
        console.print(line, markup=False, soft_wrap=True)


def _print_lines(console: Console, heading: str, lines: Sequence[str], *, mark: str = "  ") -> None:
    if lines:
        console.print(f"\n[bold]{heading}")
    for line in lines:
        console.print(wrap_for_console(console, f"{mark}{line}"), markup=False, soft_wrap=True)


def _print_addresses(console: Console, names: Mapping[str, str]) -> None:
    """Print, once, the address of each server whose judges are named without it."""
    servers: dict[str, list[str]] = {}
    for name, short in names.items():
        if short != name:
            servers.setdefault(split_judge_name(name)[1] or "", []).append(short)
    for address, judges in servers.items():
        line = f"{', '.join(judges)}: {address}"
        console.print(wrap_for_console(console, line), markup=False, soft_wrap=True)


def _print_judges(console: Console, judges: Sequence[JudgeFigures], names: Mapping[str, str]) -> None:
    columns = [metric for metric in METRICS if metric.head]
    silent = any(judge.missing.total() for judge in judges)
    rows = []
    for judge in judges:
        figures = [_figure(judge.values[column.name], column.digits) for column in columns]
        figures.insert(1, _interval(judge.advantage_fidelity_interval))
        missing = "+".join(map(str, judge.missing.values())) if judge.missing.total() else ""
        rows.append((names[judge.judge], judge.asked, *figures, *([missing] if silent else [])))
    title = "Judges: all calls of a group, 95 % interval over groups"
    title += "; missing: abstained + failed + not recorded" if silent else ""
    heads = [column.head for column in columns]
    heads = [heads[0], "", *heads[1:], *(["missing"] if silent else [])]
    print_figures(console, title, ("judge", "asked"), heads, rows)


def _print_frontier(console: Console, choice: Choice, names: Mapping[str, str]) -> None:
    """Print the cost-accuracy frontier: the ways to query judges that are better than every cheaper way."""
    rows = [
        (
            way.called(names),
            f"{way.cost.calls:.3g}",
            f"{way.cost.shown:.3g}",
            _figure(way.cost.of("tokens"), 0),
            _figure(way.cost.cost_usd, 4),
            _figure(measures.mean_over_groups(way.fidelity)),
            _interval(measures.bootstrap_interval(way.fidelity)),
            _figure(held_out),
        )
        for way, (held_out, _) in zip(choice.frontier, choice.frontier_held_out, strict=True)
    ]
    console.print()
    title = f"Cost-accuracy frontier, per group: the best of {choice.tried:,} ways at each price"
    heads = ("calls", "read", "tokens", "$", "fidelity", "", "held out")
    print_figures(console, title, ("way",), heads, rows)
    if any(level is not None for level, _ in choice.frontier_held_out):
        heading = "Held out: what is chosen at this price on four fifths of the prompts, measured on the fifth."
        console.print(wrap_for_console(console, heading), markup=False, soft_wrap=True)


def _figure(value: float | None, digits: int = 3) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:z,.{digits}f}"


def _interval(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{ends[0]:z.3f} to {ends[1]:z.3f}"


def _findings(findings: Sequence[Finding], names: Mapping[str, str]) -> list[str]:
    """Return the findings, one line each; a finding that several judges share appears once."""
    counts = Counter((finding.judge is None, finding.text) for finding in findings)
    lines = []
    for finding in findings:
        if count := counts.pop((finding.judge is None, finding.text), 0):
            alone = f"{names.get(finding.judge or '', finding.judge)} ({finding.variant}): "
            subject = "" if finding.judge is None else alone if count == 1 else f"{count} series: "
            lines.append(subject + finding.text)
    return lines


def print_meta_evaluation(report: MetaEvaluation) -> None:
    """Print judges of labelled criteria: their balanced F1, also per category, and findings."""
    console = table_console(width=_WIDTH)
    names = short_names(judge.judge for judge in report.judges)
    labels, criteria = counted(report.labels, "label"), counted(report.rows, "criterion", "criteria")
    title = f"Balanced F1 against {labels} of {criteria}, 95 % interval over completions"
    heads = ("bal. F1", "", *_OF_VERDICTS.values(), "graded", "ungraded")
    rows = [
        (
            names[judge.judge],
            *_balanced_f1(judge.overall),
            *(_figure(judge.overall.figures[name]) for name in _OF_VERDICTS),
            str(judge.graded),
            str(judge.ungraded),
        )
        for judge in report.judges
    ]
    print_figures(console, title, ("judge",), heads, rows)
    for figures in report.judges:
        for reason, count in figures.reasons.items():
            unread = f"  {names[figures.judge]}: no verdict {counted(count, 'time')}: {reason}"
            console.print(wrap_for_console(console, unread), markup=False, soft_wrap=True)
    _print_addresses(console, names)
    for figures in report.judges:
        categories = [(name, *_balanced_f1(part), str(part.labels)) for name, part in figures.by_category.items()]
        print_figures(console, f"\n{names[figures.judge]}", ("category",), ("bal. F1", "", "labels"), categories)
    findings = [
        f"{names[finding.judge]}: {finding.text}" if finding.judge else finding.text for finding in report.findings
    ]
    _print_lines(console, "Findings[/bold]", findings, mark="- ")


def _balanced_f1(one: Agreement) -> tuple[str, str]:
    return _figure(one.figures["balanced_f1"]), _interval(one.interval)
