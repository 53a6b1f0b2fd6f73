"""Prints a judge's profile as a table: each figure with its interval, and why the others could not be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from calipers.study.profiles.figures import Figure
    from calipers.study.profiles.profile import Profile

_WIDTH = 120
_FEW = 10


def print_profile(profile: Profile) -> None:
    """Print a judge's profile as the command's table. Scores are from 0 to 1."""
    from rich.table import Table  # noqa: PLC0415 - --help stays quick
    from rich.text import Text  # noqa: PLC0415 - likewise

    from calipers.cli.terminal import table_console  # noqa: PLC0415 - likewise

    console = table_console(width=_WIDTH)
    console.print(_title(profile), style="bold", markup=False)
    table = Table("", box=None, pad_edge=False)
    for head in ("value", "95 % interval", "from"):
        table.add_column(head, justify="right", no_wrap=True)
    untold: dict[str, dict[str, None]] = {}
    for name, figure in _figures(profile):
        if figure.value is None:
            # Two of the three figures of a preference share what they need; the third has a need of its own.
            shown = name if name.endswith("without gold spread") else name.partition(":")[0]
            untold.setdefault(figure.reason, {})[shown] = None
            continue
        interval = "" if figure.low is None or figure.high is None else f"{figure.low:.3f} to {figure.high:.3f}"
        table.add_row(Text(name), f"{figure.value:.3f}", interval, f"{figure.n:,} in {figure.groups:,} groups")
    console.print(table)
    if untold:
        console.print("\nCould not be told:", markup=False)
    for reason, names in untold.items():
        console.print(f"  {', '.join(names)}: {reason}", markup=False)
    for one in profile.latent.assumed if profile.latent else ():
        console.print(f"As a judge: {one}", markup=False)
    for one in _notes(profile):
        console.print(one, markup=False)
    if profile.provenance.note:
        click.echo(f"Note: {profile.provenance.note}")


def _notes(profile: Profile) -> Iterator[str]:
    """Yield what limits a profile's figures: few groups, scores outside their scale, or several scales."""
    few = [one.groups for _, one in _figures(profile) if one.low is not None and one.groups < _FEW]
    if few:
        yield f"Intervals from fewer than {_FEW} groups are too narrow; here, some are from {min(few)}."
    if (off := profile.provenance.off_scale) > 0:
        yield f"Outside their scale: {_counted(off, 'score')}, taken as its ends. Check 'scale'."
    if (scales := profile.provenance.scales) > 1:
        yield f"Scores are on {scales} scales, each mapped to 0-1."


def _title(profile: Profile) -> str:
    own, origin = profile.subject, profile.provenance
    parts = [own.judge, own.mode, own.prompt_variant, own.criterion]
    parts += [None if own.temperature is None else f"temperature {own.temperature:g}"]
    described = ", ".join(filter(None, parts))
    sources = ", ".join(one.name for one in origin.sources)
    fitted = f"{_counted(origin.answers, 'answer')} about {_counted(origin.groups, 'group')}"
    fitted += f" ({sources})" if sources else ""
    return f"{profile.name}: {described}\n{fitted}, fitted {origin.fitted} by calipers {origin.calipers}\n"


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}" + ("" if number == 1 else "s")


def _figures(profile: Profile) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of a profile with their names in words."""
    scale, repeats, place, agreement = profile.scale, profile.repeatability, profile.position, profile.agreement
    yield "effective levels of the scale", scale.used
    yield "ties between two answers", scale.ties
    yield "lists with all scores tied", scale.tied_groups
    yield "noise between repeats", repeats.noise
    yield "noise between orders", repeats.order_noise
    yield "spread within a group", repeats.spread
    yield "reliability of one call", repeats.reliability
    for one in repeats.by_temperature:
        yield f"noise at temperature {one.temperature:g}", one.noise
    yield "noise added by a unit of temperature", repeats.per_temperature
    yield "position: last less first", place.slope
    yield "position: extra for the first", place.first
    yield "position: extra for the last", place.last
    for name, preference in profile.preferences.items():
        words = name.replace("_", " ")
        yield f"preference for {words}: a unit adds", preference.per_unit
        yield f"preference for {words}: covariance at equal gold", preference.covariance
        yield f"preference for {words}: covariance without gold spread", preference.without_spread
    yield "score added by prompt injection", profile.injection
    yield "failure rate", profile.failures.rate
    yield "failures' correlation with length", profile.failures.with_length
    yield "failures' correlation with gold", profile.failures.with_gold
    yield "failures' correlation with list size", profile.failures.with_size
    yield "true positives", agreement.true_positives
    yield "false positives", agreement.false_positives
    yield "J", agreement.j
    yield "Somers' D within groups", agreement.somers_d
    yield "Pearson within groups", agreement.pearson
    yield "score added by quality from 0 to 1", agreement.per_quality
    yield "Pearson expected at a quarter of the spread", agreement.pearson_at_quarter_spread
