"""``calipers profile``: measures a judge's profile from its recorded answers, and shows profiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import BadLines, print_message
from calipers.cli.output import add_force_option, require_replaceable
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.study.profiles.profile import Profile

_MOST_PLACES = 8
_WIDTH = 100


@click.command(short_help="Measure a judge's character from its answers.")
@click.argument("groups", metavar="GROUPS|PROFILE")
@click.argument("judgments", required=False, type=click.Path())
@command_option("-o", "--out", named=True, metavar="FILE", help="Write the profile to this file (JSON).")
@command_option(
    "--answers-of",
    metavar="JUDGE",
    help="Measure this judge, of several, or one kind of its questions, as in 'gpt-5.4, pointwise, v2'.",
)
@command_option("--name", metavar="NAME", help="The profile's name. [default: the judge's]")
@command_option("--note", default="", metavar="TEXT", help="A note for people, stored in the profile.")
@add_force_option
@click.option("--json", "as_json", is_flag=True, help="Print the profile as JSON instead of a table.")
def profile(
    groups: str,
    judgments: str | None,
    out: str | None,
    answers_of: str | None,
    name: str | None,
    note: str,
    *,
    force: bool,
    as_json: bool,
) -> int:
    """Measure a judge's noise, position bias, ties, failures and agreement with gold, from recorded answers.

    GROUPS and JUDGMENTS are files as for calipers calibrate. A profile is a judge: profile:FILE answers from gold, with
    exactly these errors. PROFILE, a profile's file or the name of a shipped one, is shown.

    \b
    calipers profile groups.jsonl judgments.jsonl -o judge.json
    calipers profile judge.json
    calipers score groups.jsonl -o scored.jsonl --judge profile:judge.json

    Exit code: 0 the profile was measured or shown, 1 it was measured but a line could not be read, 2 bad usage or a
    missing file.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.study.profiles.measuring import measure_profile  # noqa: PLC0415 - --help stays quick
    from calipers.study.profiles.profile import find_profile, profile_as_text, write_profile  # noqa: PLC0415 - likewise

    bad = BadLines()
    if judgments is None:
        if out is not None or answers_of is not None or name is not None or note:
            raise ConfigError(f"{groups} alone is a profile to show; name GROUPS and JUDGMENTS to measure one")
        found = find_profile(groups)
    else:
        if out is not None:
            beside = {"the groups file": groups, "the judgments file": judgments}
            require_replaceable("--out", out, force=force, beside=beside)
        found = measure_profile(groups, judgments, answers_of=answers_of, name=name, note=note, on_error=bad)
    if out is not None:
        write_profile(Path(out), found)
    if as_json:
        click.echo(profile_as_text(found), nl=False)
    else:
        _print_profile(found)
    if out is not None:
        print_message(f"Wrote {out}. A judge with this profile: --judge profile:{out}")
    return 1 if bad.count else 0


def _print_profile(found: Profile) -> None:
    from calipers.cli.terminal import table_console  # noqa: PLC0415 - --help stays quick

    console = table_console(width=_WIDTH)
    title = f"{found.name}: {found.judge}, {found.asked}, {found.groups:,} groups"
    console.print(title, style="bold", markup=False)
    places = ", ".join(f"{one:+.3f}" for one in found.positions[:_MOST_PLACES])
    figures: dict[str, float | str | None] = {
        "fidelity of one answer (correlation with gold in a group)": found.fidelity,
        "added by quality from 0 to 1": found.gain,
        "lasting error of a candidate (standard deviation)": found.error,
        "noise of an answer (standard deviation)": found.noise,
        "added by each position, first to last": (places + ", ..." * (len(found.positions) > _MOST_PLACES)) or None,
        "added by twice the length": found.per_doubling,
        "tied pairs": found.ties,
        "candidates without a readable answer": found.failures,
        "mean score": found.level,
    }
    for words, value in figures.items():
        shown = "unknown" if value is None else value if isinstance(value, str) else f"{value:.3f}"
        console.print(f"{words:<58} {shown}", markup=False, soft_wrap=True)
    if found.note:
        console.print(found.note, markup=False)
