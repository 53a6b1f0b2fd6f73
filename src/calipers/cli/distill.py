"""``calipers distill``: trains a small local judge on the scores of recorded judges."""

from __future__ import annotations

from math import nan
from typing import Any

import click

from calipers.cli.messages import print_message
from calipers.cli.output import print_json
from calipers.distilling import distill as make
from calipers.types.encoding import printable

_FIGURES = {
    "teacher": "agrees with the teacher",
    "gold": "agrees with gold",
    "longest": "the longest answer does",
    "overlap": "overlap with the task does",
}


def distill(ledgers: tuple[str, ...], out: str, *, teacher: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Train a judge, print its figures, and return the exit code."""
    made = make(*ledgers, out=out, teachers=teacher, **options)
    figures = made.figures
    if as_json:
        print_json(figures)
    else:
        click.echo(
            f"{figures['name']}: {figures['groups']:,} groups of {figures['prompts']:,} prompts, "
            f"taught by {printable(', '.join(figures['teachers']))}"
        )
        for key, name in _FIGURES.items():
            one = figures["agreement"].get(key)
            if one is not None and one["value"] is not None:
                low, high = one["interval"] or (nan, nan)
                click.echo(f"  {name:28}{one['value']:+.3f}  [{low:+.3f}, {high:+.3f}]")
        for one in figures["findings"]:
            click.echo(f"- {printable(one)}")
    print_message(f"Wrote {made.folder}. Read {made.folder}/card.md; the judge is --judge {made.judge}")
    return 0
