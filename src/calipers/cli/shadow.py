"""``calipers shadow``: what a judge's advantages would have been beside today's, from the records of shadow mode."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import print_message
from calipers.types.counted import counted
from calipers.types.encoding import printable

if TYPE_CHECKING:
    from calipers.errors import InputError
    from calipers.trainers.shadow.comparison import Comparison

_REASONS = 5


@click.command(short_help="Compare a judge with today's reward, from shadow mode.")
@click.argument("records", nargs=-1, required=True, type=click.Path())
@command_option("--centred", is_flag=True, help="Advantages without division by the group's deviation (Dr. GRPO).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def shadow(records: tuple[str, ...], *, centred: bool, as_json: bool) -> int:
    """Print what a judge's advantages would have been beside those of today's reward.

    RECORDS are files of shadow mode, or folders of them.

    \b
    calipers shadow run-1/shadow
    calipers shadow run-1/shadow --centred --json

    Exit code: 0 printed, 1 there is no group with a signal in both rewards, 2 bad usage or records that cannot be read.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.trainers.shadow.comparison import compare, read_shadow  # noqa: PLC0415 - --help stays quick

    skipped: list[InputError] = []
    rows = list(read_shadow(records, on_skipped=skipped.append))
    if skipped and not rows:
        raise skipped[0]
    for error in skipped[:_REASONS]:
        print_message(f"Note: {error}; it is not counted")
    if len(skipped) > _REASONS:
        print_message(f"Note: {counted(len(skipped) - _REASONS, 'further line')} cannot be read either")
    found = replace(compare(rows, divided=not centred), unreadable=len(skipped))
    if as_json:
        click.echo(json.dumps(asdict(found), ensure_ascii=False))
    else:
        for name, text in _told(found):
            click.echo(f"{name:<24} {text}")
    return 0 if found.signal_both else 1


def _told(found: Comparison) -> list[tuple[str, str]]:
    lost = sum(found.lost.values())
    lines = [
        ("groups", f"{found.groups:,}"),
        ("  not judged", f"{found.left_out:,} left out, because too many waited; {found.unfinished:,} unfinished"),
        ("no signal: today", f"{found.groups - found.signal_today:,}, all rewards of the group equal or missing"),
        ("no signal: judge", f"{found.groups - found.signal_judge:,}, of them {lost:,} lost"),
    ]
    if found.unreadable:
        lines.insert(2, ("  unreadable", f"{counted(found.unreadable, 'line')} of the records, skipped"))
    for why, count in list(found.lost.items())[:_REASONS]:
        lines.append(("  because", f"{count:,}: {' '.join(printable(why).split())}"))
    lines.append(("signal in both", f"{found.signal_both:,}; the lines below are of these groups"))
    if found.correlation is not None:
        interval = "" if found.low is None else f" (95 %: {found.low:+.2f} to {found.high:+.2f}, by group)"
        lines.append(("correlation", f"{found.correlation:+.2f}{interval}"))
    for name, share, of in (
        ("sign flips", found.flips, "of rollouts with an advantage in both"),
        ("  large ones", found.large_flips, "of rollouts with an advantage beyond 0.5 in both"),
        ("same best rollout", found.same_best, "of groups"),
    ):
        if share is not None:
            lines.append((name, f"{share:.1%} {of}"))
    seconds = "" if found.seconds is None else f", {found.seconds:.1f} s for a group on average"
    lines.append(("judge", f"{found.calls:,} calls{seconds}"))
    return lines
