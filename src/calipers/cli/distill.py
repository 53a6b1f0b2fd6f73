"""``calipers distill``: trains a small local judge on the scores of recorded judges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import BadLines, print_message
from calipers.types.encoding import printable

if TYPE_CHECKING:
    from calipers.distilling import Distilled

_FORMS = ("local", "embedded")
_LEARN_FROM = ("teacher", "gold", "both")


@click.command(short_help="Train a small local judge on recorded scores.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCES...")
@command_option("-o", "--out", required=True, named=True, metavar="DIR", help="The folder to write the judge to.")
@command_option(
    "--name", default="local", metavar="NAME", help="The judge's name, as results show it. [default: local]"
)
@command_option(
    "--form",
    type=click.Choice(_FORMS),
    default="local",
    help="What to make: a local judge, or the few weights of the embedded judge's form. [default: local]",
)
@command_option(
    "--version", type=int, default=1, metavar="N", help="The version of a judge of the embedded form. [default: 1]"
)
@command_option(
    "--teacher",
    multiple=True,
    metavar="JUDGE",
    help="Learn from the scores of this judge only. May be repeated. [default: all but local judges]",
)
@command_option(
    "--learn-from",
    type=click.Choice(_LEARN_FROM),
    default="both",
    help="What to learn: the teacher's scores, gold, or both. [default: both]",
)
@command_option("--train-attacks", is_flag=True, help="Also train against tricks that make an answer no better.")
@command_option("--update", is_flag=True, help="Add these groups to those that the judge in DIR has learned from.")
@command_option(
    "--model",
    metavar="NAME",
    help="Train a cross-encoder from this Hugging Face model (a folder, or a name to download) instead of features.",
)
@command_option("--run", type=int, metavar="ID", help="The number of the run to read of a ledger. [default: all]")
@command_option(
    "--format",
    metavar="NAME",
    help="The format of unparsed replies (raw_text), for lines that name none, e.g. mt_bench.",
)
@command_option(
    "--force", is_flag=True, named=True, help="Write to a folder that holds something else than a local judge."
)
@click.option("--json", "as_json", is_flag=True, help="Print the card's figures as one JSON object.")
def distill(sources: tuple[str, ...], *, as_json: bool, **options: Any) -> int:
    """Train a small local judge on the scores of the judges in SOURCES, and measure it on prompts that were held out.

    SOURCES are ledgers, which hold groups and scores, or a groups file and a judgments file (as for calipers
    calibrate); with --learn-from gold, groups files are enough. The judge needs no server and no key: --judge
    local:DIR. Its card, DIR/card.md, says how far it agrees with its teacher and with gold, where it is weak, and how
    easily it is gamed. Read it before you use the judge.

    \b
    calipers distill scored.jsonl.ledger.db -o judge
    calipers distill groups.jsonl judgments.jsonl -o judge --train-attacks
    calipers score groups.jsonl -o out.jsonl --judge local:judge

    Exit code: 0 the judge was written, 1 it was written but a line could not be read, 2 bad usage, or nothing to learn.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.distilling import distill as make  # noqa: PLC0415 - --help stays quick

    bad = BadLines()
    made = make(
        *sources,
        out=options["out"],
        name=options["name"],
        form=options["form"],
        version=options["version"],
        teachers=options["teacher"],
        learn_from=options["learn_from"],
        train_attacks=options["train_attacks"],
        update=options["update"],
        model=options["model"],
        run=options["run"],
        format=options["format"],
        force=options["force"],
        on_error=bad,
    )
    if as_json:
        click.echo(json.dumps(made.figures, ensure_ascii=False))
    else:
        _print_summary(made)
    print_message(f"Wrote {made.folder} ({made.title}). Read {made.folder}/card.md; the judge is --judge {made.judge}")
    return 1 if bad.count else 0


def _print_summary(made: Distilled) -> None:
    found = made.figures["agreement"]
    click.echo(
        f"{made.title}: {made.figures['groups']:,} groups of {made.figures['prompts']:,} prompts, "
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
