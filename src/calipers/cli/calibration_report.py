"""The tables and findings that ``calipers calibrate`` prints."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from calipers.backends.names import short_names, split_judge_name
from calipers.cli.messages import wrap_for_console, wrap_words
from calipers.cli.terminal import print_figures
from calipers.types.encoding import counted

if TYPE_CHECKING:
    from rich.console import Console

    from calipers.calibration import Calibration, Finding, JudgeFigures
    from calipers.calibration.choice import Choice

_WIDTH = 160
_HEADS = (
    "fidelity",
    "",
    "top-1",
    "tau-b",
    "sign err",
    "flips",
    "repeats",
    "ties",
    "failed",
    "calls",
    "groups",
)


def print_report(found: Calibration) -> None:
    """Print a calibration on the command line: judges and how they differ, position bias, panel, frontier, findings.

    The recommendation comes last. The frontier is that of cost and accuracy. Everything goes to stdout, with judges
    named without the addresses of their servers, which are printed once.
    """
    from calipers.cli.terminal import table_console  # noqa: PLC0415 - --help stays quick

    console = table_console(width=_WIDTH)
    names = short_names(one.judge for one in found.judges)
    _print_judges(console, found.judges, names)
    print_addresses(console, names)
    _print_differences(console, found, names)
    _print_common(console, found.judges, names)
    _print_places(console, found.judges, names)
    _print_pairs(console, found.judges, names)
    _print_panel(console, found, names)
    _print_frontier(console, found.choice, names)
    if found.findings:
        console.print("\n[bold]Findings[/bold]")
        for line in _findings(found.findings, names):
            console.print(wrap_for_console(console, f"- {line}"), markup=False, soft_wrap=True)
    usable = "" if found.choice is None else " (TOML: --recommendation FILE writes it, --config FILE reads it)"
    console.print(f"\n[bold]Recommendation[/bold]{usable}")
    for line in found.recommendation.removesuffix("\n").split("\n"):
        console.print(_wrapped_comment(console, line), markup=False, soft_wrap=True)


def _wrapped_comment(console: Console, line: str) -> str:
    """Return a line of TOML, wrapped for the console if it is a comment, so that what is copied is still TOML."""
    if not console.is_terminal or not line.startswith("# "):
        return line
    return "\n".join(f"# {part}" for part in wrap_words(line.removeprefix("# "), console.width - 2).split("\n"))


def print_addresses(console: Console, names: Mapping[str, str]) -> None:
    """Print on the command line, once, the address of each server whose judges are named without it."""
    servers: dict[str, list[str]] = {}
    for name, short in names.items():
        if short != name:
            servers.setdefault(split_judge_name(name)[1] or "", []).append(short)
    for address, judges in servers.items():
        told = f"{', '.join(judges)}: {address}"
        console.print(wrap_for_console(console, told), markup=False, soft_wrap=True)


def _print_differences(console: Console, found: Calibration, names: Mapping[str, str]) -> None:
    """Print how much more one judge agrees with gold than another, on the groups that both scored."""
    from calipers.calibration.differences import difference_lines  # noqa: PLC0415 - --help stays quick

    lines = difference_lines(found.differences, names)
    if lines:
        console.print("\n[bold]Differences[/bold] (of fidelity, on the same groups, 95 % interval)")
    for line in lines:
        console.print(wrap_for_console(console, f"  {line}"), markup=False, soft_wrap=True)


def _print_judges(console: Console, judges: tuple[JudgeFigures, ...], names: Mapping[str, str]) -> None:
    rows = []
    silent = any(one.missing.total for one in judges)
    for one in judges:
        low_high = one.advantage_fidelity_interval
        rows.append(
            (
                names[one.judge],
                one.asked,
                _figure(one.advantage_fidelity, 3),
                f"{low_high[0]:z.3f} to {low_high[1]:z.3f}" if low_high else "",
                *(_figure(value, 3) for value in (one.top1, one.tau_b, one.sign_error)),
                *(_figure(value, 2) for value in (one.order_flip_rate, one.repeatability, one.tie_rate)),
                _figure(one.failure_rate, 2),
                f"{one.calls_per_group:g}" if one.calls_per_group.is_integer() else f"{one.calls_per_group:.1f}",
                str(one.groups),
                *([_missing(one)] if silent else []),
            )
        )
    title = "Judges: all calls of a group, 95 % interval over groups"
    if silent:
        title += "; missing: abstained + failed + not recorded"
    print_figures(console, title, ("judge", "asked"), (*_HEADS, "missing") if silent else _HEADS, rows)


def _missing(one: JudgeFigures) -> str:
    """Return the number of groups with gold that a judge did not score: abstained + failed + not recorded."""
    gone = one.missing
    return f"{gone.abstained}+{gone.failed}+{gone.unrecorded}" if gone.total else ""


def _print_common(console: Console, judges: tuple[JudgeFigures, ...], names: Mapping[str, str]) -> None:
    """Print figures of the judges on the groups that all of them scored, if some scored more than others."""
    counts = {one.groups for one in judges}
    if len(counts) < 2:
        return
    console.print("\n[bold]On common groups[/bold] (a judge that leaves out hard groups looks better on the others)")
    for one in judges:
        low_high = one.common_fidelity_interval
        interval = f" ({low_high[0]:z.3f} to {low_high[1]:z.3f})" if low_high else ""
        found = (
            "not compared: too few groups in common"
            if one.common_fidelity is None
            else f"{one.common_fidelity:z.3f}{interval} on {one.common_groups}, "
            f"{_figure(one.advantage_fidelity, 3)} on all {one.groups}"
        )
        console.print(f"  {names[one.judge]} ({one.asked}): {found}", markup=False, soft_wrap=True)


def _print_places(console: Console, judges: tuple[JudgeFigures, ...], names: Mapping[str, str]) -> None:
    """Print each judge's position bias in lists, if it is known and not zero."""
    leaning = [(one, one.place_curve) for one in judges if one.place_curve and any(one.place_curve.worth)]
    if leaning:
        console.print("\n[bold]Position bias[/bold] (what each position adds, first to last, in units of the scores)")
    for one, curve in leaning:
        worth = " ".join(f"{value:+.3g}" for value in curve.worth)
        console.print(f"  {names[one.judge]} ({one.asked}): {worth}", markup=False, soft_wrap=True)


def _print_pairs(console: Console, judges: tuple[JudgeFigures, ...], names: Mapping[str, str]) -> None:
    """Print how many pairs got the same answer in both orders, and how many of those are right.

    Answers that contradict each other count as a tie.
    """
    swapped = [one for one in judges if one.agreeing_share is not None]
    if swapped:
        console.print("\n[bold]Pairs in both orders[/bold] (a contradiction is a tie)")
    for one in swapped:
        right = "" if one.agreeing_accuracy is None else f", of which right {one.agreeing_accuracy:.0%}"
        console.print(
            f"  {names[one.judge]} ({one.asked}): both orders name one winner in {one.agreeing_share:.0%}{right}",
            markup=False,
            soft_wrap=True,
        )


def _print_frontier(console: Console, choice: Choice | None, names: Mapping[str, str]) -> None:
    """Print the cost-accuracy frontier: the ways to query judges that are better than every cheaper way."""
    from calipers.calibration import measures  # noqa: PLC0415 - likewise

    if choice is None:
        return
    rows = []
    for way, (held_out, _) in zip(choice.frontier, choice.frontier_held_out, strict=True):
        tokens, dollars = way.cost.of("tokens"), way.cost.cost_usd
        low, high = measures.bootstrap_interval(way.fidelity) or (math.nan, math.nan)
        rows.append(
            (
                way.called(names),
                f"{way.cost.calls:.3g}",
                f"{way.cost.shown:.3g}",
                "-" if tokens is None else f"{tokens:,.0f}",
                "-" if dollars is None else f"{dollars:.4g}",
                _figure(measures.mean_over_groups(way.fidelity), 3),
                f"{low:z.3f} to {high:z.3f}",
                _figure(held_out, 3),
            )
        )
    console.print()
    title = f"Cost-accuracy frontier, per group: the best of {choice.tried:,} ways at each price"
    heads = ("calls", "read", "tokens", "$", "fidelity", "", "held out")
    print_figures(console, title, ("way",), heads, rows)
    if any(level is not None for level, _ in choice.frontier_held_out):
        told = "Held out: what is chosen at this price on four fifths of the prompts, measured on the fifth."
        console.print(wrap_for_console(console, told), markup=False, soft_wrap=True)


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:z.{digits}f}"


def _print_panel(console: Console, found: Calibration, names: Mapping[str, str]) -> None:
    panel = found.panel
    if len(panel.members) < 2:
        return
    console.print("\n[bold]Panel[/bold] (one call each; weights learned without labels)")
    for name, weight, repeats in zip(panel.members, panel.weights, panel.repeatability, strict=True):
        again = "" if repeats is None else f", repeatability {repeats:.2f}"
        console.print(f"  {weight:.2f}  {names[name]}{again}", markup=False)
    if panel.advantage_fidelity is None:
        return
    low, high = panel.advantage_fidelity_interval or (float("nan"), float("nan"))
    console.print(
        f"  fidelity {panel.advantage_fidelity:z.3f} ({low:z.3f} to {high:z.3f}) on {panel.groups} groups", markup=False
    )
    console.print(f"  equal weights {_figure(panel.equal_weights_fidelity, 3)}", markup=False)
    if best := panel.best_member:
        same = "the same " if best.calls == len(panel.members) else ""
        told = f"  best member alone ({names[best.judge]}), with {same}{counted(best.calls, 'call')}: "
        console.print(f"{told}{best.advantage_fidelity:z.3f}", markup=False, soft_wrap=True)


def _findings(findings: tuple[Finding, ...], names: Mapping[str, str]) -> list[str]:
    """Return the findings of a calibration, one line each; a finding that several judges share appears once."""
    said = Counter(one.text if one.judge is None else f"{one.kind}\0{one.text}" for one in findings)
    lines = []
    for one in findings:
        count = said.pop(one.text if one.judge is None else f"{one.kind}\0{one.text}", 0)
        if count:
            name = names.get(one.judge or "", one.judge)
            who = "" if one.judge is None else f"{name} ({one.variant}): " if count == 1 else f"{count} series: "
            lines.append(who + one.text)
    return lines
