"""``calipers plan``: what a load needs, by formula and by a simulation of queues."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from calipers.capacity.load import Load
from calipers.cli.command_options import FiniteRange, SectionedCommand, command_option
from calipers.cli.plan_judge import judge

if TYPE_CHECKING:
    from calipers.capacity.queues import Waits

_LOAD, _JUDGE, _COSTS = "Load", "Judge", "What each costs"
_ASKED: dict[str, tuple[str, str, str]] = {
    "groups_per_minute": (_LOAD, "groups-per-minute", "Groups that begin in a minute."),
    "group_size": (_LOAD, "group-size", "Rollouts in a group."),
    "burst": (_LOAD, "burst", "Groups that begin at the same moment, as in a training step."),
    "spread": (_LOAD, "spread", "Seconds from the first to the last rollout of a group, on average."),
    "calls": (_JUDGE, "calls", "Questions to the judge about a group."),
    "judge_seconds": (_JUDGE, "judge-seconds", "Seconds of a call, on average."),
    "judge_p99": (_JUDGE, "judge-p99", "Seconds that 99 of 100 calls do not exceed."),
    "input_tokens": (_JUDGE, "input-tokens", "Tokens of a question."),
    "output_tokens": (_JUDGE, "output-tokens", "Tokens of an answer."),
    "prefill": (_JUDGE, "prefill", "Tokens that a GPU of the judge reads in a second."),
    "decode": (_JUDGE, "decode", "Tokens that a GPU of the judge writes in a second."),
    "cpu_ms": (_COSTS, "cpu-ms", "Milliseconds of a server's CPU for a rollout."),
    "rollout_kilobytes": (_COSTS, "rollout-kb", "Kilobytes of a server's memory for a rollout that waits."),
    "kilobytes": (_COSTS, "ledger-kb", "Kilobytes of the ledger for a group."),
    "usd_in": (_COSTS, "usd-in", "Dollars for a million tokens of questions."),
    "usd_out": (_COSTS, "usd-out", "Dollars for a million tokens of answers."),
}


@click.group(short_help="Compute what a load needs.")
def plan() -> None:
    """Compute what a load needs, before anything is bought."""


plan.add_command(judge)


def _with_load(command: Any) -> Any:
    for field in reversed(fields(Load)):
        section, flag, text = _ASKED[field.name]
        command = command_option(
            field.name,
            f"--{flag}",
            section=section,
            type=click.INT if isinstance(field.default, int) else click.FLOAT,
            default=field.default,
            show_default=True,
            help=text,
        )(command)
    return command


@plan.command(cls=SectionedCommand, short_help="Plan servers of rewards, their judge and their ledger.")
@_with_load
@command_option(
    "--slots", type=click.IntRange(min=1), help="Calls that the judge takes at once. [default: twice the average]"
)
@command_option(
    "--within",
    type=FiniteRange(0, min_open=True),
    default=0.05,
    show_default=True,
    help="Seconds that 99 of 100 groups may wait beside the judge.",
)
@command_option("--groups", type=FiniteRange(0, min_open=True), default=1e9, show_default=True, help="Groups in all.")
@command_option(
    "--seconds",
    type=FiniteRange(1),
    default=300.0,
    show_default=True,
    help="Seconds that are simulated, with each number of servers.",
)
def server(slots: int | None, within: float, groups: float, seconds: float, **values: Any) -> int:
    """Compute how many servers of rewards a load needs, and what else, then simulate their queues.

    \b
    calipers plan server --groups-per-minute 10000 --cpu-ms 0.5
    calipers plan server --groups-per-minute 600 --burst 64 --judge-seconds 8 --judge-p99 30 --slots 128

    Exit code: 0 there is a number of servers that keeps to --within, 1 there is none, 2 bad usage.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.capacity.queues import least_processes, simulate  # noqa: PLC0415 - --help stays quick

    load = Load(**values)
    slots = slots or max(1, round(2 * load.calls_in_flight))
    for name, text in _by_formula(load, slots, groups):
        click.echo(f"{name:<24} {text}")
    processes = least_processes(load, slots=slots, within=within, seconds=seconds)
    click.echo("")
    if processes is None:
        for name, text in _simulated(simulate(load, processes=load.processes, slots=slots, seconds=seconds)):
            click.echo(f"{name:<24} {text}")
        click.echo(f"no number of servers keeps to {within:g} s: give the judge more slots than {slots:,}")
        return 1
    click.echo(f"{'simulated servers':<24} {processes:,} (the fewest with a p99 within {within:g} s beside the judge)")
    for name, text in _simulated(simulate(load, processes=processes, slots=slots, seconds=seconds)):
        click.echo(f"{name:<24} {text}")
    return 0


def _by_formula(load: Load, slots: int, groups: float) -> list[tuple[str, str]]:
    stored = groups * load.kilobytes / 1e9
    lines = [
        ("rollouts a second", f"{load.groups_per_second * load.group_size:,.0f}"),
        ("servers", f"{load.processes:,}, each with a core"),
        ("judge: calls in flight", f"{load.calls_in_flight:,.0f} on average; {slots:,} slots"),
        ("judge: GPUs", f"{load.gpus:,.1f} at full load"),
        ("rollouts that wait", f"{load.waiting:,.0f} on average, {load.waiting_megabytes:,.0f} MB of the servers"),
        ("ledger", f"{load.gigabytes_a_day:,.0f} GB a day"),
        (f"{groups:,.0f} groups", f"{load.days(groups):,.1f} days, {stored:,.1f} TB of ledger"),
    ]
    if load.usd_a_group:
        lines.append(("", f"${load.usd_a_group * groups:,.0f}, ${load.usd_a_group:.5f} a group"))
    return lines


def _simulated(found: Waits) -> list[tuple[str, str]]:
    return [
        ("group: last rollout to", f"p50 {found.p50:,.2f} s, p99 {found.p99:,.2f} s, of {found.groups:,} groups"),
        ("  its answers", f"beside the judge: p50 {found.over_p50 * 1e3:,.0f} ms, p99 {found.over_p99 * 1e3:,.0f} ms"),
        ("rollouts that wait", f"{found.most_waiting:,} at most"),
        ("in use", f"busiest core {found.core:.0%}, judge's slots {found.slots:.0%}"),
    ]
