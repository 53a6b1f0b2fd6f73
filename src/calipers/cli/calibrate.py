"""``calipers calibrate``: how far recorded judges can be trusted, on groups with gold."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from calipers.cli.asked import save_judgments, tell_spent
from calipers.cli.setting import setting
from calipers.cli.values import read_param, rubric_of
from calipers.errors import ConfigError, InputError

if TYPE_CHECKING:
    from rich.console import Console

    from calipers.calibration import Calibration, Finding, JudgeFigures
    from calipers.rubric import Rubric

_WIDTH = 160


@click.command(short_help="Measure judges against gold.")
@click.argument("groups", type=click.Path())
@setting(
    "--judgments",
    type=click.Path(),
    metavar="FILE",
    help="Recorded answers of judges about these groups (.jsonl or .jsonl.gz).",
)
@setting(
    "--judge",
    multiple=True,
    metavar="MODEL",
    help="Ask this judge about the groups now; may be repeated, each is measured by itself and all as a panel.",
)
@setting("--protocol", default="listwise", show_default=True, metavar="NAME", help="How --judge is asked.")
@setting(
    "--orders",
    type=click.IntRange(1),
    help="Presentations of each group that --judge is asked about. [default: 4; pairwise 2]",
)
@setting("--samples", default=1, show_default=True, type=click.IntRange(1), help="Times each presentation is asked.")
@setting(
    "--rubric",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="Text file with the standards; given twice, how stable judgments are under another wording is measured, too.",
)
@setting(
    "--grading",
    multiple=True,
    metavar="KEY=VALUE",
    help="Labelled criteria: how --judge is asked, e.g. mode=all; may be repeated. [default: mode=per_criterion]",
)
@setting("--param", multiple=True, metavar="KEY=VALUE", help="A further request parameter, e.g. temperature=0.7.")
@setting(
    "--ledger", metavar="URL", help="Where --judge's answers are kept: nothing is paid twice, and runs learn from it."
)
@setting("--save", metavar="FILE", help="Write what --judge said as a judgments file (.jsonl).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def calibrate(groups: str, judgments: str | None, *, as_json: bool, **options: Any) -> int:
    """Measure how far judges agree with the gold in GROUPS, how biased and how noisy they are.

    GROUPS may also be labelled criteria in HealthBench's meta-evaluation schema: then balanced F1 is measured, per
    category and against each annotator.

    Judges are asked now (--judge), or their recorded answers are read (--judgments), or both. Prints a table of judges
    with 95 % intervals, what a panel of them reaches, findings, and a recommendation to put into calipers.toml.

    \b
    calipers calibrate groups.jsonl --judge openai/gpt-5-mini --judge vllm/qwen3@http://gpu1:8000/v1
    calipers calibrate groups.jsonl --judgments judgments.jsonl
    calipers calibrate groups.jsonl --judgments judgments.jsonl --json | jq .panel

    Exit code: 0 the report was written, 1 also, but a line could not be read, 2 bad usage or a missing file.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.calibration import calibrate as measure  # noqa: PLC0415 - --help stays quick
    from calipers.calibration.criteria import is_labelled  # noqa: PLC0415 - likewise
    from calipers.calibration.records import read_judgments  # noqa: PLC0415 - likewise
    from calipers.cli.meta_evaluation import meta_evaluation  # noqa: PLC0415 - likewise

    if judgments is not None and not _typed("judge"):
        options["judge"] = ()  # a judge from calipers.toml is a run's, and is not asked by reading a file
    if judgments is None and not options["judge"]:
        raise ConfigError("name what to measure: a judge to ask (--judge), or recorded answers (--judgments FILE)")
    if is_labelled(groups):
        return meta_evaluation(groups, judgments, options, as_json=as_json)
    if _typed("grading"):
        raise ConfigError("--grading is about labelled criteria, and GROUPS are groups with gold")
    bad: list[InputError] = []

    def complain(error: InputError) -> None:
        bad.append(error)
        click.echo(f"Error: {error}", err=True)

    asked = _ask(groups, options) if options["judge"] else []
    if options["save"] is not None:
        save_judgments(options["save"], asked)
    recorded = () if judgments is None else read_judgments(judgments, on_error=complain)
    found = measure(groups, itertools.chain(asked, recorded), on_error=complain)
    if as_json:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        _print(found)
    return 1 if bad else 0


def _typed(name: str) -> bool:
    """Whether an option was given on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _ask(groups: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    """What the judges say now; what each took is told on stderr."""
    from calipers.calibration.live import ask  # noqa: PLC0415 - likewise
    from calipers.readers import read_groups  # noqa: PLC0415 - likewise

    shown = list(read_groups(groups, on_error=lambda _: None))  # measuring names what is wrong with them
    protocol = options["protocol"]
    settings = {
        "protocol": protocol,
        "orders": options["orders"] or (2 if protocol == "pairwise" else 1 if protocol == "pointwise" else 4),
        "samples": options["samples"],
        "params": dict(map(read_param, options["param"])),
        "ledger": options["ledger"],
        # What is measured is the judge, not what an earlier run knew of it.
        "experience": False,
    }
    variants: list[tuple[str | None, str | Rubric | None]] = [
        (Path(path).stem, rubric_of(path)) for path in options["rubric"]
    ] or [(None, None)]
    judgments = []
    for name in options["judge"]:
        for variant, rubric in variants:
            asked = asyncio.run(ask(shown, name, rubric=rubric, prompt_variant=variant, **settings))
            judgments += asked.judgments
            tell_spent(asked.spent())
    return judgments


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
