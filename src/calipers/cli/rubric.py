"""``calipers rubric``: drafts a rubric from groups, checks one, and scores a data set by its rubrics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import InputFile, command_option
from calipers.cli.judge_options import given_options, judge_option
from calipers.cli.messages import print_message
from calipers.cli.output import add_force_option, require_replaceable
from calipers.errors import ConfigError, InputError
from calipers.types import Rubric, Trajectory, TrajectoryGroup
from calipers.types.encoding import counted, printable

if TYPE_CHECKING:
    from calipers.rubric.formulas import Met
    from calipers.rubric.tag_scores import GradedExample


@click.group(short_help="Draft a rubric, check one, or score a data set by its rubrics.")
def rubric() -> None:
    """Draft a rubric for a task from a few groups, check a rubric before a run, or score a data set by its rubrics."""


@rubric.command(short_help="Check a rubric and print its criteria.")
@click.argument("file", type=click.Path())
def check(file: str) -> int:
    """Read the criteria in FILE (.toml, .json, .yaml) and print them, with the range of possible scores.

    Exit code: 0 the rubric can be used, 2 it cannot; the message names the criterion and the field.
    """
    from calipers.inputs import read_rubric  # noqa: PLC0415 - --help stays quick
    from calipers.rubric.formulas import lowest_score  # noqa: PLC0415 - likewise
    from calipers.verifiers.rubric_rules import require_rules  # noqa: PLC0415 - likewise

    found = read_rubric(file)
    try:
        require_rules(found)
    except ConfigError as error:
        raise InputError(str(error), source=file) from None
    click.echo(printable(found.title), nl=bool(found.title))
    width = max(len(printable(one.id)) for one in found.criteria)
    for one in found.criteria:
        marks = [*(["veto"] if one.veto else []), *(["rule"] if one.rule else []), *one.levels, *one.tags]
        text = f"{one.text} ({', '.join(marks)})" if marks else one.text
        click.echo(f"{printable(one.id):{width}}  {one.points:>+6g}  {printable(' '.join(text.split()))}")
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
    try:
        with click.open_file(out, "w", encoding="utf-8") as file:
            file.write(found.toml(f"Drafted by {options['judge']} from {len(few)} groups: {summary}."))
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written ({error.strerror})") from error
    print_message(f"{summary}; calipers rubric check {out} shows them.")
    return 1 if problems or found.problems else 0


@rubric.command(short_help="Compute a data set's score, by axis and theme.")
@click.argument("groups", type=InputFile())
@click.argument("result", type=InputFile())
@command_option(
    "default",
    "--rubric",
    type=InputFile(),
    metavar="FILE",
    help="The criteria (.toml, .json, .yaml) of groups without a rubric of their own, as given to calipers score.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the scores as one JSON object.")
def score(groups: str, result: str, default: str | None, *, as_json: bool) -> int:
    """Compute HealthBench's scores of the verdicts in RESULT, which calipers score wrote for GROUPS.

    The score of all responses comes first, then one for each tag of criteria (axis:accuracy) and of examples
    (theme:hedging, from the field example_tags). Every score is a mean over responses, clipped to [0, 1], with its
    standard deviation over 1,000 resampled data sets.

    \b
    calipers score healthbench.jsonl -o out.jsonl --judge openai/gpt-4.1 \\
      --protocol checklist --grading mode=per_criterion --grading show_points=true
    calipers rubric score healthbench.jsonl out.jsonl

    Exit code: 0 every response has a score, 1 some have none, 2 nothing could be read.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.inputs import read_groups, read_rubric  # noqa: PLC0415 - --help stays quick
    from calipers.rubric.tag_scores import OVERALL, tag_scores  # noqa: PLC0415 - likewise

    read = {group.group_id: group for group in read_groups(groups)}
    examples = list(_examples(read, result, None if default is None else read_rubric(default)))
    if not examples:
        raise InputError(
            "no group in it has a rubric with criteria; give the one of calipers score with --rubric FILE",
            source=groups,
        )
    scores = tag_scores(examples)
    if not any(one.verdicts for one in examples):
        raise InputError(
            "holds no verdicts on criteria; write it with calipers score --protocol checklist", source=result
        )
    if as_json:
        kept = ("mean", "stderr", "graded", "ungraded")
        click.echo(json.dumps({name: {key: getattr(one, key) for key in kept} for name, one in scores.items()}))
    else:
        shown = {" ".join(printable(name).split()): one for name, one in scores.items()}
        width = max(map(len, shown))
        click.echo(f"{'':{width}}  score  stderr  graded  ungraded")
        for name, one in shown.items():
            mean, stderr = ("-" if value is None else f"{value:.3f}" for value in (one.mean, one.stderr))
            click.echo(f"{name:{width}}  {mean:>5}  {stderr:>6}  {one.graded:>6}  {one.ungraded:>8}")
    ungraded = scores[OVERALL].ungraded
    if ungraded:
        print_message(f"{counted(ungraded, 'response')} with a criterion that has no verdict: not in the overall score")
    return int(bool(ungraded))


def _examples(groups: Mapping[str, TrajectoryGroup], result: str, default: Rubric | None) -> Iterator[GradedExample]:
    """Yield each graded response of a result file; groups without a rubric have the ``default``.

    Raises InputError naming the line that does not fit the groups.
    """
    from calipers.inputs.records import read_json_lines  # noqa: PLC0415 - --help stays quick
    from calipers.rubric.tag_scores import GradedExample  # noqa: PLC0415 - likewise

    verdicts: dict[str, dict[str, Mapping[str, Any]]] = {}
    for line, row in read_json_lines(result):
        try:
            name, found = _verdicts(groups, row, default)
            if name in verdicts:
                raise InputError(f"group {name!r} is there a second time")  # noqa: TRY301 - placed below
        except InputError as error:
            raise InputError(str(error), source=result, line=line) from None
        verdicts[name] = found
    for name, group in groups.items():  # also those that RESULT does not have: they are not graded
        stated = group.extra.get("example_tags")
        tags = tuple(map(str, stated)) if isinstance(stated, list | tuple) else ()
        for one in group.trajectories:
            if (asked := _rubric_of(group, one) or default) is not None:
                given = verdicts.get(name, {}).get(one.id, {})
                yield GradedExample(asked, {key: _met(value) for key, value in given.items()}, tags)


def _verdicts(
    groups: Mapping[str, TrajectoryGroup], row: Mapping[str, Any] | str, default: Rubric | None
) -> tuple[str, dict[str, Mapping[str, Any]]]:
    """Return a result's group, and what it says of each criterion by response. Raises InputError for a foreign row."""
    if isinstance(row, str):
        raise InputError(row)
    group, rows = groups.get(str(row.get("group_id"))), row.get("trajectories")
    if group is None:
        raise InputError(f"group {row.get('group_id')!r} is not in GROUPS")
    if not isinstance(rows, list) or not all(isinstance(one, Mapping) for one in rows):
        raise InputError("has no list of trajectories, as a result of calipers score has")
    known = {one.id: _rubric_of(group, one) or default for one in group.trajectories}
    found: dict[str, Mapping[str, Any]] = {}
    for one in rows:
        name, given = str(one.get("id")), one.get("criteria")
        if name not in known or name in found:
            why = "is there twice" if name in found else "is not in GROUPS"
            raise InputError(f"group {group.group_id!r}: response {name!r} {why}")
        found[name] = given if isinstance(given, Mapping) else {}
        asked = known[name]
        ids = {criterion.id for criterion in asked.criteria} if asked is not None else set(found[name])
        if strange := next((key for key in found[name] if key not in ids), None):
            raise InputError(
                f"group {group.group_id!r}: its rubric has no criterion {strange!r}; it was scored with another one"
            )
    return group.group_id, found


def _rubric_of(group: TrajectoryGroup, member: Trajectory) -> Rubric | None:
    rubric = member.rubric or group.rubric
    return rubric if isinstance(rubric, Rubric) else None


def _met(said: Any) -> Met:
    """Return whether a criterion is met, or the share of several verdicts that say so; None without a verdict."""
    stated = said if isinstance(said, Mapping) else {}
    votes, share, met = stated.get("votes"), stated.get("share"), stated.get("met")
    if isinstance(votes, list) and votes and all(isinstance(vote, bool) for vote in votes):
        return sum(votes) / len(votes)
    if isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1:
        return float(share)
    return met if isinstance(met, bool) else None
