"""``calipers distill``: trains a small local judge on the scores of recorded judges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import print_message
from calipers.types.encoding import printable

if TYPE_CHECKING:
    from calipers.distilling import Distilled


@click.command(short_help="Train a small local judge on recorded scores.")
@click.argument("ledgers", nargs=-1, required=True, metavar="LEDGERS...")
@command_option("-o", "--out", required=True, named=True, metavar="DIR", help="The folder to write the judge to.")
@command_option(
    "--name", default="local", metavar="NAME", help="The judge's name, as results show it. [default: local]"
)
@command_option(
    "--teacher",
    multiple=True,
    metavar="JUDGE",
    help="Learn from the scores of this judge only. May be repeated. [default: all but local judges]",
)
@command_option("--run", type=int, metavar="ID", help="The number of the run to read of a ledger. [default: all]")
@command_option(
    "--force", is_flag=True, named=True, help="Write to a folder that holds something else than a local judge."
)
@click.option("--json", "as_json", is_flag=True, help="Print the card's figures as one JSON object.")
def distill(ledgers: tuple[str, ...], *, as_json: bool, **options: Any) -> int:
    """Train a small local judge on the scores of the judges in LEDGERS, and measure it on prompts that were held out.

    The judge needs no server and no key: --judge local:DIR. Its card, DIR/card.md, says how far it agrees with its
    teacher and with gold, where it is weak, and how easily it is gamed. Read it before you use the judge.

    \b
    calipers distill scored.jsonl.ledger.db -o judge
    calipers score groups.jsonl -o out.jsonl --judge local:judge

    Exit code: 0 the judge was written, 2 bad usage, or nothing to learn.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.distilling import distill as make  # noqa: PLC0415 - --help stays quick

    made = make(
        *ledgers,
        out=options["out"],
        name=options["name"],
        teachers=options["teacher"],
        run=options["run"],
        force=options["force"],
    )
    if as_json:
        click.echo(json.dumps(made.figures, ensure_ascii=False))
    else:
        _print_summary(made)
    print_message(f"Wrote {made.folder}. Read {made.folder}/card.md; the judge is --judge {made.judge}")
    return 0


def _print_summary(made: Distilled) -> None:
    found = made.figures["agreement"]
    click.echo(
        f"{made.figures['name']}: {made.figures['groups']:,} groups of {made.figures['prompts']:,} prompts, "
        f"taught by {printable(', '.join(made.figures['teachers']))}"
    )
    names = {"teacher": "agrees with the teacher", "gold": "agrees with gold", "longest": "the longest answer does",
             "overlap": "overlap with the task does"}  # fmt: skip
    for key, name in names.items():
        if key in found and found[key]["value"] is not None:
            low, high = found[key]["interval"] or (float("nan"), float("nan"))
            click.echo(f"  {name:28}{found[key]['value']:+.3f}  [{low:+.3f}, {high:+.3f}]")
    for one in made.figures["findings"]:
        click.echo(f"- {printable(one)}")
