"""``calipers profile``: fits a judge's profile to its recorded answers, and shows profiles."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import BadLines, print_message
from calipers.cli.overwriting import PROFILE, add_force_option, require_replaceable
from calipers.cli.profile_report import print_profile
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.study.profiles.profile import Profile

_MEAN = "mean"
_MODES = ("pointwise", "pairwise", "pairwise_scores", "listwise")


def _finite(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value:g} is not a finite number.")
    return value


@click.command(short_help="Measure a judge's character from its answers.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCES...")
@command_option("-o", "--out", named=True, metavar="FILE", help="Write the profile to this file (JSON).")
@command_option("--answers-of", metavar="JUDGE", help="Fit to the answers of this judge.")
@command_option("--mode", type=click.Choice(_MODES), help="Fit to answers of this mode.")
@command_option("--prompt-variant", metavar="NAME", help="Fit to answers to this prompt.")
@command_option("--temperature", type=float, callback=_finite, help="Fit to answers at this temperature.")
@command_option(
    "--criterion", metavar="NAME", help="Fit to answers about this criterion; mean for the mean of all criteria."
)
@command_option(
    "--format",
    metavar="NAME",
    help="The format of unparsed replies (raw_text), for lines that name none, e.g. mt_bench.",
)
@command_option("--run", type=int, metavar="ID", help="The number of the run to read of a ledger. [default: all]")
@command_option("--name", metavar="NAME", help="The profile's name. [default: the judge's]")
@command_option("--note", metavar="TEXT", help="A note for people, stored in the profile.")
@add_force_option
@click.option("--json", "as_json", is_flag=True, help="Print the profile as JSON instead of a table.")
def profile(sources: tuple[str, ...], *, as_json: bool, **options: Any) -> int:
    """Measure a judge's noise, scale use, biases, failures and agreement with gold, from recorded answers.

    SOURCES are a groups file and a judgments file (as for calipers calibrate), or a ledger, which holds both. A profile
    is a judge: profile:FILE answers from a hidden quality, with exactly these vices. A single source may also be a
    profile: a file, or a name from calipers judges; it is shown.

    \b
    calipers profile groups.jsonl judgments.jsonl -o judge.json
    calipers profile out.jsonl.ledger.db --answers-of openai/gpt-5-mini -o judge.json
    calipers profile judge.json
    calipers score groups.jsonl -o scored.jsonl --judge profile:judge.json

    Exit code: 0 the profile was written, 1 it was written but a line could not be read, 2 bad usage or a missing file.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.study.profiles.files import profile_as_text, write_profile  # noqa: PLC0415 - --help stays quick

    bad = BadLines()
    found = _shown(sources, options) or _fitted(sources, options, bad)
    if options["out"] is not None:
        write_profile(options["out"], found)
    if as_json:
        click.echo(json.dumps(json.loads(profile_as_text(found)), ensure_ascii=False))
    else:
        print_profile(found)
    if options["out"] is not None:
        print_message(f"Wrote {options['out']}. A judge with this profile: --judge profile:{options['out']}")
    return 1 if bad.count else 0


def _shown(sources: tuple[str, ...], options: dict[str, Any]) -> Profile | None:
    """Return the profile that the only source is; None if it is something to fit a profile to."""
    from calipers.study.profiles.files import is_profile, read_profile  # noqa: PLC0415 - --help stays quick
    from calipers.study.profiles.named import find_profile  # noqa: PLC0415 - likewise

    first = sources[0]
    # What is no file, and has neither a folder nor the ending of one, is meant to be a shipped profile's name.
    is_name = not Path(first).exists() and Path(first).name == first and ".json" not in first
    if not (is_name or is_profile(first)):
        return None
    if len(sources) > 1:
        raise ConfigError(f"{first} is a profile; name it alone, or name groups and judgments to fit one")
    if options["out"] is not None:
        raise ConfigError(f"--out: {first} is a profile already; name groups and judgments, or a ledger, to fit one")
    return find_profile(first) if is_name else read_profile(first)


def _fitted(sources: tuple[str, ...], options: dict[str, Any], bad: BadLines) -> Profile:
    from calipers.study.profiles.fitting import fit_profile  # noqa: PLC0415 - --help stays quick
    from calipers.study.profiles.sources import choose_key, merged_criteria, read_sources  # noqa: PLC0415 - likewise

    if options["out"] is not None:
        beside = {f"the source {source}": source for source in sources}
        require_replaceable("--out", options["out"], PROFILE, force=options["force"], beside=beside)
    read = read_sources(sources, format=options["format"], run=options["run"], on_error=bad)
    whole = options["criterion"] == _MEAN
    records = merged_criteria(read.records) if whole else read.records
    key = choose_key(
        records,
        judge=options["answers_of"],
        mode=options["mode"],
        prompt_variant=options["prompt_variant"],
        temperature=options["temperature"],
        criterion=None if whole else options["criterion"],
    )
    return fit_profile(records, read.frame(), key, name=options["name"], sources=read.files, note=options["note"] or "")
