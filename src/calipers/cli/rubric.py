"""``calipers rubric``: drafts a rubric from groups, and checks rubrics that people wrote."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import click

from calipers.cli import rubric_score
from calipers.cli.command_options import InputFile, command_option
from calipers.cli.judge_options import given_options, judge_option
from calipers.cli.messages import print_message
from calipers.cli.output import add_force_option, require_replaceable
from calipers.errors import ConfigError, InputError

_WIDTH = 140


@click.group(short_help="Draft a rubric, check one, or score a data set by its rubrics.")
def rubric() -> None:
    """Draft a rubric for a task from a few groups, check a rubric before a run, or score a data set by its rubrics."""


rubric.add_command(rubric_score.score)


@rubric.command(short_help="Check a rubric and print its criteria.")
@click.argument("file", type=click.Path())
def check(file: str) -> int:
    """Read the criteria in FILE (.toml, .json, .yaml) and print them, with the range of possible scores.

    Exit code: 0 the rubric can be used, 2 it cannot; the message names the criterion and the field.
    """
    from rich.table import Table  # noqa: PLC0415 - likewise
    from rich.text import Text  # noqa: PLC0415 - likewise

    from calipers.cli.terminal import table_console  # noqa: PLC0415 - --help stays quick
    from calipers.inputs import read_rubric  # noqa: PLC0415 - likewise
    from calipers.rubric.formulas import lowest_score  # noqa: PLC0415 - likewise
    from calipers.verifiers.rubric_rules import require_rules  # noqa: PLC0415 - likewise

    found = read_rubric(file)
    try:
        require_rules(found)
    except ConfigError as error:
        raise InputError(str(error), source=file) from None
    table = Table(title=Text(found.title) or None, title_justify="left", box=None)
    for name in ("id", "points", "", "criterion", "tags"):
        table.add_column(name, justify="right" if name == "points" else "left", overflow="fold")
    for one in found.criteria:
        marks = [*(["veto"] if one.veto else []), *(["rule"] if one.rule else []), *one.levels]
        table.add_row(Text(one.id), f"{one.points:+g}", Text(" ".join(marks)), Text(one.text), Text(" ".join(one.tags)))
    console = table_console(width=_WIDTH)
    console.print(table)
    click.echo(
        f"{len(found.criteria)} criteria; scores from {lowest_score(found, 'healthbench'):.3g} to 1 (healthbench)"
    )
    return 0


@rubric.command(short_help="Draft a rubric from groups.")
@click.argument("groups", type=InputFile())
@command_option("-o", "--out", required=True, named=True, metavar="OUT", help="The rubric file (TOML); - for stdout.")
@judge_option(
    "judge",
    required=True,
    multiple=False,
    help="The judge that proposes criteria and grades by them: provider/model, as for score.",
)
@judge_option(
    "base_url", multiple=False, help="The judge's OpenAI-compatible endpoint, if it is not the provider's own."
)
@command_option(
    "--first",
    default=6,
    show_default=True,
    type=click.IntRange(1),
    help="Draft from the first N groups.",
)
@command_option(
    "--criteria", default=12, show_default=True, type=click.IntRange(1), help="The most criteria to propose."
)
@judge_option("ledger", help="Where answers are recorded: a path or a URL. [default: OUT.ledger.db]")
@judge_option("max_tokens")
@judge_option("concurrency")
@judge_option("params")
@add_force_option
def draft(groups: str, out: str, **options: Any) -> int:
    """Let a judge propose criteria from GROUPS, grade the groups by them twice, and write the useful ones to OUT.

    A comment above each criterion shows how it did. A criterion is commented out if its verdict is the same for all
    trajectories, or differs between the two gradings. Edit the file before you use it.

    \b
    calipers rubric draft groups.jsonl -o rubric.toml --judge openai/gpt-5-mini
    calipers score groups.jsonl -o scored.jsonl --judge openai/gpt-5-mini \\
      --protocol checklist --rubric rubric.toml

    Exit code: 0 a rubric was written, 1 it was written with warnings, 2 no usable criterion was found.
    """  # noqa: D301 - click's mark for lines to keep as they are
    if options["judge"].partition(":")[0] == "embedded":
        raise ConfigError("--judge embedded: it counts surface features and proposes no criteria; name a real judge")
    if out != "-" and not Path(out).absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: its folder does not exist; create it first")
    beside = {"the groups file": groups, "the ledger": options["ledger"]}
    require_replaceable("--out", out, force=options["force"], beside=beside)
    return asyncio.run(_draft(groups, out, options))


async def _draft(groups: str, out: str, options: dict[str, Any]) -> int:
    from calipers.drafting import draft as drafted  # noqa: PLC0415 - --help stays quick
    from calipers.inputs import read_groups  # noqa: PLC0415 - likewise
    from calipers.ledger import open_ledger  # noqa: PLC0415 - likewise

    problems: list[str] = []
    few = list(islice(read_groups(groups, on_error=lambda error: problems.append(str(error))), options["first"]))
    if not few:
        raise InputError("no group in it can be read", source=groups)
    if own := sum(group.rubric is not None for group in few):
        print_message(f"Note: {own} of {len(few)} groups have a rubric of their own, which is not used")
    with ExitStack() as stack:
        where = options["ledger"] or (None if out == "-" else f"{out}.ledger.db")
        ledger = None if where is None else open_ledger(where)
        if ledger is not None:
            stack.callback(ledger.close)
        found = await drafted(
            few,
            options["judge"],
            criteria=options["criteria"],
            ledger=ledger,
            base_url=options["base_url"],
            options=given_options(options, "max_tokens", "concurrency", "params"),
        )
    for problem in (*problems, *found.problems):
        print_message(f"Warning: {problem}")
    summary = f"{found.proposed} proposals, {len(found.kept)} criteria kept, {len(found.dropped)} dropped"
    if not found.kept:
        why = "; ".join(f"{one.criterion.text!r}: {figures.fault()}" for one, figures in found.dropped)
        raise InputError(f"no criterion proved useful ({summary}): {why}")
    _write(out, found.toml(f"Drafted by {options['judge']} from {len(few)} groups: {summary}."))
    print_message(f"{summary}; calipers rubric check {out} shows them.")
    return 1 if problems or found.problems else 0


def _write(out: str, text: str) -> None:
    if out == "-":
        click.echo(text, nl=False)
        return
    try:
        Path(out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written ({error.strerror})") from error
