"""``calipers calibrate``: how far recorded judges can be trusted, on groups with gold."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import click

from calipers.cli.score import setting
from calipers.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from calipers.calibration import Calibration, Finding, JudgeFigures

_WIDTH = 160


@click.command(short_help="Measure judges against gold.")
@click.argument("groups", type=click.Path())
@setting(
    "--judgments",
    required=True,
    type=click.Path(),
    metavar="FILE",
    help="Recorded answers of judges about these groups (.jsonl or .jsonl.gz).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def calibrate(groups: str, judgments: str, *, as_json: bool) -> int:
    """Measure how far the judges in FILE agree with the gold in GROUPS, how biased and how noisy they are.

    Prints a table of judges with 95 % intervals, what a panel of them reaches, findings, and a recommendation to put
    into calipers.toml. Nothing is asked of any judge.

    \b
    calipers calibrate groups.jsonl --judgments judgments.jsonl
    calipers calibrate groups.jsonl --judgments judgments.jsonl --json | jq .panel

    Exit code: 0 the report was written, 1 also, but a line could not be read, 2 bad usage or a missing file.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.calibration import calibrate as measure  # noqa: PLC0415 - --help stays quick

    found = measure(groups, judgments, on_error=_complain)
    if as_json:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        _print(found)
    return 1 if found.problems else 0


def _complain(error: InputError) -> None:
    click.echo(f"Error: {error}", err=True)


def _print(found: Calibration) -> None:
    from rich.console import Console  # noqa: PLC0415 - likewise

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH)
    _print_judges(console, found.judges)
    _print_panel(console, found)
    if found.findings:
        console.print("\n[bold]Findings[/bold]")
        for line in _findings(found.findings):
            console.print(f"- {line}", markup=False, soft_wrap=True)
    console.print("\n[bold]Recommendation[/bold]")
    console.print(found.recommendation, markup=False, soft_wrap=True, end="")


def _print_judges(console: Console, judges: tuple[JudgeFigures, ...]) -> None:
    from rich.table import Table  # noqa: PLC0415 - likewise
    from rich.text import Text  # noqa: PLC0415 - likewise

    table = Table(title="Judges: all calls of a group, 95 % interval over groups", title_justify="left", box=None)
    for name in ("judge", "asked"):
        table.add_column(name, overflow="fold")
    for name in ("fidelity", "", "top-1", "tau-b", "sign err", "flips", "repeats", "ties", "failed", "calls", "groups"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in judges:
        low_high = one.advantage_fidelity_interval
        table.add_row(
            Text(one.judge),
            Text(_asked(one)),
            _figure(one.advantage_fidelity, 3),
            Text(f"{low_high[0]:.3f} to {low_high[1]:.3f}" if low_high else ""),
            *(_figure(value, 3) for value in (one.top1, one.tau_b, one.sign_error)),
            *(_figure(value, 2) for value in (one.order_flip_rate, one.repeatability, one.tie_rate, one.failure_rate)),
            f"{one.calls_per_group:g}" if one.calls_per_group.is_integer() else f"{one.calls_per_group:.1f}",
            str(one.groups),
        )
    console.print(table)


def _asked(one: JudgeFigures) -> str:
    parts = [one.mode, one.prompt_variant, one.criterion]
    if one.temperature is not None:
        parts.append(f"t={one.temperature:g}")
    return ", ".join(part for part in parts if part)


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _print_panel(console: Console, found: Calibration) -> None:
    panel = found.panel
    if len(panel.members) < 2:
        return
    console.print("\n[bold]Panel[/bold] (one call each; weights learned without labels)")
    for name, weight, repeats in zip(panel.members, panel.weights, panel.repeatability, strict=True):
        again = "" if repeats is None else f", repeats itself {repeats:.2f}"
        console.print(f"  {weight:.2f}  {name}{again}", markup=False)
    if panel.advantage_fidelity is None:
        return
    low, high = panel.advantage_fidelity_interval or (float("nan"), float("nan"))
    console.print(
        f"  fidelity {panel.advantage_fidelity:.3f} ({low:.3f} to {high:.3f}) on {panel.groups} groups", markup=False
    )
    console.print(f"  equal weights {_figure(panel.equal_weights_fidelity, 3)}", markup=False)
    if best := panel.best_member:
        console.print(f"  {best.judge} alone, calls a group: {best.calls}: {best.advantage_fidelity:.3f}", markup=False)


def _findings(findings: tuple[Finding, ...]) -> list[str]:
    """One line a finding; what several judges share is said once."""
    said = Counter(one.text if one.judge is None else f"{one.kind}\0{one.text}" for one in findings)
    lines = []
    for one in findings:
        count = said.pop(one.text if one.judge is None else f"{one.kind}\0{one.text}", 0)
        if count:
            who = "" if one.judge is None else f"{one.judge} ({one.variant}): " if count == 1 else f"{count} series: "
            lines.append(who + one.text)
    return lines
