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
    distilled = make(*ledgers, out=out, teachers=teacher, **options)
    figures = distilled.figures
    if as_json:
        print_json(figures)
    else:
        click.echo(
            f"{figures['name']}: {figures['groups']:,} groups of {figures['prompts']:,} prompts, "
            f"taught by {printable(', '.join(figures['teachers']))}"
        )
        for key, name in _FIGURES.items():
            figure = figures["agreement"].get(key)
            if figure is not None and figure["value"] is not None:
                low, high = figure["interval"] or (nan, nan)
                click.echo(f"  {name:28}{figure['value']:+.3f}  [{low:+.3f}, {high:+.3f}]")
        for figure in figures["findings"]:
            click.echo(f"- {printable(figure)}")
    print_message(f"Wrote {distilled.folder}. Read {distilled.folder}/card.md; the judge is --judge {distilled.judge}")
    return 0
